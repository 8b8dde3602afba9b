"""Metrics of token labels and their spans: `token_labels` scores tokens, `span_f1` whole spans.

The texts are such as "NEW/LOC YORK/LOC 1996-08-22/O", or the labels alone. Labels are compared position by
position; a missing label and an extra label are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.labels import span_scores
from loquent.metrics.labels.label_counts import Counts, LabelCounts, counts
from loquent.metrics.labels.label_texts import Labels, pad_labels, row_labels, tags
from loquent.metrics.shared_parts import Tally, of_tallies

Pair = tuple[Labels, Labels]  # gold and predicted labels, of equal length
AVERAGES = ("macro", "weighted")
PARTS = ("", "/precision", "/recall")


@dataclass(frozen=True, kw_only=True)
class TokenLabelsOptions:
    """Options of the metric `token_labels`: it has none."""


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """Options of the metric `span_f1`."""

    scheme: str = setting(
        "bio",
        "the form of the labels: without prefixes, with B- and I-, or with B-, I-, E- and S-",
        choices=("io", "bio", "bioes"),
    )


@dataclass(frozen=True)
class TokenLabels(Share):
    """Accuracy (equal to micro F1), macro F1 and weighted F1: per sample, and over all tokens together.

    A sample without gold labels and without predicted labels has no score.
    """

    name: ClassVar[str] = "token_labels"
    keys: ClassVar[tuple[str, ...]] = (
        "token_labels",
        *(f"token_labels/{average}_f1" for average in AVERAGES),
    )

    def __call__(self, samples: Samples) -> Measured:
        """Score tagged texts; of several references the one with the highest accuracy counts.

        Raises:
            BadRow: a row without references has `labels` that are not a list of texts.
        """
        pairs = _pairs(samples, lambda pair: span_scores.token_accuracy(*pair))
        scores = [None if pair is None else _token_scores(*pair) for pair in pairs]
        columns = {
            key: [None if values is None else values[i] for values in scores]
            for i, key in enumerate(self.keys)
        }
        labels = LabelCounts([None if pair is None else _counts(*pair) for pair in pairs])
        return Measured(columns, self._corpus(labels), leave_out=partial(self._corpus, labels))

    def _corpus(self, labels: LabelCounts, left_out: Sequence[int] = ()) -> dict[str, float]:
        sums = labels.without(left_out)
        if sums is None:
            return {}
        scores = sums.right / sums.gold, sums.f1 / sums.labels, sums.weighted / sums.gold
        return dict(zip(self.keys, scores, strict=True))


@dataclass(frozen=True)
class SpanF1(Share):
    """F1, precision and recall of spans: per sample, and over all spans together.

    All three are 1 without gold spans and without predicted spans.
    """

    scheme: str = "bio"
    name: ClassVar[str] = "span_f1"
    keys: ClassVar[tuple[str, ...]] = tuple(f"span_f1{part}" for part in PARTS)

    def __call__(self, samples: Samples) -> Measured:
        """Score tagged texts; of several references the one with the highest F1 counts.

        Raises:
            BadRow: a row without references has `labels` that are not a list of texts.
        """
        tally = self.tally(samples)
        scores = [self._scores(*counts) if scored else None for scored, *counts in tally.astype(int).tolist()]
        columns = {
            key: [None if values is None else values[i] for values in scores]
            for i, key in enumerate(self.keys)
        }
        return of_tallies(self, columns, tally)

    def tally(self, samples: Samples) -> Tally:
        """float[samples, 4]: 1, and the numbers of correct, predicted and gold spans.

        A sample without a score has zeros.
        """
        pairs = _pairs(samples, lambda pair: span_scores.span_f1(*pair, self.scheme))
        counts = [(0, 0, 0, 0) if pair is None else (1, *self._counts(*pair)) for pair in pairs]
        return np.array(counts, dtype=np.float64).reshape(-1, 4)

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores."""
        samples, *counts = total.astype(int).tolist()
        return dict(zip(self.keys, self._scores(*counts), strict=True)) if samples else {}

    def _counts(self, gold: Labels, predicted: Labels) -> tuple[int, int, int]:
        gold_spans, predicted_spans = (span_scores.spans(labels, self.scheme) for labels in (gold, predicted))
        return len(set(gold_spans) & set(predicted_spans)), len(predicted_spans), len(gold_spans)

    def _scores(self, right: int, predicted: int, gold: int) -> tuple[float, float, float]:
        scores = span_scores.scores(right, predicted, gold)
        return scores.f1, scores.precision, scores.recall


@takes(TokenLabelsOptions)
def token_labels(context: Context, options: TokenLabelsOptions) -> TokenLabels:
    """Labels of tokens ("NEW/LOC YORK/LOC"): accuracy (equal to micro F1), macro F1 and weighted F1."""
    return TokenLabels()


@takes(SpanOptions)
def span_f1(context: Context, options: SpanOptions) -> SpanF1:
    """Spans of token labels in the form IO, BIO or BIOES: F1, precision and recall."""
    return SpanF1(options.scheme)


def _pairs(samples: Samples, score: Callable[[Pair], float]) -> list[Pair | None]:
    """For each sample the labels of its best reference and of its prediction, padded to equal length.

    None for a sample without gold labels and without predicted labels.
    """
    pairs: list[Pair | None] = []
    for text, texts, row in zip(samples.predictions, samples.references, samples.rows, strict=True):
        predicted = tags(text)
        gold = [tags(reference) for reference in texts] or row_labels(row)
        options = [pair for labels in gold if (pair := pad_labels(labels, predicted))[0]]
        if len(options) > 1:
            pairs.append(max(options, key=lambda pair: (score(pair), pair)))
        else:
            pairs.append(options[0] if options else None)
    return pairs


def _counts(gold: Labels, predicted: Labels) -> dict[str, Counts]:
    return counts((a for a, b in zip(gold, predicted, strict=True) if a == b), predicted, gold)


def _token_scores(gold: Labels, predicted: Labels) -> tuple[float, ...]:
    """Accuracy, macro F1 and weighted F1 of one sample."""
    return span_scores.token_accuracy(gold, predicted), *(
        span_scores.token_f1(gold, predicted, average) for average in AVERAGES
    )
