"""Terms of a reward: one named score per episode (any metric, any callable on a batch) or per token. Bad scores are refused here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent import registry
from loquent.episode import Episode, Turn
from loquent.errors import BadReward, BadSetting, LoquentError, kind_of
from loquent.metric import Context, Measured, Metric, scores_together
from loquent.metrics.lexicon import lexicon
from loquent.metrics.options import takes
from loquent.metrics.sentiment import sentiment
from loquent.rewards.counting import Counting
from loquent.settings import setting
from loquent.task import Row

__all__ = ["Function", "Term", "TokenFunction", "TokenTerm", "dotted", "lexicon", "sentiment"]

Scores = list[float | None]


@dataclass(frozen=True)
class Term:
    """A named score per episode: what `metric` gives under `key`; an empty key is the only one it gives, or the one called as the metric is.

    `score` gives it raw; `counting` says what `rewards.apply` makes of it.
    """

    name: str
    metric: Metric
    key: str = ""
    counting: Counting = Counting()

    @property
    def together(self) -> bool:
        """Whether the score of an episode depends on the episodes scored with it."""
        return scores_together(self.metric)

    def score(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Scores:
        """One finite number per sample, None where the term does not apply; one call of the metric for all.

        Raises:
            BadReward: the metric raised, or gave anything else; names the term and the row.
        """
        if not predictions:
            return []
        given = (predictions, references, prompts, rows)
        try:
            measured = self.metric(*given)
        except LoquentError:
            raise
        except Exception as error:
            raise BadReward(f"reward {self.name!r} raised {type(error).__name__}: {error}; {self._culprit(*given)}") from error
        return numbers(self._chosen(measured), rows, self.name)

    def _chosen(self, measured: Any) -> Any:
        if not isinstance(measured, Measured):
            raise BadReward(f"reward {self.name!r}: its metric gave {kind_of(measured)}; a loquent.metric.Measured is right")
        keys = list(measured.samples)
        if not self.key and len(keys) == 1:
            return measured.samples[keys[0]]
        if not self.key and self.metric.name in measured.samples:
            return measured.samples[self.metric.name]
        if self.key not in measured.samples:
            known = ", ".join(keys) or "none: it scores a corpus as a whole"
            raise BadReward(f"reward {self.name!r}: there is no score per episode under key = {self.key!r}; known: {known}")
        return measured.samples[self.key]

    def _culprit(self, *given: Sequence[Any]) -> str:
        """The first episode on which the metric raises when it sees it alone."""
        for i, row in enumerate(given[3]):
            try:
                self.metric(*(part[i : i + 1] for part in given))  # type: ignore[call-arg]
            except Exception:
                return f"it does so on the episode on row {row.id!r}, whose answer is {_short(given[0][i])}"
        return f"it does so on a batch of {len(given[3])} episodes, the first on row {given[3][0].id!r}, and on none of them alone"


@dataclass(frozen=True)
class TokenTerm:
    """A named score per token: `function(episode, turn)` gives one float for each token of an answer that has tokens."""

    name: str
    function: Callable[[Episode, Turn], Sequence[float]]

    def score(self, episode: Episode, turn: Turn) -> tuple[float, ...]:
        """One finite number per token of a turn.

        Raises:
            BadReward: the function raised, or gave anything else; names the term and the episode's row.
        """
        wanted = len(turn.tokens.ids) if turn.tokens is not None else 0
        place = f"reward {self.name!r}, on an answer of {wanted} tokens in the episode on row {episode.row!r}"
        try:
            given = self.function(episode, turn)
        except LoquentError:
            raise
        except Exception as error:
            raise BadReward(f"{place}: it raised {type(error).__name__}: {error}") from error
        scores = _listed(given)
        if scores is None or len(scores) != wanted:
            said = kind_of(given) if scores is None else f"{len(scores)} scores"
            raise BadReward(f"{place}: it gave {said}; {wanted} floats, one per token, are right")
        return tuple(_number(score, place) for score in scores)


@dataclass(frozen=True)
class Function:
    """A metric made of `f(predictions, references, prompts, rows) -> one float (None: not applicable) per sample`."""

    function: Callable[..., Any]
    name: str = "function"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Call the function with lists of its own, which it may change as it likes."""
        given = self.function(list(predictions), [list(own) for own in references], list(prompts), list(rows))
        return Measured({self.name: given})


@dataclass(frozen=True)
class TokenFunction:
    """What a reward's factory gives for a score per token; `compose.build` makes it a `TokenTerm`."""

    function: Callable[[Episode, Turn], Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class DottedOptions:
    """What the reward `callable` may be told."""

    function: str = setting(why="the Python callable, as 'module:function'")
    per: str = setting("episode", "what it scores: a batch of episodes, or one answer per token", choices=("episode", "token"))


@takes(DottedOptions, "callable")
def dotted(context: Context, options: DottedOptions) -> Function | TokenFunction:
    """The registered reward `callable`: any Python function by its dotted path.

    With per="episode" it is `f(predictions, references, prompts, rows) -> floats or None, one per sample`;
    with per="token" it is `f(episode, turn) -> floats, one per token`.

    Raises:
        BadSetting: nothing is named so, or it cannot be called.
    """
    function = registry.imported(options.function)
    if not callable(function):
        raise BadSetting(f"callable.function = {options.function!r} is {_short(function)}, which cannot be called")
    return TokenFunction(function) if options.per == "token" else Function(function, options.function)


def numbers(given: Any, rows: Sequence[Row], name: str) -> Scores:
    """What a term gave, as floats and None.

    Raises:
        BadReward: no list, one of the wrong length, or with something that is no finite number; names the term and the row.
    """
    scores = _listed(given)
    right = f"a list of {len(rows)} numbers or None, one per episode, is right"
    if scores is None:
        raise BadReward(f"reward {name!r} gave {kind_of(given)} for the episodes from row {rows[0].id!r} on; {right}")
    if len(scores) != len(rows):
        raise BadReward(f"reward {name!r} gave {len(scores)} scores for the {len(rows)} episodes from row {rows[0].id!r} on; {right}")
    return [
        None if score is None else _number(score, f"reward {name!r}, in the episode on row {row.id!r}")
        for score, row in zip(scores, rows, strict=True)
    ]


def _listed(given: Any) -> list[Any] | None:
    """A list from a sequence or a one-dimensional array or tensor; None from anything else."""
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return list(given)
    if getattr(given, "ndim", None) == 1 and hasattr(given, "tolist"):
        return list(given.tolist())
    return None


def _number(score: Any, place: str) -> float:
    try:
        number = float(score) if hasattr(type(score), "__float__") else math.nan
    except (TypeError, ValueError, RuntimeError, OverflowError):  # an array or a tensor of several elements, a huge integer
        number = math.nan
    if not math.isfinite(number):
        raise BadReward(f"{place}: the score is {_short(score)}; a finite number is right (None where the term does not apply)")
    return number


def _short(thing: Any, most: int = 80) -> str:
    text = repr(thing)
    return text if len(text) <= most else text[: most - 3] + "..."
