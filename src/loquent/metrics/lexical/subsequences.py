"""Longest common subsequences by bit vectors: one machine operation for 30 or more cells of the usual table.

Row i of the table, for the first i words of `left`, is an integer. Its bit j is 0 if column j + 1 is one more
than column j (Hyyrö, Bit-parallel LCS-length computation revisited, 2004).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """The number of words of a longest common subsequence."""
    return lcs_length_at(left, places(right), len(right))


def lcs_length_at(left: Sequence[str], right: Mapping[str, int], length: int) -> int:
    """The number of words of a longest common subsequence of `left` and a text of `length` words.

    `right` holds the `places` of that text, so that they are computed once for many `left`.
    """
    return _cell([_ones(length), *_rows(left, right, length)][-1], length)


def lcs_places(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """The places in `left` of the longest common subsequence that ROUGE reads out.

    The search starts at both ends and takes equal words. Otherwise it skips the word of `right` if that
    leaves a longer subsequence than skipping the word of `left`, else it skips the word of `left`.
    """
    rows = [_ones(len(right)), *_rows(left, places(right), len(right))]
    result, i, j = [], len(left), len(right)
    while i and j:
        if left[i - 1] == right[j - 1]:
            i, j = i - 1, j - 1
            result.append(i)
        elif _cell(rows[i], j - 1) > _cell(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return result[::-1]


def union_hits(reference: Sequence[Sequence[str]], prediction: Sequence[Sequence[str]]) -> int:
    """The number of the reference's words in a common subsequence with any line of the prediction.

    Source: Lin 2004, section 3.2.

    A word of the prediction counts once.
    """
    left = Counter(word for line in prediction for word in line)
    hits = 0
    for line in reference:
        for place in sorted(set().union(*(lcs_places(line, other) for other in set(map(tuple, prediction))))):
            if left[line[place]] > 0:
                left[line[place]] -= 1
                hits += 1
    return hits


def places(words: Sequence[str]) -> dict[str, int]:
    """For each word of a text an integer whose bit j is 1 if the word is at place j."""
    bits: dict[str, int] = {}
    for place, word in enumerate(words):
        bits[word] = bits.get(word, 0) | 1 << place
    return bits


def _rows(left: Sequence[str], right: Mapping[str, int], length: int) -> Iterator[int]:
    full = row = _ones(length)
    for word in left:
        matched = row & right.get(word, 0)
        if matched:
            row = (row + matched | row - matched) & full
        yield row


def _cell(row: int, column: int) -> int:
    return column - (row & _ones(column)).bit_count()


def _ones(count: int) -> int:
    return (1 << count) - 1
