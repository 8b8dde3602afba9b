"""Metrics made of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.metric import EVERYTHING, Measured, Range, Samples
from loquent.metrics.pairs import with_means

Scoring = Callable[[Samples], Sequence[float | None]]


@dataclass
class FunctionMetric:
    """A metric from a function of samples: a float per sample, or None where it does not apply.

    Its corpus score is their mean.
    """

    function: Callable[[Samples], Any]
    name: str = "function"
    higher_is_better: bool | None = True
    range: Range = EVERYTHING
    together: bool = False
    reads: str = "answer"
    version: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The only key."""
        return (self.name,)

    def __call__(self, samples: Samples) -> Measured:
        """The scores of the function, and their mean."""
        scores = self.function(samples)
        if isinstance(scores, list) and all(score is None or isinstance(score, float) for score in scores):
            return with_means({self.name: scores})
        return Measured({self.name: scores})  # the caller's check names what is wrong


def metric(
    *,
    name: str = "",
    higher_is_better: bool | None = True,
    range: Range = EVERYTHING,
    together: bool = False,
    reads: str = "answer",
) -> Callable[[Scoring], FunctionMetric]:
    """A decorator that makes a metric, which can be a reward, of a function of samples.

    Args:
        name: the key of the scores; by default the name of the function.
        higher_is_better: None for a value that is neither, such as a length.
        range: the least and the greatest score.
        together: whether the score of a sample depends on the other samples.
        reads: "episode" if it reads `samples.episodes`, else "answer".

    Example:
        >>> @metric(higher_is_better=None)
        ... def length(samples):
        ...     return [float(len(text.split())) for text in samples.predictions]
        >>> length(Samples(["two words"])).corpus
        {'length': 2.0}
    """

    def decorate(function: Scoring) -> FunctionMetric:
        return FunctionMetric(function, name or function.__name__, higher_is_better, range, together, reads)

    return decorate
