"""The parts of a suite as frozen dataclasses: entries, columns, profiles, tables, drawings, orderings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from loquent.bench.schema.sets import Data, Ranking
from loquent.core.options import Node
from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record
from loquent.errors import UnknownName
from loquent.files.run_folder import Tuning

REFERENCE = re.compile(r"<([\w.+=-]+)>")
SMOKE = "smoke"
DATA = "training.data"  # the setting that refers to sets of episodes
ANY = "any"  # the key of a profile's settings for every recipe


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One run of a suite: a stage or a cell."""

    recipe: str = setting(why="a recipe by name, or a YAML file beside the suite")
    label: str = setting("", "the name in the tables; empty: the name of the entry")
    agent: str | Record = setting(
        "",
        "an agent that plays in place of a trained model, by name or {kind: NAME, OPTION: VALUE}; "
        "nothing is trained",
    )
    set: Mapping[str, Node] = setting(
        EMPTY, "settings that replace the recipe's, by key.path; <name> is the folder of another entry"
    )
    at: Mapping[str, Node] = setting(EMPTY, "settings by profile, which replace those of `set`")
    instead: Record = setting(
        EMPTY, "by profile: the name or folder of a model that replaces this entry; nothing is run"
    )
    published: str = setting("", "the published row that it repeats, as table/row of the suite's paper")
    shared: bool = setting(
        False, "of a stage: all seeds start from its run with seed 0; the tables name it, as it does not vary"
    )


