"""Figures in the sentences of a page, filled from `docs/results` by the comment behind them.

    PPO raises it from 0.634 to 0.775 with 3 seeds in 20 minutes.
    <!-- figures: grue.jsonl 1 cells.CommonGen | supervised.reward | ppo.reward | 3 | ppo.seconds / 60 -->

A comment accounts for every number since the comment before it, or since the heading, in order: a file with
its line and path, then for each number a path or a calculation (`records.calculate`), or the number itself
if nobody measured it (a setting). A figure keeps its form: digits, commas, sign. On a page with such a
comment or a table every number needs an entry. On other pages numbers with decimals, per cent or a unit need
`<!-- given: 0.05 -->`, or `<!-- tested: TEST 0.05 -->` for what a test computes. Number words before "of",
"seeds", "runs", "tasks", "rows" and "games", and code that is a number alone count on pages with results.
Numbers in other code, in tables that are made, in links and headings, names (GPT-2) and references (table 5)
do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tools.pages.records import ROOT, SOURCE, Problem, as_number, calculate, node, number
from tools.pages.templates import round_half_up

COMMENT = re.compile(r"<!-- (figures|given|tested): (.*?)-->", re.DOTALL)
FIGURE = re.compile(
    r"(?<![^\W_])(?<![.,])(?<![^\W\d]-)[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?<=\d)(?:e-?\d+)?"
    r"(?=(?!(?:st|nd|rd|th)\b)[A-Za-zµ]{0,3}(?![^\W_]))(?!\.\d)"
)
WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b(?=\s(?:of|seeds|runs|tasks|rows|games)\b)", re.IGNORECASE)
MADE = re.compile(
    r"^( *<!-- (table|claims|settings): ([^>\n]+) -->\n)(.*?)^( *<!-- end -->)", re.MULTILINE | re.DOTALL
)
RESULT = re.compile("<!-- (?:figures|table|claims): ")
UNIT = re.compile(r" ?%| (?:seconds|minutes|hours|times)\b")
HIDDEN = re.compile(
    r"^ *<!-- (?:table|claims|settings): [^>\n]+ -->\n.*?^ *<!-- end -->|<!--.*?-->|^```.*?^```$|^#[^\n]*"
    r"|`[^`\n]*`"
    r"|\]\([^)]*\)|https?://\S+|arXiv:\S+|\b\d{4}\.\d{4,5}\b|^\s*\d+\. "
    r"|\b(?:(?:[Ss]ec(?:tions?|\.)|[Aa]ppendix) (?:[A-Z]\.)?[1-9]\d?(?:\.\d+)*(?: and [A-Z1-9][.\d]*\d)?"
    r"|(?:[Tt]able|[Ff]igure|[Ee]quation|[Pp]age|[Ll]ine|[Vv]ersion) [A-Z]?\d+"
    r"|(?:[Tt]ables|[Ff]igures|[Ee]quations|[Pp]ages|[Ll]ines|[Vv]ersions) \d+(?:, \d+)*(?: and| to) \d+"
    r"|[Vv]ersion \d+\.\d+\.\d+|Python 3\.\d+)(?!\.?\d| ?%| percent\b)",
    re.DOTALL | re.MULTILINE,
)
BARE = re.compile(r"`(?:[^`A-Za-z\n]|(?<=\d)e(?=[-\d]))*`")
Span = tuple[int, int]


def numbers(text: str, has_results: bool = True) -> list[Span]:
    """The places of the numbers of a text, without code, comments and the rest of `HIDDEN`."""

    def mask(found: re.Match[str]) -> str:
        is_number = has_results and BARE.fullmatch(found[0])
        return found[0] if is_number else re.sub(r"[^\n]", "\0", found[0])

    masked = HIDDEN.sub(mask, text)
    kinds = (FIGURE, WORD) if has_results else (FIGURE,)
    return sorted(match.span() for kind in kinds for match in kind.finditer(masked))


def sections(text: str) -> Iterator[Span]:
    """The places of the sections of a page, from one heading to the next."""
    masked = re.sub(r"^```.*?^```$", lambda found: re.sub("[^\n]", "\0", found[0]), text, flags=re.M | re.S)
    starts = [0, *(match.start() for match in re.finditer(r"^#", masked, re.M)), len(text)]
    return pairwise(starts)


def like(printed: str, exact: float) -> str:
    """A value in the form of a printed number; from two to twelve a word stays one."""
    if printed.lower() in WORDS:
        word = WORDS[round(exact) - 2] if 2 <= round(exact) <= 12 else f"{exact:.0f}"
        return word.capitalize() if printed.istitle() else word
    mantissa, _, power = printed.partition("e")
    digits = len(mantissa.partition(".")[2])
    if power:
        exact /= 10.0 ** int(power)
    comma = "," if "," in mantissa or abs(exact) >= 10_000 else ""
    text = round_half_up(exact, f"{'+' * (printed[0] == '+')}{comma}.{digits}f")
    if re.match(r"[-+]?\.", printed):
        text = text.replace("0.", ".", 1)
    return text + f"e{power}" * bool(power)


def fill(text: str) -> tuple[str, list[str]]:
    """A page with its figures filled from their records, and what is wrong with it."""
    given, wrong, parts = None if RESULT.search(text) else _constants(text), [], []
    for start, end in sections(text):
        new, faults = _section(text[start:end], given)
        parts.append(new)
        title = text[start:end].strip().partition("\n")[0][:60]
        wrong += [f"{fault} ({title})" for fault in faults]
    return "".join(parts), wrong + _tests(text)


def _constants(text: str) -> set[str]:
    """The numbers that the page names as settings or as figures of tests."""
    bodies = [body.split() for kind, body in COMMENT.findall(text) if kind != "figures"]
    words = {word.rstrip("%") for body in bodies for word in body}
    return words | {word.removeprefix("0.") for word in words}


def _tests(text: str) -> list[str]:
    """Figures that are no number in the file of the test that the page names for them."""
    wrong = []
    for file, *words in (body.split() or [""] for kind, body in COMMENT.findall(text) if kind == "tested"):
        if not file or not (ROOT / file).is_file():
            wrong.append(
                f"there is no file {file}, which `tested` names" if file else "`tested` names no file"
            )
            continue
        code = (ROOT / file).read_text(encoding="utf-8")
        whole = (rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)" for word in words)
        wrong += [
            f"{word} is not in {file}" for word, is_in in zip(words, whole) if not re.search(is_in, code)
        ]
    return wrong


def _section(text: str, given: set[str] | None) -> tuple[str, list[str]]:
    """A section as `fill` makes it; without `given` every number needs an entry."""
    places, wrong = numbers(text, given is None), []
    comments = [match for match in COMMENT.finditer(text) if match[1] == "figures"]
    changes: list[tuple[Span, str]] = []
    start = 0
    for comment in comments:
        spans = [span for span in places if start <= span[0] < comment.start()]
        start = comment.end()
        try:
            changes += _changes(text, spans, comment[2])
        except Problem as problem:
            wrong.append(str(problem))
    for first, last in places:
        constant = given is not None and (text[first:last] in given or not _is_figure(text, (first, last)))
        if first >= start and not constant:
            wrong.append(f"{text[first:last]!r} has no source: {text[max(first - 30, 0) : last + 20]!r}")
    for (first, last), new in reversed(changes):
        text = text[:first] + new + text[last:]
    return text, wrong


def _is_figure(text: str, span: Span) -> bool:
    """Whether a number has decimals, an exponent or a unit."""
    return not text[slice(*span)].lstrip("+-").replace(",", "").isdigit() or bool(UNIT.match(text, span[1]))


def entries(body: str) -> list[tuple[Any, str]]:
    """The entries of a comment, each with the node that its paths begin at."""
    found, base = [], None
    for entry in filter(None, (part.strip() for part in re.split(r" \| |\n", body))):
        if SOURCE.fullmatch(entry):
            base = node(entry)
        else:
            found.append((base, entry))
    return found


def _changes(text: str, spans: list[Span], body: str) -> Iterator[tuple[Span, str]]:
    """The places of numbers with their texts from the records."""
    known, printed = entries(body), [text[slice(*span)] for span in spans]
    if len(known) != len(printed):
        raise Problem(
            f"{len(printed)} numbers ({' '.join(printed)}) for {len(known)} entries of {body.strip()[:80]!r}"
        )
    for span, old, (base, entry) in zip(spans, printed, known, strict=True):
        if FIGURE.fullmatch(entry) or entry in WORDS:
            if entry not in (old, old.lower()):
                raise Problem(f"{old!r} should be {entry!r}, a setting in {body.strip()[:80]!r}")
            continue
        exact = calculate(base, entry)
        if isinstance(exact, str) and FIGURE.fullmatch(exact):
            exact = number(exact)
        yield span, like(old, as_number(exact, entry))
