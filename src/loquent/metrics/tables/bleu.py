"""BLEU as ToTTo measures it: lower case, detokenised, sacrebleu against three references.

There is a score for all rows, and one for each overlap subset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import MissingExtra
from loquent.metrics.lexical.sacre_counts import count_words
from loquent.metrics.lexical.sacre_private import score_of
from loquent.metrics.shared_parts import Tally, of_tallies
from loquent.metrics.tables import words
from loquent.metrics.tables.rows import overlap

SUBSETS = {"": (True, False, None), "/overlap": (True,), "/nonoverlap": (False,)}
COUNTS = 11  # numbers per sample and subset: 1, both lengths, four matches and four totals


@dataclass(frozen=True, kw_only=True)
class BleuTottoOptions:
    """Options of the metric `bleu_totto`."""

    pad: bool = setting(
        True,
        "for the corpus score, fill up the references to three with '<null>', as in the official files",
    )


class Sample(NamedTuple):
    """The sentence BLEU of a sample, and its counts for the corpus score."""

    score: float
    counts: list[float]


@dataclass(frozen=True)
class BleuTotto(Share):
    """For the corpus sacrebleu's BLEU of the official files; per sample its sentence BLEU.

    An empty answer has the score 0.
    """

    pad: bool = True
    name: ClassVar[str] = "bleu_totto"
    keys: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS)
    corpus_only: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS if subset)

    def __call__(self, samples: Samples) -> Measured:
        """Score predictions against their references; the row's field `overlap_subset` selects its subset.

        Raises:
            BadRow: `overlap_subset` is neither true nor false.
        """
        scores = self._samples(samples.predictions, samples.references)
        columns = [None if sample is None else sample.score for sample in scores]
        return of_tallies(self, {self.name: columns}, _tally(scores, samples.rows))

    def tally(self, samples: Samples) -> Tally:
        """float[samples, subsets * 11]: for each subset 1, both lengths, matches and totals.

        A sample outside a subset has zeros there.

        Raises:
            BadRow: `overlap_subset` is neither true nor false.
        """
        return _tally(self._samples(samples.predictions, samples.references), samples.rows)

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores of the subsets with samples."""
        parts = zip(self.keys, total.reshape(len(SUBSETS), COUNTS).tolist(), strict=True)
        return {key: _score(counts) for key, (samples, *counts) in parts if samples}

    def _samples(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> list[Sample | None]:
        return [self._sample(text, texts) for text, texts in zip(predictions, references, strict=True)]

    def _sample(self, prediction: str, references: Sequence[str]) -> Sample | None:
        if not references:
            return None
        answer = words.answer(prediction)
        counts = count_words(_bleu(), answer, [words.line(text) for text in references])
        score = _score(counts, effective=True) if prediction.strip() else 0.0
        if self.pad and len(references) < words.REFERENCES:
            counts = count_words(_bleu(), answer, words.pad_references(references))
        return Sample(score, counts)


@takes(BleuTottoOptions)
def bleu_totto(context: Context, options: BleuTottoOptions) -> BleuTotto:
    """BLEU by the official evaluation of ToTTo, with its overlap subsets. Needs loquent[metrics].

    Raises:
        MissingExtra: sacrebleu is not installed.
    """
    _bleu()
    return BleuTotto(options.pad)


def _tally(samples: Sequence[Sample | None], rows: Sequence[Row]) -> Tally:
    tally = np.zeros((len(samples), len(SUBSETS), COUNTS))
    for i, (sample, row) in enumerate(zip(samples, rows, strict=True)):
        subset = overlap(row)
        if sample is not None:
            tally[i, [subset in values for values in SUBSETS.values()]] = (1, *sample.counts)
    return tally.reshape(len(samples), len(SUBSETS) * COUNTS)


def _score(counts: Sequence[float], effective: bool = False) -> float:
    """BLEU from the counts of one sentence, or from their sum."""
    score = score_of(_bleu(effective), counts)
    return min(1.0, score / 100)  # an exponential of logarithms can exceed 1 by rounding


@cache
def _bleu(effective: bool = False) -> Any:
    """Sacrebleu's BLEU: 13a, n up to 4, exponential smoothing.

    With `effective`, only the orders count that a text has.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtra("bleu_totto (sacrebleu)", "metrics") from error
    return BLEU(effective_order=effective)
