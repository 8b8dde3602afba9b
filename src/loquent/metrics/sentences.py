"""A rule-based splitter of texts into sentences. It needs no data of a library."""

from __future__ import annotations

import re

END = re.compile(r"""[.!?…]+['"’”)\]]*(?=\s)|[。！？]+[」』”]*|\n\s*\n""")
BEGIN = re.compile(r"""\s*['"‘“(\[]*[^\W_]""")
INITIALS = re.compile(r"(?!i$)[^\W\d_](?:\.[^\W\d_])*")
TITLE = re.compile(
    "capt|cf|col|dr|eg|eq|eqs|fig|figs|gen|gov|hon|ie|lt|messrs|mr|mrs|ms|mt|prof|rep|rev|sen|sgt|st|ste|vs"
)
SHORT = re.compile(
    "al|approx|apr|aug|ave|ca|ch|co|corp|dec|dept|ed|est|etc|feb|ft|inc|jan|jr|jul|jun|ltd|mar|no|nos|nov|oct|pp|sec|sep|sept|sr|univ|vol|vols"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space around them.

    A sentence ends at . ! ? and closing quotes before white space, and at an empty line. A full stop is no
    end after initials (U.S.) or a title (Dr.), after another abbreviation before a number, or before a
    lower-case letter.
    """
    parts, start = [], 0
    for match in END.finditer(text):
        if _ends(text, start, match):
            parts.append(text[start : match.end()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match.group()
    if mark[0] in "。！？\n":
        return True
    follows = BEGIN.match(text, match.end())
    if follows and follows.group()[-1].islower() and mark[0] in ".…":
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    before = text[max(start, match.start() - 30) : match.start()]
    word = re.split(r"\s", before)[-1].lstrip("'\"‘“([").lower()
    if TITLE.fullmatch(word):
        return False
    if SHORT.fullmatch(word):
        return not (follows and follows.group()[-1].isdigit())
    return not INITIALS.fullmatch(word)
