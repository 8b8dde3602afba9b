"""A metric: scores for a batch of texts, one per sample and one for the corpus.

Every metric can be a reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Row, Task


@dataclass(frozen=True)
class Context:
    """What a registered metric or reward may be built from: `make(context, **options)`."""

    task: Task | None = None
    model: Any = None  # the policy, a `pretrained.LanguageModel`, for metrics of the policy itself
    cache: Path = Path.home() / ".cache" / "loquent"


Scores = dict[str, list[float | None]]


@dataclass(frozen=True)
class Measured:
    """`samples`: per key one score per sample (None where not applicable).

    `corpus`: per key one number (absent where not applicable).
    """

    samples: Scores = field(default_factory=dict)
    corpus: dict[str, float] = field(default_factory=dict)


@runtime_checkable
class Metric(Protocol):
    """Batched, chunk-size invariant per sample (but see `together`), permutation equivariant.

    Mutates nothing.

    `Traits` says what a metric may say of itself besides, each as an attribute or a property.
    """

    name: str
    version: int
    higher_is_better: bool | None  # None: neither (a length)

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score predictions; all sequences have one entry per sample, `references` a list of strings each."""
        ...


@dataclass(frozen=True)
class Traits:
    """What a metric may say of itself beyond the protocol. A metric that does not say it has these defaults.

    A score that depends on other samples is no function of a text. As a reward it is not kept, has no parts,
    and is refused where episodes are scored one at a time.
    """

    keys: tuple[str, ...] = ()  # all keys it may give
    # per key, where keys differ in `higher_is_better`
    directions: Mapping[str, bool | None] = field(default_factory=dict)
    together: bool = False  # whether a sample's score depends on the samples the metric is called with
    corpus_only: tuple[str, ...] = ()  # keys that have a score for the corpus and none per sample


def traits(metric: Any) -> Traits:
    """What a metric says of itself."""
    silent = Traits()
    return Traits(
        keys=tuple(getattr(metric, "keys", silent.keys)),
        directions=getattr(metric, "directions", silent.directions),
        together=bool(getattr(metric, "together", silent.together)),
        corpus_only=tuple(getattr(metric, "corpus_only", silent.corpus_only)),
    )


@runtime_checkable
class Tallied(Protocol):
    """A metric whose corpus scores are a function of sums over samples (BLEU's counts): corpora drawn again
    need no text read again.
    """

    def tally(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> NDArray[np.float64]:
        """What each sample adds: one row of numbers per sample."""
        ...

    def of_tally(self, total: NDArray[np.float64]) -> dict[str, float]:
        """The corpus scores, by key, of a sum of such rows."""
        ...
