"""Metrics of sets and rankings of labels, from texts such as "cs.DM cs.IT terminate".

A repeated label counts twice in the denominator of precision, as in the task `multilabel`. The formulas are
in `metrics.labels.set_scores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from loquent.core.metric import SHARES, Context, Measured, Range, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.labels import set_scores
from loquent.metrics.labels.label_counts import Counts, LabelCounts, counts
from loquent.metrics.labels.label_texts import Labels, label_set, row_labels
from loquent.metrics.shared_parts import with_means

Pair = tuple[Labels, Labels]  # gold labels, predicted labels
PER_TEXT = ("", "/jaccard", "/ndcg", "/exact")


@dataclass(frozen=True, kw_only=True)
class LabelSetsOptions:
    """Options of the metric `label_sets`."""

    separator: str = setting(
        "", "the separator of labels that contain spaces, such as ','; empty: white space"
    )
    empty: float = setting(
        1.0, "the score without gold labels and without predicted labels", low=0.0, high=1.0
    )


@dataclass(frozen=True, kw_only=True)
class HammingOptions:
    """Options of the metric `hamming_loss`."""

    classes: int = setting(0, "the number of all labels; 0: that of the task", low=0)
    separator: str = setting(
        "", "the separator of labels that contain spaces, such as ','; empty: white space"
    )


@dataclass(frozen=True)
class LabelSets(Share):
    """Per sample F1, Jaccard, nDCG and exact match.

    For the corpus their means (`label_sets` is sample F1), and micro and macro F1.
    """

    separator: str = ""
    empty: float = 1.0
    name: ClassVar[str] = "label_sets"
    keys: ClassVar[tuple[str, ...]] = tuple(
        f"label_sets{part}" for part in (*PER_TEXT, "/micro_f1", "/macro_f1")
    )
    corpus_only: ClassVar[tuple[str, ...]] = ("label_sets/micro_f1", "label_sets/macro_f1")

    def __call__(self, samples: Samples) -> Measured:
        """Score texts of labels; of several references the one with the highest F1 counts.

        Raises:
            BadRow: a row without references has `labels` that are not a list of texts.
        """
        pairs = _pairs(samples, self.separator)
        scores = [None if pair is None else self._scores(*pair) for pair in pairs]
        means = with_means(
            {
                f"label_sets{part}": [None if values is None else values[i] for values in scores]
                for i, part in enumerate(PER_TEXT)
            }
        )
        labels = LabelCounts([None if pair is None else _counts(*pair) for pair in pairs])
        return replace(
            means, corpus=means.corpus | self._corpus(labels), leave_out=partial(self._corpus, labels)
        )

    def _corpus(self, labels: LabelCounts, left_out: Sequence[int] = ()) -> dict[str, float]:
        sums = labels.without(left_out)
        if sums is None:
            return {}
        micro = 2 * sums.right / (sums.predicted + sums.gold) if sums.labels else self.empty
        macro = sums.f1 / sums.labels if sums.labels else self.empty
        return {"label_sets/micro_f1": micro, "label_sets/macro_f1": macro}

    def _scores(self, gold: Labels, predicted: Labels) -> tuple[float, ...]:
        functions = (set_scores.f1, set_scores.jaccard, set_scores.ndcg)
        scores = (function(gold, predicted, self.empty) for function in functions)
        return *scores, set_scores.exact(gold, predicted)


@dataclass(frozen=True)
class HammingLoss:
    """Per sample the share of all labels that are wrongly predicted or missing; for the corpus the mean.

    At most 1; 0 is best.
    """

    classes: int
    separator: str = ""
    name: ClassVar[str] = "hamming_loss"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    range: ClassVar[Range] = SHARES
    keys: ClassVar[tuple[str, ...]] = ("hamming_loss",)

    def __call__(self, samples: Samples) -> Measured:
        """Score texts of labels; of several references the one with the highest F1 counts.

        Raises:
            BadRow: a row without references has `labels` that are not a list of texts.
        """
        pairs = _pairs(samples, self.separator)
        losses = [
            None if pair is None else min(1.0, set_scores.hamming(*pair, self.classes)) for pair in pairs
        ]
        return with_means({self.name: losses})


@takes(LabelSetsOptions)
def label_sets(context: Context, options: LabelSetsOptions) -> LabelSets:
    """Sets of labels ("cs.DM cs.IT terminate"): F1, Jaccard, exact match, and nDCG of their order.

    F1 is the mean over samples, micro and macro.
    """
    return LabelSets(options.separator, options.empty)


@takes(HammingOptions)
def hamming_loss(context: Context, options: HammingOptions) -> HammingLoss:
    """The share of all labels that are wrongly predicted or missing; 0 is best.

    Needs `classes`, or a task with labels.

    Raises:
        BadSetting: the number of labels is unknown.
    """
    classes = options.classes or (len(context.task.labels) if context.task else 0)
    if not classes:
        raise BadSetting(
            "hamming_loss.classes = 0 stands for the number of labels of the task, and there is no task with "
            "labels. Set classes to an integer of at least 1"
        )
    return HammingLoss(classes, options.separator)


def _counts(gold: Labels, predicted: Labels) -> dict[str, Counts]:
    return counts(set(gold) & set(predicted), predicted, set(gold))


def _pairs(samples: Samples, separator: str) -> list[Pair | None]:
    """For each sample its gold labels without repetition and the predicted labels; None without gold labels.

    Of several references the one with the highest F1 counts.
    """
    pairs: list[Pair | None] = []
    for text, texts, row in zip(samples.predictions, samples.references, samples.rows, strict=True):
        predicted = label_set(text, separator)
        listed = [label_set(reference, separator) for reference in texts] or row_labels(row)
        gold = [tuple(dict.fromkeys(labels)) for labels in listed]
        if gold:
            best = max(gold, key=lambda labels: (set_scores.f1(labels, predicted, 1.0), labels))
            pairs.append((best, predicted))
        else:
            pairs.append(None)
    return pairs
