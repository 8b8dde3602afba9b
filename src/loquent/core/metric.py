"""Metrics: they score a batch of texts, with one score per sample and one for the corpus.

Every metric can be used as a reward.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Episode, Turn
from loquent.core.task import Row, Task


def cache_folder() -> Path:
    """The folder for what can be made again: `loquent` in XDG_CACHE_HOME, or in ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))  # its specification says to ignore a relative path
    return (base if base.is_absolute() else Path.home() / ".cache") / "loquent"


# of texts, each in the place of the last answer of its episode: the ids of its row, and the place of its
# first id; None for a policy that reads plain text
Rows = Callable[[Sequence[tuple[Episode, str]]], list[tuple[list[int], int]] | None]


@dataclass(frozen=True)
class Context:
    """The context that a metric's or reward's factory receives: `make(context, **options)`."""

    task: Task | None = None
    model: Any = None  # the policy, a `pretrained.LanguageModel`; for metrics of the policy
    cache: Path = field(default_factory=cache_folder)
    answer_rows: Rows | None = None  # how the policy reads answers; None: as plain text after their prompts


Scores = dict[str, list[float | None]]
LeaveOut = Callable[[Sequence[int]], dict[str, float]]  # corpus scores without the samples of these numbers
Range = tuple[float, float]  # the least and the greatest score
EVERYTHING: Range = (-math.inf, math.inf)
SHARES: Range = (0.0, 1.0)
PENALTIES: Range = (-math.inf, 0.0)


@dataclass(frozen=True)
class Samples:
    """What a metric scores, with one entry per sample in each sequence; all sequences become tuples.

    predictions: the texts to score. `references`, `prompts` and `rows` belong to them; without references a
    sample has (), without prompts "". `episodes` are the whole episodes, or () where texts alone are scored.
    `turns` are the answers that are scored one by one, for metrics that read turns, else ().
    """

    predictions: Sequence[str]
    references: Sequence[Sequence[str]] = ()
    prompts: Sequence[str] = ()
    rows: Sequence[Row] = ()
    episodes: Sequence[Episode] = ()
    turns: Sequence[Turn] = ()

    def __post_init__(self) -> None:
        columns = {name: tuple(column) for name, column in vars(self).items()}
        columns["references"] = tuple(map(tuple, self.references)) or ((),) * len(self)
        columns["prompts"] = columns["prompts"] or ("",) * len(self)
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.predictions)

    def take(self, indices: Sequence[int]) -> Samples:
        """The samples at these indices, in this order; an index may occur several times."""
        return Samples(*([column[i] for i in indices] if column else () for column in vars(self).values()))


@dataclass(frozen=True)
class Measured:
    """The result of a metric.

    `samples` has one score per sample for each key, None where the metric does not apply. `corpus` has one
    number per key; a key that does not apply is absent. `unjudged` has the numbers of the samples that should
    have a score and could not be judged; their scores are None.

    `leave_out(numbers)` gives the corpus scores that are no means over samples, without the samples of these
    numbers. It is for scores that need no second look at the texts or pass of a network, such as those of
    sums. An evaluation calls it once for each row (`metrics.jackknife`), so its time should not grow with the
    number of samples. With a method or a `functools.partial` in place of a lambda, the result can be pickled.
    """

    samples: Scores = field(default_factory=dict)
    corpus: dict[str, float] = field(default_factory=dict)
    unjudged: frozenset[int] = frozenset()
    leave_out: LeaveOut | None = field(default=None, compare=False)


@runtime_checkable
class Metric(Protocol):
    """A batched scoring function without side effects.

    A sample's score does not depend on the batch, unless the metric declares `together`. A permutation of the
    samples permutes the scores. A metric may declare the attributes of `Traits` too.
    """

    name: str
    version: int
    higher_is_better: bool | None  # None: neither, as for a length

    def __call__(self, samples: Samples) -> Measured:
        """Score the samples."""
        ...


@dataclass(frozen=True)
class Traits:
    """Optional attributes of a metric, with the defaults of a metric that does not declare them.

    A score that depends on other samples (`together`) is not a function of the text. As a reward it is not
    cached, has no parts, and is refused where episodes are scored one at a time.
    """

    keys: tuple[str, ...] = ()  # all keys of its scores
    # `higher_is_better` per key, when keys differ in it
    directions: Mapping[str, bool | None] = field(default_factory=dict)
    range: Range = EVERYTHING  # the least and the greatest score; infinite where open or unknown
    # `range` per key, when keys differ in it; the range of KEY is also that of KEY-...
    ranges: Mapping[str, Range] = field(default_factory=dict)
    together: bool = False  # whether a sample's score depends on the other samples of the call
    needs: tuple[str, ...] = ()  # the fields of a row without which it has no score
    # what it scores: the last "answer", each "turn" of the learning seat, or the whole "episode"
    reads: str = "answer"
    parts: bool = False  # whether the keys NAME/PART are parts of the score NAME
    corpus_only: tuple[str, ...] = ()  # keys that have a corpus score but no scores per sample
    fallible: bool = False  # whether it may leave samples unjudged, as a judge that cannot be reached
    # by key, the reward that is the score with the opposite sign, up to a constant: its name and options
    penalties: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)


class Share:
    """What most metrics declare: version 1 of a share, of which more is better."""

    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = SHARES


class OneKey:
    """A metric whose only key is its name."""

    keys = property(lambda self: (self.name,))


def traits(metric: Any) -> Traits:
    """The traits of a metric: its declared attributes, and defaults for the others."""
    defaults = vars(Traits())
    return Traits(**{name: getattr(metric, name, default) for name, default in defaults.items()})


def range_of(metric: Any, key: str) -> Range:
    """The least and the greatest score of a metric under one of its keys; infinite where open or unknown."""
    own = traits(metric)
    names = [name for name in own.ranges if f"{key}-".startswith(f"{name}-")]
    return own.ranges[max(names, key=len)] if names else own.range


@runtime_checkable
class Tallied(Protocol):
    """A metric whose corpus scores are a function of sums over samples, such as BLEU's counts.

    Resampled corpora can be scored without reading the texts again.
    """

    def tally(self, samples: Samples) -> NDArray[np.float64]:
        """The summands of each sample, one row per sample: [samples, numbers]."""
        ...

    def of_tally(self, total: NDArray[np.float64]) -> dict[str, float]:
        """The corpus scores by key for a sum of such rows: `total` is [numbers]."""
        ...
