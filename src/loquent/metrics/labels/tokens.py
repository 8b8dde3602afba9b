"""Labels of tokens and their spans, from text such as "NEW/LOC YORK/LOC 1996-08-22/O" (or the labels alone),
as registered metrics.

Labels are compared place by place; one that is missing or too much is a wrong one. `token_labels` scores
tokens, `span_f1` whole spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from loquent.core.metric import Context, Measured
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.metrics.labels import span_scores as tokens
from loquent.metrics.labels.texts import Labels, filled, row_labels, tags
from loquent.metrics.pairs import Tally

Pair = tuple[Labels, Labels]  # right, said
AVERAGES = ("macro", "weighted")
PARTS = ("", "/precision", "/recall")


@dataclass(frozen=True, kw_only=True)
class TokenLabelsOptions:
    """What the metric `token_labels` takes: nothing."""


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """What the metric `span_f1` may be told."""

    scheme: str = setting(
        "bio",
        "how labels make spans: runs of one label, B- and I-, or B-, I-, E- and S-",
        choices=("io", "bio", "bioes"),
    )


@dataclass(frozen=True)
class TokenLabels:
    """Accuracy (which is micro F1), macro and weighted F1 of a sample's tokens, and of all tokens together.

    None without right labels.
    """

    name: ClassVar[str] = "token_labels"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = (
        "token_labels",
        *(f"token_labels/{average}_f1" for average in AVERAGES),
    )

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score tagged texts; of several references the one that agrees best.

        Raises:
            BadRow: a row without references has `labels` that are none.
        """
        pairs = _pairs(predictions, references, rows, lambda pair: tokens.token_accuracy(*pair))
        each = [None if pair is None else _token_scores(Counter(zip(*pair, strict=True))) for pair in pairs]
        samples = {key: [None if one is None else one[i] for one in each] for i, key in enumerate(self.keys)}
        counts = Counter(chain.from_iterable(zip(*pair, strict=True) for pair in pairs if pair is not None))
        return Measured(samples, dict(zip(self.keys, _token_scores(counts), strict=True)) if counts else {})


@dataclass(frozen=True)
class SpanF1:
    """F1, precision and recall of a sample's spans, and of all spans together.

    1 where there are none and none were found.
    """

    scheme: str = "bio"
    name: ClassVar[str] = "span_f1"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(f"span_f1{part}" for part in PARTS)

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score tagged texts; of several references the one that agrees best. Raises as `Tagging`."""
        tally = self.tally(predictions, references, prompts, rows)
        each = [self._scores(*counts) if there else None for there, *counts in tally.astype(int).tolist()]
        return Measured(
            {key: [None if one is None else one[i] for one in each] for i, key in enumerate(self.keys)},
            self.of_tally(tally.sum(0)),
        )

    def tally(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Tally:
        """Behind a 1 each sample's spans that are right, were found and are wanted.

        Zeros where nothing is to be read.
        """
        pairs = _pairs(predictions, references, rows, lambda pair: tokens.span_f1(*pair, self.scheme))
        return np.array(
            [(0, 0, 0, 0) if pair is None else (1, *self._counts(*pair)) for pair in pairs], dtype=np.float64
        ).reshape(-1, 4)

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores."""
        there, *counts = total.astype(int).tolist()
        return dict(zip(self.keys, self._scores(*counts), strict=True)) if there else {}

    def _counts(self, gold: Labels, said: Labels) -> tuple[int, int, int]:
        wanted, found = tokens.spans(gold, self.scheme), tokens.spans(said, self.scheme)
        return len(set(wanted) & set(found)), len(found), len(wanted)

    def _scores(self, right: int, found: int, wanted: int) -> tuple[float, float, float]:
        scores = tokens.scores(right, found, wanted)
        return scores.f1, scores.precision, scores.recall


@takes(TokenLabelsOptions)
def token_labels(context: Context, options: TokenLabelsOptions) -> TokenLabels:
    """Labels of tokens ("NEW/LOC YORK/LOC"): accuracy, which is micro F1, macro and weighted F1."""
    return TokenLabels()


@takes(SpanOptions)
def span_f1(context: Context, options: SpanOptions) -> SpanF1:
    """Spans that labels of tokens make, under IO, BIO or BIOES: F1, precision and recall."""
    return SpanF1(options.scheme)


def _pairs(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    rows: Sequence[Row],
    score: Callable[[Pair], float],
) -> list[Pair | None]:
    """For each sample the best reference's labels and its own, of one length.

    None without a reference, or where there is no token at all.
    """
    pairs: list[Pair | None] = []
    for text, own, row in zip(predictions, references, rows, strict=True):
        said = tags(text)
        options = [filled(gold, said) for gold in [tags(one) for one in own] or row_labels(row)]
        some = [pair for pair in options if pair[0]]
        pairs.append(
            max(some, key=lambda pair: (score(pair), pair)) if len(some) > 1 else some[0] if some else None
        )
    return pairs


def _token_scores(counts: Counter[tuple[str, str]]) -> tuple[float, ...]:
    """Accuracy, macro and weighted F1 from how often each label was said for each."""
    gold, said, right = Counter[str](), Counter[str](), Counter[str]()
    for (a, b), count in counts.items():
        gold[a] += count
        said[b] += count
        if a == b:
            right[a] += count
    return right.total() / counts.total(), *(
        tokens.averaged(gold, said, right, average) for average in AVERAGES
    )
