"""A page with its tables and figures made anew."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from pathlib import Path

from tools.pages import claims, prose, tables
from tools.pages.records import ROOT, Problem, node

MARKER = re.compile(r"<!--\s*(?:table|claims|settings)\b[^>\n]*>?")
COMMENT = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """All pages whose tables and figures are made."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("*.md")), docs / "results" / "README.md"]


def key(page: Path) -> str:
    """The name of a page among the specifications of tables."""
    return page.parent.name if page.parent.name == "results" else page.stem


def make(text: str, page: str) -> tuple[str, list[str]]:
    """The text of a page made anew, and what is wrong with it: figures without a source, unknown records."""
    if page == "known":  # these imports of programs that import torch stand where they are needed
        from tools.known import page as known

        return known.text(), []
    wrong = []

    def block(match: re.Match[str]) -> str:
        begin, kind, name, _, end = match.groups()
        try:
            return begin + _block(kind, page, name) + end
        except Problem as problem:
            wrong.append(str(problem))
            return match[0]

    new, faults = prose.fill(prose.MADE.sub(block, text))
    return new, wrong + _markers(text, page) + faults


def _markers(text: str, page: str) -> list[str]:
    """Markers that mark nothing, and tables without exactly one marker."""
    comments = {match.start() for match in COMMENT.finditer(text) if match[0].startswith("<!--")}
    made = {match.start(2) - len("<!-- "): match for match in prose.MADE.finditer(text)}
    named = Counter(match[3] for at, match in made.items() if at in comments and match[2] == "table")
    return [
        f"the marker {match[0]!r} marks nothing: begin a line with it, outside code and comments, and a later"
        " line with `<!-- end -->`"
        for match in MARKER.finditer(text)
        if match.start() not in made.keys() & comments
    ] + [
        f"docs/results/tables/{page}.yaml, {name}: the page has {named[name]} markers, where it needs one"
        for name in tables.names_of(page)
        if named[name] != 1
    ]


def strays() -> list[str]:
    """Files of specifications that are for no page."""
    known = set(map(key, pages()))
    files = sorted(tables.SPECIFICATIONS.glob("*.yaml"))
    return [f"docs/results/tables/{file.name} is for no page" for file in files if file.stem not in known]


def _block(kind: str, page: str, name: str) -> str:
    """What stands between markers."""
    if kind == "claims":
        return claims.lines(node(name))
    if kind == "table":
        return tables.make(page, name)
    from tools.studies import defaults_page

    return defaults_page.table(name)


def problems(text: str, page: str) -> list[str]:
    """What is wrong with a page: as `make`, and the lines that are not as their records make them."""
    new, wrong = make(text, page)
    lines = difflib.unified_diff(text.splitlines(), new.splitlines(), lineterm="", n=0)
    return wrong + [line for line in lines if not line.startswith(("---", "+++", "@@"))]
