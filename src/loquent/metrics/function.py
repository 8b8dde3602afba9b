"""Metrics made of plain functions: of an answer, of a turn, of an episode, or of all samples at once.

A function says by the names of its parameters what it reads, and is called for each sample:

    answer        the text of the last answer         prompt    the turns before it, one per line
    references    the references of the row           row       the row
    turn          one answer, as a `Turn`             episode   the whole episode

A function with `turn` is called for each answer of the learning seat; the score of an episode is the sum over
its answers. A function returns a number, None where it does not apply, or its parts by name, {"part": 1.0}:
their sum is the score, and each part has the key NAME/PART. A function of `samples` is called once, with all
samples, and returns a list.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from loquent.core.guards.json_files import show
from loquent.core.metric import EVERYTHING, Measured, Range, Samples, Scores
from loquent.errors import BadSetting, BrokenMetric, LoquentError, place_of
from loquent.metrics.shared_parts import with_means

COLUMNS = {
    "answer": "predictions",
    "prompt": "prompts",
    "references": "references",
    "row": "rows",
    "turn": "turns",
    "episode": "episodes",
}
OF_TRL = ("completions", "prompts", "completion_ids", "completions_ids")
READS = ("answer", "turn", "episode")
BETTER = {True: "more is better", False: "less is better", None: "without a direction"}
ALLOWED = f"a function of one sample takes any of {', '.join(COLUMNS)}; a function of all takes samples"


@dataclass
class FunctionMetric:
    """A metric from a function, as the module says; its corpus score is the mean of the samples' scores."""

    function: Callable[..., Any]
    name: str = "function"
    higher_is_better: bool | None = True
    ranges: Mapping[str, Range] = field(default_factory=dict)
    together: bool = False
    reads: str = "answer"
    version: int = 1
    parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.inputs = inputs(self.function, self.name)
        if self.inputs:
            self.reads = next((name for name in READS[1:] if name in self.inputs), READS[0])

    @property
    def description(self) -> str:
        """What it reads, its direction, its range and the first line of its docstring, on one line."""
        reads = ", ".join(self.inputs) or "all samples"
        low, high = self.ranges.get(self.name, EVERYTHING)
        ends = "" if (low, high) == EVERYTHING else f"; from {low:g} to {high:g}"
        about = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return f"a score that reads {reads}; {BETTER[self.higher_is_better]}{ends}" + (about and f": {about}")

    @property
    def keys(self) -> tuple[str, ...]:
        """The only key; () for a function of one sample, which may return parts of any name."""
        return () if self.inputs else (self.name,)

    def __call__(self, samples: Samples) -> Measured:
        """The scores of the function and of its parts, and their means.

        Raises:
            BrokenMetric: a function of one sample raised an error, or returned something else.
        """
        if self.inputs:
            return with_means(self._by_sample(samples))
        scores = self.function(samples)
        if isinstance(scores, list) and all(score is None or isinstance(score, float) for score in scores):
            return with_means({self.name: scores})
        return Measured({self.name: scores})  # the caller's check names what is wrong

    def _by_sample(self, samples: Samples) -> Scores:
        columns = {name: getattr(samples, COLUMNS[name]) for name in self.inputs}
        returned = [
            self._parts({name: column[i] for name, column in columns.items()}, samples, i)
            for i in range(len(samples))
        ]
        names = dict.fromkeys(part for parts in returned for part in parts if part)
        return {
            self.name: [_whole(parts) for parts in returned],
            **{f"{self.name}/{part}": [parts.get(part) for parts in returned] for part in names},
        }

    def _parts(self, values: dict[str, Any], samples: Samples, i: int) -> dict[str, float | None]:
        """The parts of one score by name; a score without parts is the part ""."""
        row = samples.rows[i].id if samples.rows else str(i)
        place = f"{self.name}, on row {row!r}, whose answer is {show(samples.predictions[i])}"
        try:
            returned = self.function(**values)
        except LoquentError:
            raise
        except Exception as error:
            what = f"it raised {type(error).__name__}: {error}"
            raise BrokenMetric(f"{place_of(error)}{place}: {what}") from error
        parts = returned if isinstance(returned, Mapping) else {"": returned}
        if not all(map(_is_score, (*parts.values(), _whole(parts)))) or not all(map(_is_name, parts)):
            raise BrokenMetric(
                f"{place}: it returned {show(returned)}; it must return a finite number, None where it does "
                "not apply, or a mapping of such values with a finite sum by the names of parts, other than "
                "'raw' and without /"
            )
        return {name: None if score is None else float(score) for name, score in parts.items()}


