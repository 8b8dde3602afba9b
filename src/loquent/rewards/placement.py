"""Where the score of an answer stands: at the end of each sentence or token, what that changed in the score of what was said so far.

With s(x) the score of a text as it counts, and c_1 < ... < c_n the places where pieces of the answer end, the last being its own end,
piece k earns s(answer[:c_k]) - s(answer[:c_{k-1}]), the first one s(answer[:c_1]). These add up to s(answer), whatever the places are.
A piece whose text has no score changes nothing; the rest is the last piece's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

SENTENCE = re.compile(r"""[.!?…。！？]+["'”’»)\]]*(?=\s|$)|\n+""")


def sentence_ends(text: str) -> list[int]:
    """Where the sentences of a text end, in characters: behind . ! ? … and what closes quotes or brackets, before white space; and behind
    a line break. An abbreviation's full stop counts too: the total does not depend on it."""
    return [match.end() for match in SENTENCE.finditer(text)]


def pieces(text: str, ends: Sequence[int], place: str) -> list[int]:
    """Where the pieces of an answer end, ascending, the end of the text left out: they are what is scored beside the whole.

    Args:
        ends: how many characters are said with each token of the answer.
        place: "sentence" or "token".
    """
    found = sentence_ends(text) if place == "sentence" else ends
    return sorted({end for end in found if 0 < end < len(text)})


def placed(total: float, cuts: Sequence[int], scores: Sequence[float | None], ends: Sequence[int]) -> tuple[float, ...]:
    """One number per token, adding up to `total`: what each piece changed, on the token with which it ends.

    Args:
        cuts: from `pieces`. scores: what counts for the text up to each of them; None: as before.
        ends: how many characters are said with each token, at least one token; never fewer than with the one before.
    """
    gains = [0.0] * len(ends)
    before = 0.0
    for cut, score in zip(cuts, scores, strict=True):
        if score is None:
            continue
        gains[token_at(cut, ends)] += score - before
        before = score
    gains[token_at(ends[-1], ends)] += total - before  # with that token all is said; an end marker behind it says nothing more
    return tuple(gains)


def token_at(cut: int, ends: Sequence[int]) -> int:
    """The first token with which so many characters are said; the last one where none says them."""
    return min(bisect_left(ends, cut), len(ends) - 1)
