"""Tokens with character offsets, in the style of the Penn Treebank, and sentences as ranges of tokens.

"don't" gives do, n't; "Harvard's" gives Harvard, 's; "$25.7" gives $, 25.7; "30%" gives 30, %; brackets,
commas and quotes stand alone; words with hyphens, abbreviations and numbers stay whole. The full stop at the
end of a sentence stands alone, so the splitter of the paper's code finds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Span = tuple[int, int]  # half-open: of characters, or of tokens

LETTER = r"[\w\u0300-\u036f]"  # combining marks belong to their word
TOKEN = re.compile(rf"{LETTER}+(?:(?:[-–./&@'’·]|(?<=\d)[,:](?=\d)){LETTER}+)*|([.\-*=~!?'`])\1+|\S")
SPACED = re.compile(r"[^ \t\r\n\f\v]+")  # the tokens of a text that is tokenised: no other space ends one
CLITIC = re.compile(r"(?<=\w)(n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
INITIALS = re.compile(r"(?:\w\.)*\w")  # the letters of "J." or "U.S."
NEXT = re.compile(r"\s+[\"'“‘(\[]*(\w+)?")
_ABBREVIATIONS = """
mr mrs ms dr prof rev hon gen col lt sgt capt maj gov sen rep st jr sr vs etc al inc ltd co corp dept univ ed
eds approx ca cf e.g i.e jan feb mar apr jun jul aug sep sept oct nov dec ave blvd mt ft esp est
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
NUMBERED = frozenset(("no", "nos", "fig", "figs", "vol", "pp"))  # abbreviations only before a number
_STARTERS = """
The It In He She They This These Those A An However But On At As For After By His Her Its
"""
STARTERS = frozenset(_STARTERS.split())  # words that begin a sentence after initials such as "U.S."
DELIMITERS = frozenset(".?!")
CLOSING = frozenset("\"'”’)]")


def tokens(text: str) -> list[Span]:
    """The character offsets of the tokens of a text, in order."""
    found: list[Span] = []
    for match in TOKEN.finditer(text):
        start, end = match.span()
        touches = text[start] == "." and end == start + 1 and found and found[-1][1] == start
        if touches and _abbreviated(text, found[-1], end):
            found[-1] = (found[-1][0], end)
            continue
        cut = _cut(text[start:end])
        found += [(start, start + cut), (start + cut, end)] if cut else [(start, end)]
    return found


def token_spans(text: str) -> list[Span]:
    """The character offsets of the tokens of a text whose tokens stand between spaces."""
    return [match.span() for match in SPACED.finditer(text)]


def lower_tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text in lower case."""
    return tuple(text[start:end].lower() for start, end in tokens(text))


def imrc(words: Sequence[str]) -> list[Span]:
    """The sentences of the paper's code: it cuts at " . ", " ? " and " ! ", from left to right.

    A delimiter belongs to no sentence, except that the last token of the text stays. A delimiter right after
    another one is no boundary, because the space between them is used up.
    """
    sentences, first, used = [], 0, True  # the text begins without a space
    for i, word in enumerate(words[:-1]):
        if word in DELIMITERS and not used:
            sentences.append((first, i))
            first, used = i + 1, True
        else:
            used = False
    sentences.append((first, len(words)))
    return [(a, b) for a, b in sentences if a < b]


def whole(words: Sequence[str]) -> list[Span]:
    """Sentences that keep their delimiters, closing quotes and brackets.

    Words that end in a delimiter, and are no abbreviations, end a sentence too.
    """
    sentences, first, i = [], 0, 0
    while i < len(words):
        i += 1
        if words[i - 1] in DELIMITERS or _ends(words[i - 1]):
            while i < len(words) and (words[i] in DELIMITERS or words[i] in CLOSING):
                i += 1
            sentences.append((first, i))
            first = i
    return [(a, b) for a, b in [*sentences, (first, len(words))] if a < b]


SPLITTERS = {"imrc": imrc, "whole": whole}


def _ends(word: str) -> bool:
    """Whether a word of a tokenised text has the delimiter of its sentence at its end."""
    letters = word[:-1]
    return (
        len(letters) > 1
        and word[-1] in DELIMITERS
        and letters[-1].isalnum()
        and letters.lower() not in ABBREVIATIONS
        and not _initials(letters)
    )


def _cut(word: str) -> int:
    """Where a word is cut in two: before a clitic, and inside "cannot"; 0: nowhere."""
    if word.lower() == "cannot":
        return 3
    match = CLITIC.search(word) if "'" in word or "’" in word else None
    return match.start() if match else 0


def _abbreviated(text: str, word: Span, end: int) -> bool:
    """Whether a full stop that ends at `end` belongs to the word before it."""
    following = NEXT.match(text, end)
    if following is None:  # the end of the text, or a character without a space between
        return end < len(text) and text[end] in ",;:-" and _initials(text[slice(*word)])
    letters, after = text[slice(*word)], following.group(1) or ""
    if end == len(text.rstrip()):
        return False
    numbered = letters.lower() in NUMBERED and after[:1].isdigit()
    if letters.lower() in ABBREVIATIONS or numbered or after[:1].islower():
        return letters[0].isalnum()
    return _initials(letters) and after not in STARTERS


def _initials(letters: str) -> bool:
    """Whether letters are one capital, or several with full stops between them."""
    return bool(INITIALS.fullmatch(letters)) and letters[0].isupper()
