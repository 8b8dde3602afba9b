"""Longest common subsequences by bit vectors: one machine operation for 30 or more cells of the usual table.

Row i of the table, for the first i words of `left`, is kept as the integer whose bit j is 0 where column j + 1 is one more than
column j (Hyyrö, Bit-parallel LCS-length computation revisited, 2004).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """The number of words of a longest common subsequence."""
    return _cell([_ones(len(right)), *_rows(left, right)][-1], len(right))


def lcs_places(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """The places in `left` of one longest common subsequence: the one that ROUGE reads out.

    From the ends of both, equal words are taken; otherwise a word of `right` is passed over if only that loses nothing, else one of `left`.
    """
    rows = [_ones(len(right)), *_rows(left, right)]
    places, i, j = [], len(left), len(right)
    while i and j:
        if left[i - 1] == right[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif _cell(rows[i], j - 1) > _cell(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return places[::-1]


def union_hits(wanted: Sequence[Sequence[str]], said: Sequence[Sequence[str]]) -> int:
    """Words of the wanted lines that lie in a common subsequence with any of the said lines; a said word counts once (Lin 2004, 3.2)."""
    left = Counter(word for line in said for word in line)
    hits = 0
    for line in wanted:
        for place in sorted(set().union(*(lcs_places(line, other) for other in set(map(tuple, said))))):
            if left[line[place]] > 0:
                left[line[place]] -= 1
                hits += 1
    return hits


def _rows(left: Sequence[str], right: Sequence[str]) -> Iterator[int]:
    places: dict[str, int] = {}
    for j, word in enumerate(right):
        places[word] = places.get(word, 0) | 1 << j
    full = row = _ones(len(right))
    for word in left:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & full
        yield row


def _cell(row: int, j: int) -> int:
    return j - (row & _ones(j)).bit_count()


def _ones(count: int) -> int:
    return (1 << count) - 1
