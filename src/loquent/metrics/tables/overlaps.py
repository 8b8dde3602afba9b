"""The counts of PARENT: n-grams with their words in the table, and common subsequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from loquent.metrics.diversity.diversity import Gram, ngrams
from loquent.metrics.lexical.subsequences import lcs_length_at, places

Words = Sequence[str]


@dataclass(frozen=True, eq=False)
class Grams:
    """The n-grams of a text: counts, their total, and `in_table`.

    `in_table` is the number of words in the table, summed over all n-grams of the text.
    """

    n: int
    counts: Counter[Gram]
    total: int
    in_table: int


def grams(words: Words, table: Collection[str], n: int) -> Grams:
    """Count the n-grams of a text.

    The probability that the table entails an n-gram is the share of its words in the table (arXiv:1906.01081,
    eq. 4).
    """
    total = max(0, len(words) - n + 1)
    before = [0, *accumulate(word in table for word in words)]
    in_table = sum(before[begin + total] - before[begin] for begin in range(n)) if total else 0
    return Grams(n, Counter(ngrams(words, n)), total, in_table)


def shares(prediction: Grams, reference: Grams, table: Collection[str]) -> tuple[float, float]:
    """(precision, recall) of a prediction's n-grams against a reference's (eqs. 1, 2 and 6).

    Precision is the mean over the prediction's n-grams of 1 if the reference has the n-gram, else the share
    of its words in the table; 0 without n-grams. Recall is the share of the reference's n-grams that the
    prediction has, weighted by the share of their words in the table; 1 if all weights are 0.
    """
    common = in_table = 0
    for gram in prediction.counts.keys() & reference.counts.keys():
        hits = min(prediction.counts[gram], reference.counts[gram])
        common += hits
        in_table += hits * sum(word in table for word in gram)
    precision = 0.0
    if prediction.total:
        precision = (common + (prediction.in_table - in_table) / prediction.n) / prediction.total
    return precision, in_table / reference.in_table if reference.in_table else 1.0


def mention_share(values: Sequence[Words], words: Words) -> float:
    """The mean over values of the share of a value's words that a text has, in the value's order (eq. 7)."""
    at, length = places(words), len(words)
    return sum(lcs_length_at(value, at, length) / len(value) for value in values) / len(values)
