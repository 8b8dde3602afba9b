"""Sets and rankings of labels, from text such as "cs.DM cs.IT terminate", as registered metrics.

A label that is said twice counts twice against precision, as in the task `multilabel`; the formulas are those
of `metrics.label_sets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import Context, Measured
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import BadSetting
from loquent.metrics.labels import set_scores
from loquent.metrics.labels.texts import Labels, label_set, row_labels
from loquent.metrics.text import mean

Pair = tuple[Labels, Labels]  # right, said
PER_TEXT = ("", "/jaccard", "/ndcg", "/exact")


@dataclass(frozen=True, kw_only=True)
class LabelSetsOptions:
    """What the metric `label_sets` may be told."""

    separator: str = setting("", "what parts labels that hold spaces, such as ','; empty: white space")
    empty: float = setting(1.0, "the score where no label is right and none was said", low=0.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class HammingOptions:
    """What the metric `hamming_loss` may be told."""

    classes: int = setting(0, "how many labels there are; 0: as many as the task has", low=0)
    separator: str = setting("", "what parts labels that hold spaces, such as ','; empty: white space")


@dataclass(frozen=True)
class LabelSets:
    """Per sample F1, Jaccard, nDCG and exact match.

    For the corpus their means (`label_sets` is sample F1), and micro and macro F1.
    """

    separator: str = ""
    empty: float = 1.0
    name: ClassVar[str] = "label_sets"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(
        f"label_sets{part}" for part in (*PER_TEXT, "/micro_f1", "/macro_f1")
    )
    corpus_only: ClassVar[tuple[str, ...]] = ("label_sets/micro_f1", "label_sets/macro_f1")

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score texts of labels; of several references the one with the highest F1.

        Raises:
            BadRow: a row without references has `labels` that are none.
        """
        pairs = _pairs(predictions, references, rows, self.separator)
        each = [None if pair is None else self._scores(*pair) for pair in pairs]
        samples = {
            f"label_sets{part}": [None if one is None else one[i] for one in each]
            for i, part in enumerate(PER_TEXT)
        }
        corpus = {key: average for key, scores in samples.items() if (average := mean(scores)) is not None}
        present = [pair for pair in pairs if pair is not None]
        if present:
            gold, said = [a for a, _ in present], [b for _, b in present]
            corpus["label_sets/micro_f1"] = set_scores.micro_f1(gold, said, self.empty)
            corpus["label_sets/macro_f1"] = set_scores.macro_f1(gold, said, self.empty)
        return Measured(samples, corpus)

    def _scores(self, gold: Labels, said: Labels) -> tuple[float, ...]:
        some = (of(gold, said, self.empty) for of in (set_scores.f1, set_scores.jaccard, set_scores.ndcg))
        return *some, set_scores.exact(gold, said)


@dataclass(frozen=True)
class HammingLoss:
    """Per sample the share of all labels that are wrongly said or wrongly not said, at most 1.

    For the corpus the mean. 0 is best.
    """

    classes: int
    separator: str = ""
    name: ClassVar[str] = "hamming_loss"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("hamming_loss",)

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score texts of labels; of several references the one with the highest F1. Raises as `LabelSets`."""
        pairs = _pairs(predictions, references, rows, self.separator)
        scores = [
            None if pair is None else min(1.0, set_scores.hamming(*pair, self.classes)) for pair in pairs
        ]
        average = mean(scores)
        return Measured({self.name: scores}, {} if average is None else {self.name: average})


@takes(LabelSetsOptions)
def label_sets(context: Context, options: LabelSetsOptions) -> LabelSets:
    """Sets of labels ("cs.DM cs.IT terminate"): sample, micro and macro F1, Jaccard, exact match, and nDCG of
    their order.
    """
    return LabelSets(options.separator, options.empty)


@takes(HammingOptions)
def hamming_loss(context: Context, options: HammingOptions) -> HammingLoss:
    """The share of all labels that are wrongly said or not said; 0 is best.

    Needs `classes`, or a task with labels.

    Raises:
        BadSetting: nothing says how many labels there are.
    """
    classes = options.classes or len(getattr(context.task, "labels", ()))
    if not classes:
        raise BadSetting(
            "hamming_loss.classes: how many labels there are; no task with labels is here to tell"
        )
    return HammingLoss(classes, options.separator)


def _pairs(
    predictions: Sequence[str], references: Sequence[Sequence[str]], rows: Sequence[Row], separator: str
) -> list[Pair | None]:
    pairs: list[Pair | None] = []
    for text, own, row in zip(predictions, references, rows, strict=True):
        said = label_set(text, separator)
        right = [
            tuple(dict.fromkeys(gold))
            for gold in [label_set(one, separator) for one in own] or row_labels(row)
        ]
        pairs.append(
            (max(right, key=lambda gold: (set_scores.f1(gold, said, 1.0), gold)), said) if right else None
        )
    return pairs
