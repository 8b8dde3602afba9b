"""The text of docs/known.md, from the records of docs/results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from loquent.bench import suite as suites
from loquent.bench.evidence.verdicts import CONTRADICTED, HOLDS, MISSING, UNDECIDED
from loquent.statistics.tables import literal
from tools.known import of_studies, of_suites, records
from tools.known.records import ON_ROWS, ONE_SEED, Known, Record

WORDS = Path(__file__).with_suffix(".md")
MARK = "<!-- claims -->"
COLUMNS = ("claim", "verdict", "effect", "p", "seeds", "rows", "shared", "seconds", "settings", "source")
COMMAND = re.compile(
    r"(?:^|(?<=; ))(?:loquent|python) .*?(?=;| \(|$)"
)  # older records have remarks beside them
COUNTS = "counts over tasks"
DECIDED = (HOLDS, f"{HOLDS}, {ON_ROWS}", CONTRADICTED, f"{CONTRADICTED}, {ON_ROWS}", UNDECIDED)
KINDS = (*DECIDED, COUNTS, ONE_SEED, MISSING)


def text() -> str:
    """The text of the page."""
    found, entries = records.records(), records.entries()
    parts: dict[str, tuple[str, list[Known]]] = {}
    for name in suites.names():
        suite = suites.load(name)
        known = of_suites.of_suite(suite, found, entries["suites"], entries["remarks"])
        parts[f"`{name}`"] = (f"{suite.title} ([the suite](benchmarks.md#{name})).", known)
    for entry in entries["studies"]:
        about = f"[The study]({entry['page']}), {entry['about']}."
        parts[entry["title"]] = (about, of_studies.of_study(entry, found))
    everything = [one for _, known in parts.values() for one in known]
    sections = [f"## {title}\n\n{about}\n\n{section(known)}" for title, (about, known) in parts.items()]
    return WORDS.read_text(encoding="utf-8").replace(MARK, "\n\n".join([summary(everything), *sections]))


def summary(known: Sequence[Known]) -> str:
    """How many rows of the page have which verdict."""
    counts = Counter(kind(one.verdict) for one in known)
    lines = [f"| {name} | {counts[name]} |" for name in KINDS]
    return "\n".join(["| verdict | rows of the tables below |", "|---|---:|", *lines])


def kind(verdict: str) -> str:
    """The kind of a verdict, as the summary counts them."""
    own = verdict.partition(" (")[0].partition(";")[0]
    return own if own in KINDS else COUNTS


def section(known: Sequence[Known]) -> str:
    """The table of claims and the list of the commands behind them."""
    sources = list(dict.fromkeys((one.record.file, one.record.line) for one in known if one.record))
    by_place = {(one.record.file, one.record.line): one.record for one in known if one.record}
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---:|---:|---:|---|---:|---|---:|"]
    lines += [f"| {' | '.join(_cells(one, sources))} |" for one in known]
    listed = [f"{i}. {source(by_place[place])}" for i, place in enumerate(sources, 1)]
    return "\n".join([*lines, *([""] if listed else []), *listed])


def _cells(one: Known, sources: Sequence[tuple[str, int]]) -> list[str]:
    """A claim's cells; without a record they say so alone."""
    claim, verdict = literal(one.claim), one.verdict
    if one.record is None:
        return [claim, verdict, *[""] * (len(COLUMNS) - 2)]
    index = str(sources.index((one.record.file, one.record.line)) + 1)
    bold = f"**{verdict}**" if verdict.startswith((HOLDS, CONTRADICTED)) else verdict
    numbers = (one.effect, one.p, str(one.seeds), one.rows, one.shared, one.seconds)
    return [claim, bold, *numbers, literal(one.settings), index]


def source(record: Record) -> str:
    """A record: the command, where it stands, and how its verdicts were made."""
    content = record.content
    place = f"[line {record.line} of {record.file}](results/{record.file})"
    seconds = content["seconds"]
    took = f", {seconds:,.0f} seconds" if isinstance(seconds, int | float) else ""
    date = f", {content['date']}" if "date" in content else ""
    command = COMMAND.sub(r"`\g<0>`", content["command"].replace("`", "'"))
    return f"{command} ({place}, commit {content['commit']}{date}{took}); {record.made}."