@dataclass(frozen=True, kw_only=True)
class Column:
    """One number of a table."""

    metric: str = setting(why="the key of a value of the evaluation, or of the last line of the log")
    logged: bool = setting(
        False, "take the value that the last update logged (metrics.jsonl), not the evaluation's"
    )
    better: str = setting(
        "none", "the direction in which a value is better", choices=("higher", "lower", "none")
    )

    @property
    def higher(self) -> bool | None:
        """Whether a higher value is better; None if the column has no direction."""
        return {"higher": True, "lower": False, "none": None}[self.better]

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Search:
    """The record of the search for the settings of a recipe or an entry, and what the search cost."""

    set: Mapping[str, Node] = setting(why="the settings of the best trial, by key.path")
    tuning: Tuning = setting(why="what `loquent search` writes into the section `tuning` of best.yaml")


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a profile reads that the package does not hold: a model, a data set, a file or a folder."""

    what: str = setting(why="what it is, in a phrase")
    source: str = setting(why="where it comes from: an address, or the command that makes it")
    files: tuple[str, ...] = setting((), "the files that a folder must have, each also as .gz")
    hub: bool = setting(False, "a name on the Hugging Face hub; else a file or a folder")
    where: Record = setting(
        EMPTY, "settings of the runs that read it, by key.path; empty: all runs that name it in a setting"
    )
    instead: str = setting(why="the override that names another place: KEY=FOLDER")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A size of the suite: seeds, processes, and the settings of its recipes and cells."""

    about: str = setting("", "a description of this size, and its differences from the paper")
    seeds: int = setting(1, "number of runs of every cell", low=1)
    fewer: Mapping[str, int] = setting(
        EMPTY,
        "the number of runs of cells that have fewer than `seeds`, by name, which may contain *; with "
        "--seeds, all cells have the number given there",
    )
    processes: int = setting(0, "number of runs at once; 0: one per core, or one if there is a GPU", low=0)
    set: Mapping[str, Node] = setting(EMPTY, "by recipe (or `any`): settings that replace the recipe's own")
    cells: Mapping[str, Node] = setting(
        EMPTY, "by stage or cell, whose name may contain *: settings that replace those of `set` and its own"
    )
    published: Mapping[str, str] = setting(
        EMPTY, "by cell: the published row that it repeats at this size, in place of its own; empty: none"
    )
    data: Mapping[str, Node] = setting(
        EMPTY, "by set of recorded episodes (or `any`): settings that replace its own"
    )
    without: tuple[str, ...] = setting(
        (), "cells that this size does not have, by name, which may contain *; they can still be named"
    )
    needs: Mapping[str, Need] = setting(
        EMPTY, "by name or path: what must be on this machine, or on the hub, before anything is run"
    )
    search: Mapping[str, Search] = setting(
        EMPTY,
        "by recipe: the record of the search for its settings, which replace those of `set`; or by stage or "
        "cell, whose own settings they replace too; settings without a record are called set by hand",
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells that are printed in one table."""

    title: str = setting(why="the heading")
    cells: tuple[str, ...] = setting(why="the cells of the rows, in order")
    score: str = setting(
        "",
        "the column whose published figures tallies quote; if a table of the suite has one, only tables with "
        "one stand for a task",
    )


@dataclass(frozen=True, kw_only=True)
class Tally:
    """A claim over tasks: on how many of them one method beats another.

    Cells are named TASK-METHOD, and each table has those of one task.
    """

    claim: str = setting(why="the claim in a sentence")
    column: str = setting(why="the column of the values")
    low: str = setting(why="the method that is beaten")
    high: str = setting(why="the method that wins")
    place: str = setting("", "the place of the claim in the paper")
    quote: str = setting("", "the words of the paper")

    def is_of(self, table: Table) -> bool:
        """Whether a table has a cell of both methods."""
        return {self.low, self.high} <= {name.partition("-")[2] for name in table.cells}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A chart of each method's mean over the tasks."""

    title: str = setting(why="the heading")
    column: str = setting(why="the column of the values")
    unit: str = setting("", "the unit of the axis")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart with the learning curves of cells: a logged value against the update."""

    title: str = setting(why="the heading")
    cells: tuple[str, ...] = setting(why="the cells of the lines, in order")
    key: str = setting(why="the key in metrics.jsonl of the value that is drawn")
    unit: str = setting("", "the unit of the vertical axis")


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """A claim of the paper: in this column, the values of these cells rise in this order."""

    claim: str = setting(why="the claim in a sentence")
    column: str = setting(why="the column of the values")
    rising: tuple[str, ...] = setting(why="cells, the lowest first; neighbours are compared")
    paired: bool = setting(
        False,
        "compare the values of equal seeds; decide this before the runs are made, and only where equal seeds "
        "share more than prompts, such as a start of their own",
    )
    place: str = setting("", "the place of the claim in the paper")
    quote: str = setting("", "the words of the paper")


@dataclass(frozen=True, kw_only=True)
class Document:
    """What the file of a suite may hold."""

    name: str = setting("", "not read; the name of the file counts")
    title: str = setting("", "the heading; empty: the name")
    version: int = setting(1, "raised where the runs of the suite change", low=1)
    paper: str = setting("", "the paper whose published figures stand beside the values")
    set: Mapping[str, Node] = setting(EMPTY, "settings of all cells")
    columns: Mapping[str, Column] = setting(why="the columns of the tables by name")
    profiles: Mapping[str, Profile] = setting(EMPTY, "the sizes by name; empty: one size, `standard`")
    stages: Mapping[str, Entry] = setting(EMPTY, "runs that others start from, by name")
    cells: Mapping[str, Entry] = setting(why="the rows of the tables by name")
    tables: tuple[Table, ...] = setting((), "the tables, in order")
    orderings: tuple[Ordering, ...] = setting((), "claims of the paper on the order of cells")
    figures: tuple[Drawing, ...] = setting((), "the charts, in order")
    tallies: tuple[Tally, ...] = setting((), "claims of the paper over tasks")
    summaries: tuple[Summary, ...] = setting((), "means over tasks")
    data: Mapping[str, Data] = setting(EMPTY, "sets of recorded episodes by name")
    ranking: Mapping[str, Ranking] = setting(EMPTY, "rankings of answers by name")
    optimum: str | Record = setting("", "an agent whose exact return is printed beside every set")


@dataclass(frozen=True, kw_only=True)
class Suite(Document):
    """A benchmark as a value."""

    file: Path = field(default=Path("suite.yaml"))  # recipe files are beside it
    allow_imports: bool = False  # import the code that recipe files name, wherever they lie
    whole: Suite | None = None  # the suite of which this is a part; its claims are corrected for together

    @property
    def entries(self) -> dict[str, Entry]:
        """Stages and cells by name."""
        return {**self.stages, **self.cells}

    def settings(self, name: str, profile: str) -> dict[str, Node]:
        """The settings of a stage or cell under a profile, in the order in which they are applied.

        Later ones replace earlier ones, also those inside a section: the suite's (for cells), the profile's
        for all recipes, for the recipe, those of a search for the recipe, the entry's own, its own for the
        profile (`at`), the profile's for the entry (`cells`, in the file's order), those of a search for it.
        """
        entry, size = self.entries[name], self.profiles.get(profile, Profile())
        found = self._searches(profile)
        layers = (
            self.set if name in self.cells else {},
            inside(size.set, ANY),
            inside(size.set, entry.recipe),
            found[entry.recipe].set if entry.recipe in found else {},
            entry.set,
            inside(entry.at, profile),
            *(inside(size.cells, pattern) for pattern in size.cells if fnmatchcase(name, pattern)),
            found[name].set if name in found else {},
        )
        settings: dict[str, Node] = {}
        for layer in layers:
            settings = {path: node for path, node in settings.items() if path not in layer} | dict(layer)
        return settings

    def repeating(self, profile: str) -> Suite:
        """The suite whose cells name the published rows of a profile."""
        rows = self.profile(profile)[1].published
        cells = {
            name: replace(entry, published=rows.get(name, entry.published))
            for name, entry in self.cells.items()
        }
        return replace(self, cells=cells)

    @property
    def task_tables(self) -> tuple[Table, ...]:
        """The tables that stand for a task each: those with a `score`, or all if none has one."""
        return tuple(table for table in self.tables if table.score) or self.tables

    def runs(self, name: str, profile: str, seeds: int | None = None) -> int:
        """The number of runs of a cell: `seeds`, or by default that of the profile, which may be fewer."""
        _, size = self.profile(profile)
        fewer = (own for pattern, own in size.fewer.items() if fnmatchcase(name, pattern))
        return seeds or min(fewer, default=size.seeds)

    def selection(self, profile: str, only: Sequence[str] = ()) -> list[str]:
        """The cells to make: those named, or those of the profile; empty if these are all of the suite."""
        without = self.profile(profile)[1].without
        left = [name for name in self.cells if not any(fnmatchcase(name, pattern) for pattern in without)]
        return [*only] or (left if without else [])

    def search(self, profile: str, name: str) -> Search | None:
        """The record of the search for the settings of a stage or cell, its own or that of its recipe."""
        found = self._searches(profile)
        return found.get(name, found.get(self.entries[name].recipe))

    def _searches(self, profile: str) -> Mapping[str, Search]:
        return self.profiles[profile].search if profile in self.profiles else EMPTY

    def profile(self, name: str | None) -> tuple[str, Profile]:
        """A profile and its name; the first profile by default.

        Every suite has the profile `smoke`.

        Raises:
            UnknownName: there is no such profile.
        """
        chosen = next(iter(self.profiles)) if name is None else name
        if chosen == SMOKE and chosen not in self.profiles:
            return chosen, Profile(about="two tiny updates of every run, to check that all of them run")
        if chosen not in self.profiles:
            raise UnknownName("profile of this suite", chosen, [*self.profiles, SMOKE])
        return chosen, self.profiles[chosen]


def inside(sections: Mapping[str, Node], name: str) -> dict[str, Node]:
    """The settings of one of several sections; none if there is no such section."""
    return sections[name].mapping(name) if name in sections else {}


def references(settings: Mapping[str, Node]) -> list[str]:
    """The names of stages and cells that settings refer to as <name>; not those of sets of episodes."""
    return named_in(node.value for path, node in settings.items() if path != DATA)


def named_in(values: Iterable[Any]) -> list[str]:
    """The names that values refer to as <name>."""
    matches = (REFERENCE.fullmatch(value) for value in values if isinstance(value, str))
    return [match[1] for match in matches if match]
