"""Sets and rankings of labels, from text such as "cs.DM cs.IT terminate", as registered metrics.

A label that is said twice counts twice against precision, as in the task `multilabel`; the formulas are those of `metrics.label_sets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics import label_sets
from loquent.metrics.labels.texts import Labels, label_set, row_labels
from loquent.metrics.options import takes
from loquent.metrics.text import mean
from loquent.settings import setting
from loquent.task import Row

Pair = tuple[Labels, Labels]  # right, said
PER_TEXT = ("", "/jaccard", "/ndcg", "/exact")


@dataclass(frozen=True, kw_only=True)
class MultilabelOptions:
    """What the metric `multilabel` may be told."""

    separator: str = setting("", "what parts labels that hold spaces, such as ','; empty: white space")
    empty: float = setting(1.0, "the score where no label is right and none was said", low=0.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class HammingOptions:
    """What the metric `hamming_loss` may be told."""

    classes: int = setting(0, "how many labels there are; 0: as many as the task has", low=0)
    separator: str = setting("", "what parts labels that hold spaces, such as ','; empty: white space")


@dataclass(frozen=True)
class Multilabel:
    """Per sample F1, Jaccard, nDCG and exact match; for the corpus their means (`multilabel` is sample F1), and micro and macro F1."""

    separator: str = ""
    empty: float = 1.0
    name: ClassVar[str] = "multilabel"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(f"multilabel{part}" for part in (*PER_TEXT, "/micro_f1", "/macro_f1"))
    corpus_only: ClassVar[tuple[str, ...]] = ("multilabel/micro_f1", "multilabel/macro_f1")

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score texts of labels; of several references the one with the highest F1.

        Raises:
            BadRow: a row without references has `labels` that are none.
        """
        pairs = _pairs(predictions, references, rows, self.separator)
        each = [None if pair is None else self._scores(*pair) for pair in pairs]
        samples = {f"multilabel{part}": [None if one is None else one[i] for one in each] for i, part in enumerate(PER_TEXT)}
        corpus = {key: average for key, scores in samples.items() if (average := mean(scores)) is not None}
        present = [pair for pair in pairs if pair is not None]
        if present:
            gold, said = [a for a, _ in present], [b for _, b in present]
            corpus["multilabel/micro_f1"] = label_sets.micro_f1(gold, said, self.empty)
            corpus["multilabel/macro_f1"] = label_sets.macro_f1(gold, said, self.empty)
        return Measured(samples, corpus)

    def _scores(self, gold: Labels, said: Labels) -> tuple[float, ...]:
        some = (of(gold, said, self.empty) for of in (label_sets.f1, label_sets.jaccard, label_sets.ndcg))
        return *some, label_sets.exact(gold, said)


@dataclass(frozen=True)
class HammingLoss:
    """Per sample the share of all labels that are wrongly said or wrongly not said, at most 1; for the corpus the mean. 0 is best."""

    classes: int
    separator: str = ""
    name: ClassVar[str] = "hamming_loss"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("hamming_loss",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score texts of labels; of several references the one with the highest F1. Raises as `Multilabel`."""
        pairs = _pairs(predictions, references, rows, self.separator)
        scores = [None if pair is None else min(1.0, label_sets.hamming(*pair, self.classes)) for pair in pairs]
        average = mean(scores)
        return Measured({self.name: scores}, {} if average is None else {self.name: average})


@takes(MultilabelOptions)
def multilabel(context: Context, options: MultilabelOptions) -> Multilabel:
    """Sets of labels ("cs.DM cs.IT terminate"): sample, micro and macro F1, Jaccard, exact match, and nDCG of their order."""
    return Multilabel(options.separator, options.empty)


@takes(HammingOptions)
def hamming_loss(context: Context, options: HammingOptions) -> HammingLoss:
    """The share of all labels that are wrongly said or not said; 0 is best. Needs `classes`, or a task with labels.

    Raises:
        BadSetting: nothing says how many labels there are.
    """
    classes = options.classes or len(getattr(context.task, "labels", ()))
    if not classes:
        raise BadSetting("hamming_loss.classes: how many labels there are; no task with labels is here to tell")
    return HammingLoss(classes, options.separator)


def _pairs(predictions: Sequence[str], references: Sequence[Sequence[str]], rows: Sequence[Row], separator: str) -> list[Pair | None]:
    pairs: list[Pair | None] = []
    for text, own, row in zip(predictions, references, rows, strict=True):
        said = label_set(text, separator)
        right = [tuple(dict.fromkeys(gold)) for gold in [label_set(one, separator) for one in own] or row_labels(row)]
        pairs.append((max(right, key=lambda gold: (label_sets.f1(gold, said, 1.0), gold)), said) if right else None)
    return pairs
