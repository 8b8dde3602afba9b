"""The file leaderboard.json: scores of methods on the tasks of a suite, to which others can add theirs.

    {"format": "loquent leaderboard", "version": 1, "suite": "grue", "entries": [ENTRY, ...]}

`Entry` is the form of an entry. A bench writes the entries of its own profile by "loquent" anew and keeps all
others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loquent.bench.evidence.rows import Row
from loquent.bench.schema.suite_schema import SMOKE, Suite
from loquent.core import schema
from loquent.core.guards import json_files, opening
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting
from loquent.files import final_evaluation
from loquent.files.machine.version import __version__
from loquent.metrics.making import declared_range
from loquent.statistics.tables import ARROWS, Table, literal, number

FILE, PAGE = "leaderboard.json", "leaderboard.md"
FORMAT, VERSION, OURS = "loquent leaderboard", 1, "loquent"
LONGEST = 300  # characters of a text
NEEDED = ("task", "method", "column", "by", "profile")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One score: a method on a task in one column."""

    task: str = setting(why="the task: the title of its table")
    method: str = setting(why="the method, such as supervised-ppo")
    column: str = setting(why="the column of the suite")
    value: float = setting(why="the mean over the test rows")
    by: str = setting(why="who made the run; a name of your own")
    profile: str = setting(why="the profile of the suite; scores of different profiles are not compared")
    data: str = setting("", "the identity of the task with its version, as the tables print it")
    error: float | None = setting(None, "the standard error over the test rows, or over the seeds", low=0.0)
    seeds: int | None = setting(None, "the number of runs behind the value", low=1)
    episodes: int | None = setting(None, "the episodes of each evaluation", low=1)
    rows: int | None = setting(None, "the different test rows among them", low=1)
    decoding: str | None = setting(None, "how answers are chosen in evaluation, such as argmax")
    source: str = setting("", "a command or an address that leads to the run")
    loquent: str = setting("", "the version of Loquent")

    def __post_init__(self) -> None:
        check_ranges(self)
        for field in dataclasses.fields(self):
            text = getattr(self, field.name)
            if not isinstance(text, str):
                continue
            if not text.strip() and field.name in NEEDED:
                raise BadSetting(f"Entry.{field.name} is empty; it must be a text")
            if not text.isprintable() or text != text.strip() or len(text) > LONGEST:
                raise BadSetting(
                    f"Entry.{field.name} = {text!r:.80}; it must be one line of at most {LONGEST} printable "
                    "characters, without spaces around it"
                )
        if self.rows is not None and self.episodes is not None and self.rows > self.episodes:
            raise BadSetting(
                f"Entry.rows = {self.rows} of {self.episodes} episodes; an episode has one row, so give at "
                "least as many episodes"
            )

    @property
    def key(self) -> tuple[str, ...]:
        """What no two entries of a file share."""
        return self.profile, self.task, self.column, self.method, self.by


@dataclass(frozen=True)
class _Leaderboard:
    format: Literal["loquent leaderboard"]
    version: Literal[1]
    suite: str
    entries: tuple[Entry, ...]


def read(path: Path, suite: Suite) -> tuple[Entry, ...]:
    """The entries of a file; none if it does not exist.

    Raises:
        BadSetting: the file is no leaderboard of this suite, an entry has an unknown key or a wrong value, or
            two entries are of the same score. The error names the file and the entry.
    """
    if not path.exists():
        return ()
    try:
        board = schema.read(_Leaderboard, json_files.loads(opening.whole(path), unique=True))
    except (ValueError, OSError) as error:
        raise BadSetting(f"{path}: {error}; repair the file, or move it away") from error
    if board.suite != suite.name:
        raise BadSetting(f"{path}: suite must be {suite.name!r}, got {board.suite!r:.80}")
    entries = board.entries
    seen: dict[tuple[str, ...], int] = {}
    for i, entry in enumerate(entries):
        _check(f"{path}: entries[{i}]", entry, suite)
        if (first := seen.setdefault(entry.key, i)) != i:
            raise BadSetting(
                f"{path}: entries[{i}] is of the same score as entries[{first}] "
                f"({', '.join(entry.key)}); remove one of them"
            )
    return entries


def merge_entries(old: Sequence[Entry], ours: Sequence[Entry]) -> list[Entry]:
    """Our entries with all entries of others; our old ones of the same profile and method are replaced."""
    made = {(entry.profile, entry.task, entry.method) for entry in ours}
    kept = [
        entry for entry in old if entry.by != OURS or (entry.profile, entry.task, entry.method) not in made
    ]
    return sorted([*kept, *ours], key=lambda entry: entry.key)


def as_json(suite: Suite, entries: Sequence[Entry]) -> dict[str, Any]:
    """The content of the file; what an entry does not say is left out."""
    found = [
        {name: value for name, value in dataclasses.asdict(entry).items() if value is not None}
        for entry in entries
    ]
    return {"format": FORMAT, "version": VERSION, "suite": suite.name, "entries": found}