def metric(
    *,
    name: str = "",
    higher_is_better: bool | None = True,
    range: Range = EVERYTHING,
    together: bool = False,
    reads: str = "answer",
) -> Callable[[Callable[..., Any]], FunctionMetric]:
    """A decorator that makes a metric, which can be a reward, of a function.

    Args:
        name: the key of the scores; by default the name of the function.
        higher_is_better: None for a value that is neither, such as a length.
        range: the least and the greatest number that the function returns, or sum of its parts.
        together: whether the score of a sample depends on the other samples.
        reads: for a function of samples, "episode" if it reads `samples.episodes`.

    Raises:
        BadSetting: a setting has another value, or the function takes what no sample has.

    Example:
        >>> @metric(higher_is_better=None)
        ... def length(answer):
        ...     return len(answer.split())
        >>> length(Samples(["two words"])).corpus
        {'length': 2.0}
    """

    def decorate(function: Callable[..., Any]) -> FunctionMetric:
        key = name or function.__name__
        low, high = _ends(range, key)
        choices = {"reads": (reads, READS), "higher_is_better": (higher_is_better, tuple(BETTER))}
        for setting, (value, allowed) in choices.items():
            if value not in allowed:
                must = f"it must be one of {', '.join(map(str, allowed))}"
                raise BadSetting(f"the metric {key}: {setting} = {show(value)}; {must}")
        if "turn" in inputs(function, key):  # of a sum over any number of answers
            low, high = 0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf
        return FunctionMetric(function, key, higher_is_better, {key: (low, high)}, together, reads)

    return decorate


def of_function(function: Callable[..., Any]) -> FunctionMetric:
    """The metric of a function, decorated or not; without the decorator more is better."""
    if isinstance(function, FunctionMetric):
        return function
    return FunctionMetric(function, getattr(function, "__name__", type(function).__name__))


def inputs(function: Any, name: str) -> tuple[str, ...]:
    """What a function of one sample reads; () for a function of all samples.

    Raises:
        BadSetting: it cannot be called with these values by name, or with samples alone.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    parameters = signature.parameters.values()
    foreign = next((each.name for each in parameters if each.name in OF_TRL), "")
    if foreign:
        raise BadSetting(
            f"the function {name} takes {foreign!r}, as a reward of TRL does; here {ALLOWED}, whose "
            "samples.predictions are the answers"
        )
    names = tuple(parameter.name for parameter in parameters if parameter.name in COLUMNS)
    needed = [
        each.name for each in parameters if each.default is each.empty and each.kind < each.VAR_POSITIONAL
    ]
    others = [each for each in needed if each not in COLUMNS]
    if names and others:
        raise BadSetting(f"the function {name} takes {others[0]!r}, which no sample has; {ALLOWED}")
    try:
        signature.bind(**dict.fromkeys(names)) if names else signature.bind(None)
    except TypeError as error:
        given = f"{', '.join(names)} by name" if names else "samples alone"
        raise BadSetting(f"the function {name} cannot be called with {given}: {error}; {ALLOWED}") from error
    return names


def _ends(given: Any, key: str) -> Range:
    """The two ends of a range."""
    ends = tuple(given) if isinstance(given, Sequence) else ()
    if len(ends) != 2 or not all(isinstance(end, int | float) for end in ends) or not ends[0] <= ends[1]:
        raise BadSetting(
            f"the metric {key}: range = {given!r:.80}; it must be two numbers, the least score first; "
            "math.inf leaves an end open"
        )
    return ends


def _whole(parts: Mapping[str, Any]) -> float | None:
    """The sum of the parts of a score; None if no part applies, infinite if it has no finite sum."""
    present = [score for score in parts.values() if score is not None]
    try:
        return math.fsum(present) if present else None
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return math.inf


def _is_score(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes):
        return value is None
    try:
        return hasattr(type(value), "__float__") and math.isfinite(float(value))
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return False


def _is_name(part: Any) -> bool:
    return isinstance(part, str) and part != "raw" and "/" not in part
