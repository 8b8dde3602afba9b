"""Words in texts that are read through escapes: those of addresses, JSON, programs and HTML."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from html.entities import html5
from unicodedata import lookup

PASSES = 6  # escapes of escapes
ESCAPE = re.compile(
    r"%(?:u00)?([0-9a-f]{2})|\\(?:u0{6}|u00|x|u\{0{0,4})([0-9a-f]{2})\}?|\\([0-7]{2,3})"
    r"|\\n\{([a-z0-9 -]+)\}|\\([\"'/\\nrt])"
    r"|&#x0{0,5}([0-9a-f]{2});?|&#0{0,5}([0-9]{2,3});?|&(amp|lt|gt|quot|[a-z]{2,24}(?=;));?",
    re.IGNORECASE,
)
SPACE = re.compile(r"[\s\0\xad\u200b-\u200f\u2060\ufeff]+")  # breaks a line, or is not seen
SEPARATOR = re.compile(r"(?:[^0-9a-z]|0x)+")  # stands between the bytes of a hexadecimal or decimal text
WRITTEN = {"n": "\n", "r": "\r", "t": "\t"}
NAMED = {name.rstrip(";").lower(): letter for name, letter in html5.items() if len(letter) == 1}
Span = tuple[int, int]


def spans(text: str, plain: Collection[str], packed: Collection[str]) -> list[Span]:
    """Where a text has one of these words, in any case and with any escapes; joined where they overlap.

    Args:
        plain: words in lower case; between their letters nothing may stand but white space and marks that
            are not seen.
        packed: words in lower case, in which white space may stand (base64) or separators (hexadecimal), and
            numbers with a comma between them, for which there may be other separators.
    """
    found: list[Span] = []
    for passes, view in enumerate(unescape(text)):
        for gaps, mark in ((None, ""), (SPACE, ""), (SEPARATOR, ""), (SEPARATOR, ",")):
            words = packed if gaps is SEPARATOR else (*plain, *packed)
            searched = gaps.sub(mark, view) if gaps else view
            if any(word in searched for word in words):  # seldom, and only now places are needed
                found += _view(text, passes, gaps, mark).spans(words)
    joined: list[Span] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


class _View:
    """A text in lower case that was made from another one, and the place of each letter there.

    Letter i of segment k comes from `old[k] + i - new[k]`, and from `width[k]` letters.
    """

    def __init__(self, text: str, source: _View | None = None) -> None:
        self.text, self.source = text, source
        self.new, self.old, self.width = array("q"), array("q"), array("q")

    def rewritten(self, pattern: re.Pattern[str], write: Callable[[re.Match[str]], str]) -> _View:
        """The view with one letter, or none, in the place of each match."""
        parts: list[str] = []
        made, size, last = _View("", self), 0, 0
        for match in pattern.finditer(self.text):
            for piece, start, width in (
                (self.text[last : match.start()], last, 1),
                (write(match), match.start(), match.end() - match.start()),
            ):
                if piece:
                    parts.append(piece)
                    made._add(size, start, width)
                    size += len(piece)
            last = match.end()
        parts.append(self.text[last:])
        made._add(size, last, 1)
        made.text = "".join(parts)
        return made

    def _add(self, new: int, old: int, width: int) -> None:
        for column, value in zip((self.new, self.old, self.width), (new, old, width), strict=True):
            column.append(value)

    def spans(self, words: Collection[str]) -> Iterator[Span]:
        """Where the first text has one of these words."""
        for word in words:
            place = self.text.find(word)
            while place >= 0:
                yield self._place(place)[0], self._place(place + len(word) - 1)[1]
                place = self.text.find(word, place + len(word))

    def _place(self, letter: int) -> Span:
        if self.source is None:
            return letter, letter + 1
        segment = bisect_right(self.new, letter) - 1
        first = self.old[segment] + letter - self.new[segment]
        return self.source._place(first)[0], self.source._place(first + self.width[segment] - 1)[1]


def unescape(text: str) -> Iterator[str]:
    """The text in lower case, the same without its escapes, without the escapes of those, and so on."""
    view = _lower(text)
    yield view
    for _ in range(PASSES):
        before, view = view, ESCAPE.sub(_letter, view)
        if view == before:
            return
        yield view


def _view(text: str, passes: int, gaps: re.Pattern[str] | None, mark: str) -> _View:
    view = _View(_lower(text))
    for _ in range(passes):
        view = view.rewritten(ESCAPE, _letter)
    return view.rewritten(gaps, lambda _: mark) if gaps else view


def _lower(text: str) -> str:
    return text.replace("\u0130", "i").lower()  # the one letter whose lower case is two letters


def _letter(match: re.Match[str]) -> str:
    percent, byte, octal, long_name, one, hexadecimal, decimal, name = match.groups()
    if one:
        return WRITTEN.get(one, one)
    if name:
        return _lower(NAMED.get(name.lower(), "&"))
    if long_name:
        return _named(long_name)
    digits = percent or byte or hexadecimal
    code = int(digits, 16) if digits else int(octal, 8) if octal else int(decimal)
    return _lower(chr(code))


def _named(name: str) -> str:
    """The letter of a name in Unicode, as Python writes it; "n" for no name."""
    try:
        return _lower(lookup(name))
    except KeyError:
        return "n"
