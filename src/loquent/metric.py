"""A metric: scores for a batch of texts, one per sample and one for the corpus. Every metric can be a reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from loquent.task import Row, Task


@dataclass(frozen=True)
class Context:
    """What a registered metric or reward may be built from: `make(context, **options)`."""

    task: Task | None = None
    model: Any = None  # the policy, a `pretrained.LanguageModel`, for metrics of the policy itself
    cache: Path = Path.home() / ".cache" / "loquent"


Scores = dict[str, list[float | None]]


@dataclass(frozen=True)
class Measured:
    """`samples`: per key one score per sample (None where not applicable). `corpus`: per key one number (absent where not applicable)."""

    samples: Scores = field(default_factory=dict)
    corpus: dict[str, float] = field(default_factory=dict)


@runtime_checkable
class Metric(Protocol):
    """Batched, chunk-size invariant per sample (but see `together`), permutation equivariant; mutates nothing.

    What a metric may say of itself besides, each as an attribute or a property:
        keys: all keys it may give. directions: per key, where keys differ in `higher_is_better`.
        together: True where a sample's score depends on the samples it is called with; see `scores_together`.
        corpus_only: those of its keys that have a score for the corpus and none per sample.
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


def scores_together(metric: Any) -> bool:
    """Whether a sample's score depends on the samples the metric is called with (`metric.together`, False where it is silent).

    Such a score is no function of a text: as a reward it is not kept, has no parts, and is refused where episodes are scored one at a time.
    """
    return bool(getattr(metric, "together", False))


@runtime_checkable
class Tallied(Protocol):
    """A metric whose corpus scores are a function of sums over samples (BLEU's counts): corpora drawn again need no text read again."""

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
