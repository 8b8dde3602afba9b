"""When two tokens are similar: equal stems, or few edits apart."""

from __future__ import annotations

from functools import lru_cache

ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ies", "ied", "ers", "est", "ed", "es", "er", "ly", "s")
DOUBLING = ("ings", "ing", "ers", "est", "ed", "er")  # they double a last letter, as in stopped
STEM = 3  # the shortest stem, in letters
EDITS = ((5, 1), (9, 2))  # (shortest word, edits): words of at least 5 letters may differ by 1, of 9 by 2


@lru_cache(maxsize=1 << 16)
def similar(a: str, b: str) -> bool:
    """Whether two tokens in lower case are equal, have one stem, or are few edits apart.

    Tokens with digits are similar only when they are equal: 1998 is not 1999.
    """
    if a == b:
        return True
    if not (a.isalpha() and b.isalpha()):
        return False
    if stem(a) == stem(b):
        return True
    allowed = max((edits for length, edits in EDITS if min(len(a), len(b)) >= length), default=0)
    return abs(len(a) - len(b)) <= allowed and _within(a, b, allowed)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The word without one ending of inflection, at least 3 letters; y and e at its end do not count."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM:
            word = word[: -len(ending)]
            if ending in DOUBLING and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > STEM and word[-1] in "eyi" else word


def _within(a: str, b: str, allowed: int) -> bool:
    """Whether the edit distance (insert, delete, replace) of two words is at most `allowed`."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        previous, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (letter != other)))
        if min(row) > allowed:
            return False
    return row[-1] <= allowed