def ours(suite: Suite, profile: str, rows: Mapping[str, Row]) -> list[Entry]:
    """The entries of a bench: all columns with a direction."""
    entries = []
    for table in suite.task_tables:
        for row in (rows[name] for name in table.cells):
            for name, column in suite.columns.items():
                interval = row.intervals.get(name)
                if interval is None or column.higher is None:
                    continue
                error = row.error(name)
                if interval.n > 1 and interval.deviation is not None:
                    error = interval.deviation / math.sqrt(interval.n)
                entries.append(
                    Entry(
                        task=table.title,
                        method=_method(row.name),
                        column=name,
                        value=interval.mean,
                        error=error,
                        by=OURS,
                        profile=profile,
                        data=row.task,
                        seeds=interval.n,
                        episodes=max(1, row.episodes),
                        rows=max(1, row.rows),
                        decoding=row.decoding,
                        source=f"loquent bench {suite.name} --profile {profile}",
                        loquent=__version__,
                    )
                )
    return entries


@dataclass(frozen=True)
class Board:
    """The entries of a task in one column on the same data, the best first."""

    task: str
    column: str
    data: str
    ranked: tuple[Entry, ...]


def boards(entries: Sequence[Entry], suite: Suite, profile: str) -> list[Board]:
    """For each task its first column with a direction, and the entries of this profile in it.

    Entries on other data than the suite's own are not comparable: each data has a board of its own, after
    that of the suite.
    """
    found = []
    for table in suite.task_tables:
        own = [entry for entry in entries if entry.task == table.title and entry.profile == profile]
        columns = (name for name, column in suite.columns.items() if column.higher is not None)
        column = next((name for name in columns if any(entry.column == name for entry in own)), "")
        if not column:
            continue
        sign = -1.0 if suite.columns[column].higher else 1.0
        by_data: dict[str, list[Entry]] = {}
        listed = sorted(
            (entry for entry in own if entry.column == column), key=lambda entry: entry.by != OURS
        )
        for entry in listed:
            by_data.setdefault(entry.data, []).append(entry)
        for data, same in by_data.items():
            ranked = sorted(same, key=lambda entry: sign * entry.value)
            found.append(Board(table.title, column, data, tuple(ranked)))
    return found


def markdown(entries: Sequence[Entry], suite: Suite, profile: str) -> str:
    """The page leaderboard.md: a table for each task and each data, the best entry first."""
    parts, before = [f"# Leaderboard of {suite.name}, profile {profile}"], ""
    for board in boards(entries, suite, profile):
        body = [
            [
                entry.method,
                number(entry.value) + ("" if entry.error is None else f" ± {number(entry.error)}"),
                entry.by,
                *_counts(entry),
                entry.decoding or final_evaluation.NOT_RECORDED,
                entry.data,
            ]
            for entry in board.ranked
        ]
        arrow = ARROWS[suite.columns[board.column].higher]
        heads = [
            "",
            board.column.replace("_", " ") + arrow,
            "by",
            "seeds",
            "episodes",
            "rows",
            "decoding",
            "task",
        ]
        data = f"data {literal(board.data)}" if board.data else "data that is not named"
        head = [f"## {board.task}"] if board.task != before else [f"### {board.task}, {data}"]
        mixed = final_evaluation.decoding_note(
            (f"{entry.method} by {entry.by}", entry.decoding or final_evaluation.NOT_RECORDED)
            for entry in board.ranked
        )
        parts += ["", *head, "", Table(heads, body).markdown(), "", literal(mixed)]
        before = board.task
    return "\n".join(parts) + "\n"


def _counts(entry: Entry) -> list[str]:
    counts = (entry.seeds, entry.episodes, entry.rows)
    return ["–" if count is None else str(count) for count in counts]


def _check(place: str, entry: Entry, suite: Suite) -> None:
    """BadSetting for an entry that is not of this suite."""
    titles = {table.title: table for table in suite.task_tables}
    directed = {name: column for name, column in suite.columns.items() if column.higher is not None}
    for name, known in (
        ("task", titles),
        ("profile", {**suite.profiles, SMOKE: None}),
        ("column", directed),
    ):
        if getattr(entry, name) not in known:
            raise BadSetting(
                f"{place}: {name} must be one of {', '.join(known)}, got {getattr(entry, name)!r}"
            )
    metric = directed[entry.column].metric
    low, high = declared_range(metric)
    if not low <= entry.value <= high:
        raise BadSetting(f"{place}: value = {entry.value:g}; a mean of {metric} is from {low:g} to {high:g}")
    methods = [_method(cell) for cell in titles[entry.task].cells]
    if entry.by.casefold() == OURS and (entry.by != OURS or entry.method not in methods):
        raise BadSetting(
            f"{place}: by = {entry.by!r} is kept for the suite's own runs, whose methods are "
            f"{', '.join(methods)}, got {entry.method!r}; write a name of your own"
        )


def _method(cell: str) -> str:
    """The method of a cell, whose name is TASK-METHOD."""
    return cell.partition("-")[2] or cell
