"""PARENT (arXiv:1906.01081) as ToTTo computes it: precision and recall against references and the table.

    precision   geometric mean over n = 1..4 of the mean over n-grams of 1 if the reference has the n-gram,
                else the share of its words in the table
    recall      (recall of the reference's n-grams, weighted by the table)^(1-l)
                * (mean share of each highlighted value's words that the text has)^l,
                l = 1 - the same mean share for the reference
    F           2PR / (P + R + 1e-8), for the reference with the highest F

Zeros become 1e-5 before a geometric mean, except in the precision of words. The scores equal those of
`totto_parent_eval.py` of google-research/language (commit 09b33d15) with its own preparation of files,
divided by 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from typing import ClassVar

import numpy as np

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.metrics.shared_parts import Tally, with_means, without
from loquent.metrics.tables import overlaps, words
from loquent.metrics.tables.moses import detokenise
from loquent.metrics.tables.rows import Table, overlap, table_of

ORDERS = (1, 2, 3, 4)
SMOOTHING = 1e-5
SUBSETS = {"/overlap": (True,), "/nonoverlap": (False,)}
PARTS = ("", "/precision", "/recall")
SUBSET_KEYS = tuple(f"parent{subset}{part}" for subset in SUBSETS for part in PARTS)
Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ParentOptions:
    """Options of the metric `parent`."""

    pad: bool = setting(True, "fill up the references to three with '<null>', as in the official files")


@dataclass(frozen=True)
class TableWords:
    """A table as PARENT uses it: all its words, and the words of each highlighted value."""

    words: frozenset[str]
    values: tuple[Words, ...]


@dataclass(frozen=True)
class Parent(Share):
    """Per sample F, precision and recall; for the corpus their means.

    A sample without references, or without a highlighted cell or title, has no score.
    """

    pad: bool = True
    name: ClassVar[str] = "parent"
    needs: ClassVar[tuple[str, ...]] = ("table",)
    keys: ClassVar[tuple[str, ...]] = (*(f"parent{part}" for part in PARTS), *SUBSET_KEYS)
    corpus_only: ClassVar[tuple[str, ...]] = SUBSET_KEYS

    def __call__(self, samples: Samples) -> Measured:
        """Score predictions against their references and the tables of their rows.

        Raises:
            BadRow: a row has no table (see `tables.rows`).
        """
        scores = [
            self._score(text, texts, row)
            for text, texts, row in zip(samples.predictions, samples.references, samples.rows, strict=True)
        ]
        columns = {
            f"parent{part}": [None if values is None else values[i] for values in scores]
            for i, part in enumerate(PARTS)
        }
        measured, tally = with_means(columns), _tally(scores, [overlap(row) for row in samples.rows])
        total = np.array([math.fsum(column) for column in tally.T])
        corpus = measured.corpus | _of_tally(total)
        return replace(measured, corpus=corpus, leave_out=partial(without, _of_tally, tally, total))

    def _score(
        self, prediction: str, references: Sequence[str], row: Row
    ) -> tuple[float, float, float] | None:
        table = table_words(table_of(row))
        if not references or not table.values:
            return None
        lines = words.pad_references(references) if self.pad else tuple(map(words.line, references))
        answer = words.tokens(words.answer(prediction))
        return best(answer, [words.tokens(text) for text in dict.fromkeys(lines)], table)


@takes(ParentOptions)
def parent(context: Context, options: ParentOptions) -> Parent:
    """PARENT against references and the table (ToTTo). Needs loquent[metrics].

    Raises:
        MissingExtra: sacrebleu is not installed.
    """
    words.tokenizer_13a()
    return Parent(options.pad)


@lru_cache(maxsize=1 << 10)
def table_words(table: Table) -> TableWords:
    """The words of a table, detokenised as one line.

    Quotes open and close across cells, as in the official files.
    """
    all_words = frozenset(chain.from_iterable(map(words.tokens, _entries(table.values))))
    return TableWords(all_words, tuple(filter(None, map(words.tokens, _entries(table.highlighted)))))


def best(prediction: Words, references: Sequence[Words], table: TableWords) -> tuple[float, float, float]:
    """F, precision and recall against the reference with the highest F."""
    predicted = [overlaps.grams(prediction, table.words, n) for n in ORDERS]
    mentions = overlaps.mention_share(table.values, prediction) or SMOOTHING
    scores = []
    for reference in references:
        gold = [overlaps.grams(reference, table.words, n) for n in ORDERS]
        shares = [overlaps.shares(a, b, table.words) for a, b in zip(predicted, gold, strict=True)]
        precisions, recalls = zip(*shares, strict=True)
        precision = _geometric(precisions) if precisions[0] else 0.0
        reference_recall = _geometric(recalls) if recalls[0] else SMOOTHING
        share = 1.0 - overlaps.mention_share(table.values, reference)
        recall = math.exp((1.0 - share) * math.log(reference_recall) + share * math.log(mentions))
        scores.append((2.0 * precision * recall / (precision + recall + 1e-8), precision, recall))
    return max(scores)


def _tally(scores: Sequence[tuple[float, float, float] | None], subsets: Sequence[bool | None]) -> Tally:
    """float[samples, subsets * 4]: of each subset 1 and the scores; zeros for a sample outside of it."""
    tally = [
        [(1.0, *own) if own and value in values else (0.0,) * 4 for values in SUBSETS.values()]
        for own, value in zip(scores, subsets, strict=True)
    ]
    return np.array(tally, dtype=np.float64).reshape(-1, 4 * len(SUBSETS))


def _of_tally(total: Tally) -> dict[str, float]:
    """The means over the samples of each subset."""
    return {
        f"parent{subset}{part}": value / number
        for subset, (number, *sums) in zip(SUBSETS, total.reshape(-1, 4).tolist(), strict=True)
        for part, value in zip(PARTS, sums, strict=True)
        if number
    }


def _geometric(shares: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(share or SMOOTHING) for share in shares) / len(shares))


def _entries(values: Sequence[str]) -> list[str]:
    line = detokenise("\t".join(f"cell|||{value}" for value in values).lower())
    return [entry.partition("|||")[2] for entry in line.split("\t")] if values else []
