"""Find the measured figures of a page and the sources that the page names for them.

A figure is a number with decimals, a percentage, or a number of seconds, minutes or times, outside code.
Comments name its source. They are valid for their section (from one heading to the next):

    <!-- results: wordle.jsonl 1 cells
    -5.51 clone.return
    12 % clone.seconds * 100 / all.seconds
    -->
    <!-- table: speed.jsonl * printed -->
    <!-- tested: tests/training/estimates/test_estimate.py 1.5 -->
    <!-- given: 0.05 0.95 -->

`results` gives a file of docs/results, a line of it (`*`: the list of all lines) and a path that all paths of
the comment begin with; then a figure and its path on each line, or a small calculation. `table` is for the
next table: each row is named by its first cell, and its numbers must be in the record with that name.
`tested` names a test in which the figures stand.
`given` lists settings and constants, which nobody measured; it is valid for the page. Published tables (after
a line that begins with "Published (NAME;") must hold the figures of bench/papers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loquent.bench.schema import paper_tables
from tools.pages import records as results

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e-?\d+)?"
ANY = re.compile(rf"(?<![\w.,])[-+]?(?=\.?\d){NUMBER}(?![\w])")
UNIT = r"(?= ?%| (?:seconds|minutes|times)\b)"
FIGURE = re.compile(rf"(?<![\w.,])([-+]?(?=[\d,]*\.\d|\d+e-\d){NUMBER}(?!\.?\w)|(?=\d){NUMBER}{UNIT})")
RUNS = re.compile(r"\.(rounds|values)\.")  # single runs, of which tables print the mean
COMMENT = re.compile(r"<!--\s*(results|table|tested|given):\s*(.*?)-->", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|^    (?! *-)[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NOISE = re.compile(
    r"<!--.*?-->|\]\([^)]*\)|https?://\S+|arXiv:\S+|\b\d{4}\.\d{4,5}\b|[Ss]ec(?:tion|\.) [\d.]+", re.DOTALL
)


def value(text: str) -> float:
    return float(text.replace(",", ""))


def agrees(text: str, exact: float) -> bool:
    """Whether a printed number is the exact one, rounded to the printed digits."""
    mantissa, _, power = text.partition("e")
    digits = len(mantissa.partition(".")[2]) - int(power or 0)
    return abs(value(text) - exact) <= 0.5 * 10**-digits + 1e-9


def leaves(node: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """All numbers below a node with their paths, those in texts such as "0.5 ± 0.1" included."""
    if isinstance(node, dict | list):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for name, below in pairs:
            yield from leaves(below, f"{key}.{name}")
    elif isinstance(node, str):
        if re.fullmatch(rf"[-+]?{NUMBER}(?: ± {NUMBER})?", node) and node:
            yield from ((key, value(number)) for number in ANY.findall(node))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield key, float(node)


def lines(source: str) -> Iterator[Any]:
    """The nodes of "FILE LINE PATH"."""
    file, line, *path = source.split(" ", 2)
    for index, text in enumerate((RESULTS / file).read_text().splitlines(), 1):
        if line in ("*", str(index)):
            yield results.walk(results.within_ranges(json.loads(text), file), path[0] if path else "")


def calculated(node: Any, text: str, figure: str) -> float:
    """A path, or paths and numbers with operators between spaces, from left to right.

    If the path leads to a note, it is the number in it that is nearest to the figure.
    """
    first, *rest = re.split(r" ([-+*/]) ", text.strip())

    def term(part: str) -> float:
        if re.fullmatch(r"\d*\.?\d+", part):
            return float(part)
        found = results.walk(node, part)
        if isinstance(found, str):
            return min(map(value, ANY.findall(found)), key=lambda number: abs(number - value(figure)))
        return float(found)

    total = term(first)
    for sign, part in zip(rest[::2], rest[1::2], strict=True):
        other = term(part)
        total = {"+": total + other, "-": total - other, "*": total * other}.get(sign, total / (other or 1))
    return total


def sections(text: str) -> list[str]:
    hidden = re.sub(
        r"^```.*?^```$",
        lambda block: re.sub(r"^#", " ", block[0], flags=re.MULTILINE),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    return re.split(r"^(?=#)", hidden, flags=re.MULTILINE)


def plain(text: str) -> str:
    """A text without code, comments, links and numbers of papers and sections."""
    return NOISE.sub("]", CODE.sub("]", text))


def sourced(section: str) -> tuple[set[str], list[str]]:
    """The figures that the comments of a section name, and what is wrong with them."""
    good, wrong = set(), []
    for kind, body in COMMENT.findall(section):
        if kind == "tested":
            file, *figures = body.split()
            wrong += [
                f"{figure} is not in {file}" for figure in figures if figure not in (ROOT / file).read_text()
            ]
            good |= {*figures, *(figure.removeprefix("0.") for figure in figures)}  # 0.44 may be written 44%
        if kind != "results":
            continue
        source, *entries = body.strip().splitlines()
        nodes = list(lines(source.strip()))
        node = nodes if " * " in f"{source} " else nodes[0]
        for entry in filter(None, map(str.strip, entries)):
            figure, path = re.fullmatch(r"(\S+?)(?: ?%)? (.+)", entry).groups()
            exact = calculated(node, path, figure)
            if not agrees(figure, exact):
                wrong.append(f"{figure} is {exact:.6g} in {source.strip()} {path}")
            if not re.search(rf"(?<![\w.,]){re.escape(figure)}(?!\w)", plain(section)):
                wrong.append(f"{figure} is not in the section of its source")
            good.add(figure)
    return good, wrong


def named(records: list[Any], name: str) -> list[Any]:
    """The records with this name, as their key or as one of their texts or the end of it."""
    return [
        record
        for key, record in records
        if name
        and (
            key == name
            or any(
                isinstance(text, str) and (text == name or text.endswith(f", {name}"))
                for text in record.values()
            )
        )
    ]


def table_rows(block: str) -> Iterator[list[str]]:
    for line in block.splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+$", line):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def ends(cell: str) -> Iterator[tuple[str, str]]:
    """The numbers of a cell; those in brackets are the two ends of an interval."""
    for part in re.split(r"(\[[^\]]*\])", cell):
        numbers = ANY.findall(part)
        bounds = ("low", "high") if part.startswith("[") else [""] * len(numbers)
        yield from zip(numbers, bounds, strict=True)


def bound(path: str) -> str:
    return path.rpartition(".")[2] if path.endswith((".low", ".high")) else ""


def table(source: str, block: str) -> tuple[str, list[str]]:
    """A table without the rows that agree with their records, and what is wrong in the rows that do not."""
    records = []
    for part in source.split(";"):
        for node in lines(part.strip()):
            rows = enumerate(node) if isinstance(node, list) else node.items()
            records += [(str(key), row) for key, row in rows] if not _is_record(node) else [("", node)]
    head, *rows = table_rows(block)
    rest, wrong = [], []
    for cells in rows:
        found = named(records, cells[0].replace("`", ""))
        if not found:
            rest.append(" | ".join(cells))
            continue
        for title, cell in zip(head[1:], cells[1:], strict=True):
            if not re.fullmatch(r"[-+\d\s\[\],.±%→:]+", cell):
                continue
            word = re.sub(r"[^\w]+", "_", title).strip("_")
            known = [pair for record in found for pair in leaves(record) if not RUNS.search(pair[0])]
            known = [pair for pair in known if f".{word}" in pair[0]] or known
            wrong += [
                f"{cells[0]}, {title}: {number} is not in {source}"
                for number, end in ends(cell)
                if not any(agrees(number, exact) for path, exact in known if bound(path) == end)
            ]
    return "\n".join(rest), wrong


def _is_record(node: Any) -> bool:
    return isinstance(node, dict) and any(not isinstance(item, dict | list) for item in node.values())


def paper_table(name: str, block: str) -> list[str]:
    """The cells of a published table that are not in the row of the paper that the last cell names."""
    tables = paper_tables.load(name).tables.values()
    wrong = []
    for cells in list(table_rows(block))[1:]:
        row = cells[-1].removeprefix("row ")
        printed = [set(map(str, table.rows[row])) for table in tables if row in table.rows]
        figures = {cell for cell in cells[1:-2] if cell != "–"}
        if not any(figures <= texts for texts in printed):
            wrong.append(f"{cells[0]}: {row} of {name} has no {sorted(figures)}")
    return wrong


TABLE = re.compile(r"<!--\s*table:\s*(.*?)\s*-->\s*((?:^\|.*\n?)+)", re.MULTILINE)
PUBLISHED = re.compile(r"^Published \((\w+);.*\n\s*((?:^\|.*\n?)+)", re.MULTILINE)


def faults(text: str) -> list[str]:
    """What is wrong with the figures of a page: without a source, or unlike it."""
    given = {word for kind, body in COMMENT.findall(text) if kind == "given" for word in body.split()}
    prose = plain(text)
    found = [f"given: {word} is not on the page" for word in sorted(given) if word not in prose]
    for section in sections(text):
        good, wrong = sourced(section)
        found += wrong
        rest = section
        for name, block in PUBLISHED.findall(rest):
            found += paper_table(name, block)
        rest = PUBLISHED.sub("", rest)
        for source, block in TABLE.findall(rest):
            left, wrong = table(source, block)
            found += wrong
            rest = rest.replace(block, left + "\n")
        known = good | {word.rstrip("%") for word in given}
        figures = (number for number in FIGURE.findall(plain(rest)) if number not in known)
        found += [f"{number} has no source ({section.splitlines()[0]})" for number in figures]
    return found
