"""What PARENT counts: n-grams with the share of their words that stand in the table, and longest common subsequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

Words = Sequence[str]
Gram = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Grams:
    """The n-grams of a text, and how many of their words stand in the table, all occurrences together: what PARENT needs of either side."""

    n: int
    counts: Counter[Gram]
    total: int
    known: int


def grams(words: Words, table: Collection[str], n: int) -> Grams:
    """Count the n-grams of a text; the probability that the table entails one is the share of its words there (arXiv:1906.01081, eq. 4)."""
    total = max(0, len(words) - n + 1)
    upto = [0, *accumulate(word in table for word in words)]
    known = sum(upto[begin + total] - upto[begin] for begin in range(n)) if total else 0
    return Grams(n, Counter(zip(*(words[i:] for i in range(n)), strict=False)), total, known)


def shares(found: Grams, wanted: Grams, table: Collection[str]) -> tuple[float, float]:
    """(precision, recall) of a prediction's n-grams against a reference's (eqs. 1, 2 and 6).

    Precision is the share of n-grams that the reference has, or else of their words that the table has, 0 without any; recall that of the
    reference's, weighted by the share of their words in the table, 1 where they weigh nothing.
    """
    both = known = 0
    for gram in found.counts.keys() & wanted.counts.keys():
        hits = min(found.counts[gram], wanted.counts[gram])
        both += hits
        known += hits * sum(word in table for word in gram)
    precision = (both + (found.known - known) / found.n) / found.total if found.total else 0.0
    return precision, known / wanted.known if wanted.known else 1.0


def places(words: Words) -> dict[str, int]:
    """For each word of a text the bits of the places where it stands."""
    bits: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        bits.setdefault(word, []).append(place)
    return {word: sum(1 << place for place in there) for word, there in bits.items()}


def common(value: Words, there: dict[str, int], length: int) -> int:
    """The length of the longest common subsequence of a value and a text of `length` words whose `places` are known.

    Each zero of `row` is a place where one more word of the value is matched (Hyyrö 2004): a word costs a few operations on whole integers.
    """
    every = row = (1 << length) - 1
    for word in value:
        match = row & there.get(word, 0)
        if match:
            row = ((row + match) | (row - match)) & every
    return length - row.bit_count()


def mentioned(values: Sequence[Words], words: Words) -> float:
    """The mean over values of the share of each that a text has in its order (eq. 7)."""
    there, length = places(words), len(words)
    return sum(common(value, there, length) / len(value) for value in values) / len(values)
