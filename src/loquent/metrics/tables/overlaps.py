"""What PARENT counts: n-grams with the share of their words that stand in the table, and longest common subsequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

Words = Sequence[str]
Gram = tuple[str, ...]
Grams = dict[Gram, tuple[int, float]]  # how often it occurs, and the share of its words in the table


def grams(words: Words, table: Collection[str], n: int) -> Grams:
    """The n-grams of a text: count, and entailment probability by word overlap (arXiv:1906.01081, eq. 4)."""
    counts = Counter(zip(*(words[i:] for i in range(n)), strict=False))
    return {gram: (count, sum(word in table for word in gram) / n) for gram, count in counts.items()}


def precision(found: Grams, wanted: Grams) -> float:
    """The share of a prediction's n-grams that the reference or the table has; 0 without any (eqs. 1 and 2)."""
    total = sum(count for count, _ in found.values())
    right = 0.0
    for gram, (count, entailed) in found.items():
        there = min(1.0, wanted[gram][0] / count) if gram in wanted else 0.0
        right += count * (there + (1.0 - there) * entailed)
    return right / total if total else 0.0


def recall(found: Grams, wanted: Grams) -> float:
    """The share of the reference's n-grams, weighted by how far the table has them, that the prediction has; 1 where they weigh nothing (eq. 6)."""
    total = right = 0.0
    for gram, (count, entailed) in wanted.items():
        weight = count * entailed
        total += weight
        if weight and gram in found:
            right += weight * min(1.0, found[gram][0] / count)
    return right / total if total else 1.0


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
