"""A cache of metric scores, keyed by metric (name, version, options), references, prompt, row and text.

Only metrics that are functions of a single sample are cached. Two kinds are not: a metric that reads the
policy from its context, because the policy changes during training; and a user's function, because it may
depend on anything. Keys are compared in full, not by their hash, so two samples never share a score by a hash
collision.

A network's score of a text may differ in its last bits with the other texts in the batch. A run therefore
clears the cache when it writes a checkpoint. A resumed run starts with an empty cache and sees the same
batches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loquent.core.metric import Context, Measured, Metric, Samples, Traits, traits
from loquent.rewards.terms import Term

MOST = 20_000  # cached samples; each takes a few hundred bytes and its text


class Watched(Context):
    """A context that records whether its model was read. A metric that read it may depend on the policy."""

    def __getattribute__(self, name: str) -> Any:
        if name == "model":
            object.__setattr__(self, "model_read", True)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"Watched({self.task!r})"  # the generated __repr__ would read the model

    @classmethod
    def of(cls, context: Context) -> Watched:
        """A watched copy of a context."""
        watched = cls(context.task, context.model, context.cache, context.answer_rows)
        object.__setattr__(watched, "model_read", False)
        return watched

    @property
    def policy(self) -> bool:
        """Whether the model was read."""
        return bool(object.__getattribute__(self, "model_read"))


class Cache:
    """The scores of at most `most` samples; the least recently used is dropped first."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.hits, self.misses = most, 0, 0
        self._scores: OrderedDict[Hashable, dict[str, float | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._scores)

    def clear(self) -> None:
        """Drop all scores."""
        self._scores.clear()

    def find(self, key: Hashable) -> dict[str, float | None] | None:
        """The scores of a sample by the metric's keys; None where the cache has no entry."""
        scores = self._scores.get(key)
        if scores is None:
            self.misses += 1
            return None
        self.hits += 1
        self._scores.move_to_end(key)
        return scores

    def keep(self, key: Hashable, scores: dict[str, float | None]) -> None:
        """Store the scores of a sample."""
        self._scores[key] = scores
        self._scores.move_to_end(key)
        while len(self._scores) > self.most:
            self._scores.popitem(last=False)


@dataclass(frozen=True, eq=False)
class Cached:
    """A metric with cached scores per sample; it gives no corpus scores.

    Args:
        identity: name, version and options of the metric; metrics with equal identity share cached scores.
        context: the context that the metric was built with.
    """

    metric: Metric
    identity: Hashable
    cache: Cache
    context: Watched = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the wrapped metric."""
        return self.metric.name

    @property
    def version(self) -> int:
        """The version of the wrapped metric."""
        return self.metric.version

    @property
    def higher_is_better(self) -> bool | None:
        """The direction of the wrapped metric."""
        return self.metric.higher_is_better

    def __getattr__(self, name: str) -> Any:
        """The traits of the wrapped metric."""
        if name not in vars(Traits()):
            raise AttributeError(name)
        return getattr(traits(self.metric), name)

    def __call__(self, samples: Samples) -> Measured:
        """The scores per sample: cached scores, and one call of the metric for all distinct new samples."""
        references = map(tuple, samples.references)
        batch = list(zip(samples.predictions, references, samples.prompts, samples.rows, strict=True))
        if self.context.policy or not _hashable(batch):
            return self.metric(samples)
        by_sample = {sample: self.cache.find((self.identity, *sample)) for sample in dict.fromkeys(batch)}
        new = [sample for sample, scores in by_sample.items() if scores is None]
        if new:
            first = {sample: i for i, sample in reversed(list(enumerate(batch)))}
            measured = self.metric(samples.take([first[sample] for sample in new]))
            if not _well_formed(measured, len(new)):  # the caller's check names what is wrong
                return self.metric(samples)
            for i, sample in enumerate(new):
                fresh = {key: scores[i] for key, scores in measured.samples.items()}
                by_sample[sample] = fresh
                if not self.context.policy:
                    self.cache.keep((self.identity, *sample), fresh)
        keys = dict.fromkeys(key for scores in by_sample.values() for key in scores or ())
        return Measured({key: [(by_sample[sample] or {}).get(key) for sample in batch] for key in keys})


def clear(terms: Sequence[Any]) -> None:
    """Drop the cached scores of these terms."""
    for term in terms:
        if isinstance(term, Term) and isinstance(term.metric, Cached):
            term.metric.cache.clear()


def _hashable(samples: Sequence[Any]) -> bool:
    try:
        return all(hash(sample) is not None for sample in samples)
    except TypeError:
        return False


def _well_formed(measured: Any, count: int) -> bool:
    if not isinstance(measured, Measured):
        return False
    return all(isinstance(scores, list) and len(scores) == count for scores in measured.samples.values())
