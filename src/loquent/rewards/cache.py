"""Scores kept by what they are of: the metric with its version and options, the references, the prompt, the row and the text.

Only metrics that are functions of a sample are kept. One that asks its context for the policy is not, since it learns on; nor is a
function of one's own, which may be anything. The whole key is compared, not a hash of it, so a score is never another sample's.

A network's score of one text may differ in its last bits with the texts beside it. A run therefore forgets all scores where it writes
a checkpoint: what is resumed from there begins with none, and meets the same batches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loquent.metric import Context, Measured, Metric
from loquent.task import Row

MOST = 20_000  # samples held; some hundred bytes and the text each


class Watched(Context):
    """A context that notes when somebody asks for its model: what is made of it then follows the policy."""

    def __getattribute__(self, name: str) -> Any:
        if name == "model":
            object.__setattr__(self, "asked", True)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"Watched({self.task!r})"  # to be shown is not to be asked for the model

    @classmethod
    def of(cls, context: Context) -> Watched:
        """The same context, watched from now on."""
        made = cls(context.task, context.model, context.cache)
        object.__setattr__(made, "asked", False)
        return made

    @property
    def policy(self) -> bool:
        """Whether the model was asked for."""
        return bool(object.__getattribute__(self, "asked"))


class Cache:
    """At most so many samples' scores; the one that was not asked for longest goes first."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.hits, self.misses = most, 0, 0
        self._held: OrderedDict[Hashable, dict[str, float | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        """Forget all scores."""
        self._held.clear()

    def find(self, key: Hashable) -> dict[str, float | None] | None:
        """The scores of a sample by the metric's keys, or None."""
        found = self._held.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._held.move_to_end(key)
        return found

    def keep(self, key: Hashable, scores: dict[str, float | None]) -> None:
        """Hold the scores of a sample."""
        self._held[key] = scores
        self._held.move_to_end(key)
        while len(self._held) > self.most:
            self._held.popitem(last=False)


@dataclass(frozen=True, eq=False)
class Cached:
    """A metric whose scores per sample are kept; it measures no corpus.

    Args:
        identity: what makes two metrics the same: name, version and options.
        context: what the metric was built from.
    """

    metric: Metric
    identity: Hashable
    cache: Cache
    context: Watched = field(repr=False)

    @property
    def name(self) -> str:
        """The metric's own name."""
        return self.metric.name

    @property
    def version(self) -> int:
        """The metric's own version."""
        return self.metric.version

    @property
    def higher_is_better(self) -> bool | None:
        """As the metric says."""
        return self.metric.higher_is_better

    @property
    def keys(self) -> tuple[str, ...]:
        """As the metric says."""
        return tuple(getattr(self.metric, "keys", ()))

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """The scores per sample: those that are known, and one call of the metric for all others, each once."""
        given = list(zip(predictions, map(tuple, references), prompts, rows, strict=True))
        if self.context.policy or not _hashable(given):
            return self.metric(predictions, references, prompts, rows)
        found = {sample: self.cache.find((self.identity, *sample)) for sample in dict.fromkeys(given)}
        new = [sample for sample, scores in found.items() if scores is None]
        if new:
            texts, own, before, where = (list(column) for column in zip(*new, strict=True))
            measured = self.metric(texts, own, before, where)
            if not _whole(measured, len(new)):  # whoever asked says what is wrong with it
                return self.metric(predictions, references, prompts, rows)
            for i, sample in enumerate(new):
                found[sample] = {key: scores[i] for key, scores in measured.samples.items()}
                if not self.context.policy:
                    self.cache.keep((self.identity, *sample), found[sample])  # type: ignore[arg-type]
        keys = dict.fromkeys(key for scores in found.values() for key in scores or ())
        return Measured({key: [(found[sample] or {}).get(key) for sample in given] for key in keys})


def clear(terms: Sequence[Any]) -> None:
    """Forget the scores that these terms have kept."""
    for term in terms:
        if isinstance(metric := getattr(term, "metric", None), Cached):
            metric.cache.clear()


def _hashable(samples: Sequence[Any]) -> bool:
    try:
        return all(hash(sample) is not None for sample in samples)
    except TypeError:
        return False


def _whole(measured: Any, count: int) -> bool:
    if not isinstance(measured, Measured):
        return False
    return all(isinstance(scores, list) and len(scores) == count for scores in measured.samples.values())
