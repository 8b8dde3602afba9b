"""Placement of an answer's reward on tokens: the change of the score at the end of each piece.

Let s(x) be the reward of a text, and c_1 < ... < c_n the ends of the answer's pieces; c_n is the end of the
answer. Piece k earns s(answer[:c_k]) - s(answer[:c_{k-1}]), and the first piece s(answer[:c_1]). The sum is
s(answer), for any choice of pieces. A piece whose text has no score earns 0; the last piece gets the
remainder.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

SENTENCE = re.compile(r"""[.!?…。！？]+["'”’»)\]]*(?=\s|$)|\n+""")


def sentence_ends(text: str) -> list[int]:
    """The ends of the sentences of a text, in characters.

    A sentence ends after . ! ? … and closing quotes or brackets, before white space; and after a line break.
    The full stop of an abbreviation counts as an end too; the sum of the rewards does not depend on it.
    """
    return [match.end() for match in SENTENCE.finditer(text)]


def pieces(text: str, ends: Sequence[int], place: str) -> list[int]:
    """The ends of the pieces of an answer in ascending order, without the end of the text.

    Args:
        ends: for each token of the answer, the number of characters up to and including it.
        place: "sentence" or "token".
    """
    candidates = sentence_ends(text) if place == "sentence" else ends
    return sorted({end for end in candidates if 0 < end < len(text)})


def place_rewards(
    total: float, cuts: Sequence[int], scores: Sequence[float | None], ends: Sequence[int]
) -> tuple[float, ...]:
    """One reward per token, with sum `total`: the change of each piece, on the token that ends the piece.

    Args:
        cuts: the ends of the pieces, from `pieces`.
        scores: the reward of the text up to each cut; None: unchanged since the cut before.
        ends: for each token, the number of characters up to and including it; not empty, never decreasing.
    """
    gains = [0.0] * len(ends)
    before = 0.0
    for cut, score in zip(cuts, scores, strict=True):
        if score is None:
            continue
        gains[token_at(cut, ends)] += score - before
        before = score
    gains[token_at(ends[-1], ends)] += total - before  # an end marker after this token adds no text
    return tuple(gains)


def token_at(cut: int, ends: Sequence[int]) -> int:
    """The first token that reaches `cut` characters; the last token where none does."""
    return min(bisect_left(ends, cut), len(ends) - 1)
