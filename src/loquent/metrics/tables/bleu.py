"""BLEU as ToTTo measures it: lower case, detokenised, sacrebleu against three references, for all and for both halves of the overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from loquent.errors import MissingExtra
from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import Tally
from loquent.metrics.sacre_counts import count_words
from loquent.metrics.tables import words
from loquent.metrics.tables.rows import overlap
from loquent.settings import setting
from loquent.task import Row

SUBSETS = {"": (True, False, None), "/overlap": (True,), "/nonoverlap": (False,)}
COUNTS = 11  # numbers that a sample adds to a subset


@dataclass(frozen=True, kw_only=True)
class BleuTottoOptions:
    """What the metric `bleu_totto` may be told."""

    pad: bool = setting(True, "for the corpus, fewer than three references are filled up with '<null>' ones: as the official files are")


@dataclass(frozen=True)
class BleuTotto:
    """For the corpus sacrebleu's BLEU of the official files; per sample that of one sentence against its own references, 0 for an empty answer."""

    pad: bool = True
    name: ClassVar[str] = "bleu_totto"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS)
    corpus_only: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS if subset)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions against their references; a row says by `overlap_subset` which half it is of.

        Raises:
            BadRow: `overlap_subset` is neither true nor false.
        """
        own = self._each(predictions, references)
        samples = [None if one is None else one[0] for one in own]
        return Measured({self.name: samples}, self.of_tally(_tally(own, rows).sum(0)))

    def tally(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Tally:
        """For each subset what each sample of it adds: a 1, both lengths, matches and totals. Raises as the call does."""
        return _tally(self._each(predictions, references), rows)

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores of the subsets that have a sample."""
        parts = zip(self.keys, total.reshape(len(SUBSETS), COUNTS).tolist(), strict=True)
        return {key: _score(counts) for key, (samples, *counts) in parts if samples}

    def _each(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[tuple[float, list[float]] | None]:
        return [self._one(text, some) for text, some in zip(predictions, references, strict=True)]

    def _one(self, prediction: str, references: Sequence[str]) -> tuple[float, list[float]] | None:
        """The sentence's own score, and what it adds to the corpus."""
        if not references:
            return None
        said = words.answer(prediction)
        own = count_words(_bleu(), said, [words.line(text) for text in references])
        missing = self.pad and len(references) < words.REFERENCES
        score = _score(own, effective=True) if prediction.strip() else 0.0
        return score, count_words(_bleu(), said, words.padded(references)) if missing else own


@takes(BleuTottoOptions)
def bleu_totto(context: Context, options: BleuTottoOptions) -> BleuTotto:
    """BLEU by the official evaluation of ToTTo, with its overlap subsets. Needs loquent[metrics].

    Raises:
        MissingExtra: no sacrebleu.
    """
    _bleu()
    return BleuTotto(options.pad)


def _tally(own: Sequence[tuple[float, list[float]] | None], rows: Sequence[Row]) -> Tally:
    found = np.zeros((len(own), len(SUBSETS), COUNTS))
    for i, (one, row) in enumerate(zip(own, rows, strict=True)):
        told = overlap(row)
        if one is not None:
            found[i, [told in which for which in SUBSETS.values()]] = (1, *one[1])
    return found.reshape(len(own), len(SUBSETS) * COUNTS)


def _score(counts: Sequence[float], effective: bool = False) -> float:
    """BLEU from the counts of one sentence, or of all together."""
    score = float(_bleu(effective)._compute_score_from_stats(list(counts)).score)
    return min(1.0, score / 100)  # an exponential of logarithms may end a hair above


@cache
def _bleu(effective: bool = False) -> Any:
    """Sacrebleu's BLEU: 13a, n up to 4, exponential smoothing; with `effective` of the orders that a text has."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtra("bleu_totto (sacrebleu)", "metrics") from error
    return BLEU(effective_order=effective)
