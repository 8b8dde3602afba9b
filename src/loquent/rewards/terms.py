"""Reward terms: named scores per episode or per token, with the checks of these scores.

A term per episode is a metric, or a callable on a batch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loquent.core import registry
from loquent.core.episode import Episode, Turn
from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.metric import EVERYTHING, Context, Measured, Metric, Range, Samples, range_of, traits
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import BadReward, BadSetting, LoquentError, kind_of, place_of
from loquent.files.machine import division
from loquent.metrics.function import of_function
from loquent.rewards.counting import Counting

Scores = list[float | None]


class Scored(NamedTuple):
    """The scores of a term, and the numbers of the samples that could not be judged, which have none.

    columns: the scores under "", and those of the parts of a function under "/PART".
    """

    columns: dict[str, Scores]
    unjudged: frozenset[int]


@dataclass(frozen=True)
class Term:
    """A named score per episode: the scores of `metric` under `key`.

    An empty key means the metric's only key, or else the key with the metric's name.
    `score` and `scores` return raw scores; `counting` says how `rewards.apply` turns them into rewards.
    """

    name: str
    metric: Metric
    key: str = ""
    counting: Counting = Counting()

    @property
    def together(self) -> bool:
        """Whether the score of an episode depends on the episodes scored with it."""
        return traits(self.metric).together

    @property
    def fallible(self) -> bool:
        """Whether some samples may be unjudged."""
        return traits(self.metric).fallible

    @property
    def range(self) -> Range:
        """The least and the greatest reward of an episode, clipped; infinite where open or unknown."""
        if self.counting.potential or (self.counting.clip and traits(self.metric).reads == "turn"):
            return EVERYTHING  # a bound of each turn bounds no sum
        low, high = range_of(self.metric, self.key or key_of(self.metric))
        least, most = self.counting.clip or EVERYTHING
        return max(low, least), min(high, most)

    def score(self, samples: Samples) -> Scores:
        """One finite number per sample, or None where the term does not apply, as `scores`."""
        return self.scores(samples).columns[""]

    def scores(self, samples: Samples) -> Scored:
        """The scores of samples; the metric is called once.

        Inside `division.dividing` each process scores some samples, and all get all scores.

        Raises:
            BadReward: the metric raised or returned something else; the message names the term and the row.
        """
        if not division.divides() or self.together or self.fallible:
            return self._scores(samples)
        from loquent.files.machine import parallel

        own = range(parallel.rank(), len(samples), parallel.size())
        mine = self._scores(samples.take(list(own))).columns
        plain = {name: [None if one is None else float(one) for one in mine[name]] for name in mine}
        contents = parallel.gather(json.dumps(plain).encode())
        shares = [json_files.loads(content, nan="kept") for content in contents]
        columns: dict[str, Scores] = {
            name: [None] * len(samples) for name in dict.fromkeys(name for share in shares for name in share)
        }
        for rank, share in enumerate(shares):
            for name, column in share.items():
                columns[name][rank :: parallel.size()] = column
        return Scored(columns, frozenset())

    def _scores(self, samples: Samples) -> Scored:
        if not len(samples):
            return Scored({"": []}, frozenset())
        try:
            measured = self.metric(samples)
        except LoquentError:
            raise
        except Exception as error:
            raise BadReward(
                f"{place_of(error)}reward {self.name!r} raised {type(error).__name__}: {error}; "
                f"{self._culprit(samples)}"
            ) from error
        whole = numbers(self._chosen(measured), samples.rows, self.name)
        unjudged = self._unjudged(measured, len(samples))
        key = f"{self.metric.name}/"
        has_parts = not self.key and traits(self.metric).parts
        parts = [name for name in measured.samples if has_parts and name.startswith(key)]
        columns = {"": whole, **{f"/{name.removeprefix(key)}": measured.samples[name] for name in parts}}
        return Scored({suffix: _without(unjudged, column) for suffix, column in columns.items()}, unjudged)

    def _unjudged(self, measured: Measured, count: int) -> frozenset[int]:
        try:
            unjudged = frozenset(measured.unjudged)
        except TypeError:
            unjudged = frozenset({-1})
        if not unjudged <= frozenset(range(count)) or (unjudged and not self.fallible):
            raise BadReward(
                f"reward {self.name!r}: its metric returned unjudged = {show(measured.unjudged)} for "
                f"{count} samples; it must hold numbers of samples, and the metric must declare "
                "fallible = True"
            )
        return unjudged

    def _chosen(self, measured: Any) -> Any:
        if not isinstance(measured, Measured):
            problem = f"reward {self.name!r}: its metric returned {kind_of(measured)}"
            raise BadReward(f"{problem}; it must return a loquent.core.metric.Measured")
        keys = list(measured.samples)
        if not self.key and len(keys) == 1:
            return measured.samples[keys[0]]
        if not self.key and self.metric.name in measured.samples:
            return measured.samples[self.metric.name]
        if self.key not in measured.samples:
            names = ", ".join(keys) or "none: it scores a whole corpus"
            raise BadReward(
                f"reward {self.name!r}: no score per episode under key = {self.key!r}; known keys: {names}"
            )
        return measured.samples[self.key]

    def _culprit(self, samples: Samples) -> str:
        """The first episode on which the metric raises when it is called with that episode alone."""
        rows = samples.rows
        for i, row in enumerate(rows):
            try:
                self.metric(samples.take([i]))
            except Exception:
                answer = show(samples.predictions[i])
                return f"it raises on the episode on row {row.id!r}, whose answer is {answer}"
        return (
            f"it raises on a batch of {len(rows)} episodes, the first on row {rows[0].id!r}, and on none "
            "of them alone"
        )


@dataclass(frozen=True)
class TokenTerm:
    """A named score per token: `function(episode, turn)` returns one float per token of an answer.

    Answers without tokens have no such scores.
    """

    name: str
    function: Callable[[Episode, Turn], Sequence[float]]

    def score(self, episode: Episode, turn: Turn) -> tuple[float, ...]:
        """One finite number per token of a turn.

        Raises:
            BadReward: the function raised or returned something else; the message names the term and the row.
        """
        count = len(turn.tokens.ids) if turn.tokens is not None else 0
        place = f"reward {self.name!r}, on an answer of {count} tokens in the episode on row {episode.row!r}"
        try:
            returned = self.function(episode, turn)
        except LoquentError:
            raise
        except Exception as error:
            raise BadReward(f"{place_of(error)}{place}: it raised {type(error).__name__}: {error}") from error
        scores = _listed(returned)
        if scores is None or len(scores) != count:
            got = kind_of(returned) if scores is None else f"{len(scores)} scores"
            raise BadReward(f"{place}: it returned {got}; it must return {count} floats, one per token")
        return tuple(_number(score, place) for score in scores)


@dataclass(frozen=True)
class TokenFunction:
    """What a reward's factory returns for a score per token; `compose.build` turns it into a `TokenTerm`."""

    function: Callable[[Episode, Turn], Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class DottedOptions:
    """The options of the reward `callable`."""

    function: str = setting(why="the Python callable, as 'module:function'")
    per: str = setting(
        "episode",
        "episode: it scores a batch of episodes; token: it scores an answer per token",
        choices=("episode", "token"),
    )


@takes(DottedOptions, "callable")
def dotted_callable(context: Context, options: DottedOptions) -> Metric | TokenFunction:
    """Your own Python function as module:function, on a batch of episodes or per token.

    With per="episode", the function is one of `loquent.metrics.function`; with per="token", it is
    `f(episode, turn) -> a float per token`.

    Raises:
        BadSetting: there is no such function, or the object is not callable.
    """
    function = registry.import_name(options.function)
    if not callable(function):
        problem = f"callable.function = {options.function!r} is {show(function)}, which cannot be called"
        raise BadSetting(f"{problem}; name a function as 'module:function'")
    if options.per == "token":
        return TokenFunction(function)
    return of_function(function)


def key_of(metric: Metric) -> str:
    """The key that a term without a key scores by: the metric's only key, or its name."""
    keys = traits(metric).keys
    return keys[0] if len(keys) == 1 else metric.name


def numbers(returned: Any, rows: Sequence[Row], name: str) -> Scores:
    """Check and convert what a term returned to a list of floats and None, one per row.

    Raises:
        BadReward: it is not a list, has the wrong length, or holds a value that is not a finite number; names
            the term and the row.
    """
    scores = _listed(returned)
    allowed = f"it must return a list of {len(rows)} numbers or None, one per episode"
    if scores is None:
        problem = (
            f"reward {name!r} returned {kind_of(returned)} for the episodes starting at row {rows[0].id!r}"
        )
        raise BadReward(f"{problem}; {allowed}")
    if len(scores) != len(rows):
        problem = (
            f"reward {name!r} returned {len(scores)} scores for the {len(rows)} episodes starting at row "
            f"{rows[0].id!r}"
        )
        raise BadReward(f"{problem}; {allowed}")
    return [
        None if score is None else _number(score, f"reward {name!r}, in the episode on row {row.id!r}")
        for score, row in zip(scores, rows, strict=True)
    ]


def _listed(values: Any) -> list[Any] | None:
    """A list from a sequence or a one-dimensional array or tensor; None from any other object."""
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return list(values)
    if getattr(values, "ndim", None) == 1 and hasattr(values, "tolist"):
        return list(values.tolist())
    return None


def _number(score: Any, place: str) -> float:
    # float() raises for a tensor of several elements and for a huge integer
    try:
        number = float(score) if hasattr(type(score), "__float__") else math.nan
    except (TypeError, ValueError, RuntimeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadReward(
            f"{place}: the score is {show(score)}; it must be a finite number (None where the term "
            "does not apply)"
        )
    return number


def _without(unjudged: frozenset[int], column: Scores) -> Scores:
    """The scores, without those of unjudged samples."""
    return [None if i in unjudged else score for i, score in enumerate(column)] if unjudged else column
