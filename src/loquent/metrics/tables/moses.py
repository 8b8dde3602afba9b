"""English detokenisation by the rules of the Moses toolkit, as ToTTo's evaluation runs it.

The rules are those of `detokenizer.perl -l en` (commit 07de444c). Single spaces separate words. Currency
signs and opening brackets join the next word, closing marks the previous word. Quotes of one kind open and
close in turn. An apostrophe joins a word that it shortens, and a plural in s. Chinese, Japanese and Korean
words join each other. Letters are those of `str.isalpha`; Perl also counts vowel signs that are written as
marks.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

ESCAPES = {
    "&bar;": "|",
    "&#124;": "|",
    "&lt;": "<",
    "&gt;": ">",
    "&bra;": "[",
    "&ket;": "]",
    "&quot;": '"',
    "&apos;": "'",
    "&#91;": "[",
    "&#93;": "]",
    "&amp;": "&",
}
CJK = (
    (0x1100, 0x11FF),
    (0x2E80, 0xA4CF),
    (0xA840, 0xA87F),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF65, 0xFFDC),
    (0x20000, 0x2FFFF),
)
CURRENCY = frozenset(chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) == "Sc")
OPENING = CURRENCY | frozenset("([{¿¡")
CLOSING = frozenset(",.?!:;\\%}])")
QUOTES = frozenset("'\"„“`")
DOUBLE = frozenset("„“”")
TAGGED = re.compile(r"<.+>|\s*")
PLAIN = re.compile(r"[a-z0-9]", re.IGNORECASE | re.ASCII)


def detokenise(text: str) -> str:
    """One line without the spaces that a tokenizer inserted.

    A blank line or a single tag (`<null>`) is unchanged.
    """
    if TAGGED.fullmatch(text):
        return text
    text = f" {text} ".replace(" @-@ ", "-")
    if "&" in text:
        for escape, sign in ESCAPES.items():
            text = text.replace(escape, sign)
    words = text.split(" ")
    while words and not words[-1]:
        words.pop()
    return re.sub(" +", " ", "".join(_pieces(words))).strip(" ")


def _pieces(words: list[str]) -> list[str]:
    """The words, each with the space that belongs before it."""
    pieces: list[str] = []
    quotes: dict[str, int] = {}
    space, before = " ", ""
    for word in words:
        left = right = False  # whether the word joins the previous word, and the next word
        if word and not PLAIN.match(word):
            letters = frozenset(word)
            if is_cjk(word[0]):
                left = bool(before) and is_cjk(before[-1])
            elif letters <= OPENING:
                right = True
            elif letters <= CLOSING or (
                word[0] == "'" and word[1:2].isalpha() and _is_alphanumeric(before[-1:])
            ):
                left = True
            elif letters <= QUOTES:
                left, right = _quote(word, before, quotes)
        pieces.append(word if left else space + word)
        space, before = "" if right else " ", word
    return pieces


def _quote(word: str, before: str, quotes: dict[str, int]) -> tuple[bool, bool]:
    """Whether a quote joins the previous word, and whether it joins the next word.

    The quote opens or closes a quotation, or is the apostrophe of a plural.
    """
    kind = '"' if frozenset(word) <= DOUBLE else word
    if quotes.get(kind, 0) % 2 == 0 and word == "'" and before.endswith("s"):
        return True, False
    quotes[kind] = quotes.get(kind, 0) + 1
    opens = quotes[kind] % 2 == 1
    return not opens, opens


@lru_cache(maxsize=1 << 12)
def is_cjk(letter: str) -> bool:
    """Whether a character is Chinese, Japanese or Korean."""
    return any(low <= ord(letter) <= high for low, high in CJK)


def _is_alphanumeric(letter: str) -> bool:
    return letter.isalpha() or letter.isdecimal()
