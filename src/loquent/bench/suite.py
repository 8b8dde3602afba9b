"""A suite as a value: YAML under a page, filled into frozen dataclasses.

`suites/*.yaml` are the built-in ones.

Stages are runs made once, which others start from; cells are runs made for every seed, the table's rows. A
setting whose value is `<name>` stands for the folder of the stage or cell of that name; in `training.data`,
for the set of recorded episodes (`data`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from loquent import recipes as recipe
from loquent.bench.sets import Data, Ranking
from loquent.core.guards import trust
from loquent.core.options import Node, fill, read, unknown
from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, UnknownName

FOLDER = resources.files("loquent.bench") / "suites"
REFERENCE = re.compile(r"<([\w.+=-]+)>")
NAME = re.compile(r"[\w][\w.+=-]*")
SMOKE = "smoke"
DATA = "training.data"  # the setting that refers to sets
ANY = "any"  # in a profile: the settings of every recipe


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One run of a suite: a stage or a cell."""

    recipe: str = setting(why="a recipe by name, or a YAML file beside the suite")
    label: str = setting("", "what the tables call it; empty: its name")
    agent: str | Record = setting(
        "",
        "an agent that plays in place of a trained model, by name or {kind: NAME, OPTION: VALUE}; "
        "nothing is trained",
    )
    set: Record = setting(
        EMPTY, "settings that replace the recipe's, by key.path; <name> is the folder of another entry"
    )
    at: Record = setting(EMPTY, "further settings by profile, over those of `set`")
    instead: Record = setting(
        EMPTY, "by profile: a model by name or folder that stands in this entry's place; nothing is run"
    )
    published: str = setting("", "the published row it repeats, as table/row of the suite's paper")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One number of a table."""

    metric: str = setting(why="the key of an evaluation's value, or of the log's last line")
    logged: bool = setting(
        False, "the value is what the last update logged (metrics.jsonl), not the evaluation's"
    )
    better: str = setting("none", "the direction", choices=("higher", "lower", "none"))

    @property
    def higher(self) -> bool | None:
        """Whether higher is better; None where neither is."""
        return {"higher": True, "lower": False, "none": None}[self.better]

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A size of the suite: seeds, processes, and the settings of its recipes."""

    about: str = setting("", "what this size is, and where it deviates from the paper")
    seeds: int = setting(1, "runs of every cell", low=1)
    processes: int = setting(0, "cells run at once; 0: one for each core, or one where there is a GPU", low=0)
    set: Record = setting(EMPTY, "by recipe (or `any`): settings that replace its own, in stages and cells")
    data: Record = setting(EMPTY, "by set of recorded episodes (or `any`): what replaces its own")

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells printed together."""

    title: str = setting(why="its heading")
    cells: tuple[str, ...] = setting(why="the names of its rows, in order")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Learning curves of some cells in one chart: what their runs logged, update by update."""

    title: str = setting(why="its heading")
    cells: tuple[str, ...] = setting(why="the names of its lines, in order")
    key: str = setting(why="the logged key that is drawn, as metrics.jsonl has it")
    unit: str = setting("", "of its vertical axis")


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """A claim of the paper: in this column the cells rise in this order."""

    claim: str = setting(why="the claim in a sentence")
    column: str = setting(why="the column it is about")
    rising: tuple[str, ...] = setting(why="cells, the lowest first; neighbours are compared")
    place: str = setting("", "where the paper says so")
    quote: str = setting("", "its words")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A benchmark as a value."""

    name: str
    title: str
    version: int
    paper: str
    columns: Mapping[str, Column]
    profiles: Mapping[str, Profile]
    stages: Mapping[str, Entry]
    cells: Mapping[str, Entry]
    tables: tuple[Table, ...]
    orderings: tuple[Ordering, ...]
    figures: tuple[Drawing, ...] = ()
    shared: Record = EMPTY  # settings of all cells
    data: Mapping[str, Data] = field(default_factory=dict)
    ranking: Mapping[str, Ranking] = field(default_factory=dict)
    optimum: str | Record = ""  # an agent whose exact value stands beside every set
    folder: Path = field(default=Path("."))  # where recipe files are looked for
    allow_imports: bool = False  # of code that those name, wherever they lie

    @property
    def entries(self) -> dict[str, Entry]:
        """Stages and cells by name."""
        return {**self.stages, **self.cells}

    def profile(self, name: str | None) -> tuple[str, Profile]:
        """A profile by name, the first by default; `smoke` every suite has."""
        chosen = next(iter(self.profiles)) if name is None else name
        if chosen == SMOKE and chosen not in self.profiles:
            return chosen, Profile(about="two tiny updates of every run, to see that all of them run")
        if chosen not in self.profiles:
            raise UnknownName("profile of this suite", chosen, [*self.profiles, SMOKE])
        return chosen, self.profiles[chosen]


def names() -> list[str]:
    """The built-in suites."""
    return sorted(item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml"))


def load(name: str | Path, *, allow_imports: bool = False) -> Suite:
    """A suite by name, or from a YAML file.

    Args:
        allow_imports: take a file that names code wherever it lies, and its recipes; otherwise as
            `loquent.core.guards.trust` says.

    Raises:
        UnknownName: no such suite. BadSetting: an unknown key, a bad value, or a name that stands for
            nothing; with file and line.
    """
    path = _find(name)
    root = read(path)
    if not allow_imports and str(name).endswith((".yaml", ".yml")):
        trust.check(root, path)
    inside = root.mapping("a suite")
    known = (
        "name",
        "title",
        "version",
        "paper",
        "set",
        "data",
        "optimum",
        "ranking",
        "columns",
        "profiles",
        "stages",
        "cells",
        "tables",
        "figures",
        "orderings",
    )
    for key, node in inside.items():
        if key not in known:
            raise unknown(node, key, known, "a suite")
    for key in ("columns", "cells"):
        if not inside.get(key, root).mapping(key) or key not in inside:
            raise BadSetting(f"{root.place}: a suite has {key}: what is run, and what is read off")
    made = Suite(
        name=path.stem,
        title=str(inside["title"].value) if "title" in inside else path.stem,
        version=_version(inside.get("version")),
        paper=str(inside["paper"].value) if "paper" in inside else "",
        columns=_each(Column, inside, "columns"),
        profiles=_each(Profile, inside, "profiles") or {"standard": Profile()},
        stages=_each(Entry, inside, "stages"),
        cells=_each(Entry, inside, "cells"),
        tables=_list(Table, inside, "tables"),
        orderings=_list(Ordering, inside, "orderings"),
        figures=_list(Drawing, inside, "figures"),
        shared=inside["set"].plain() if "set" in inside and inside["set"].mapping("set") else EMPTY,
        data=_each(Data, inside, "data"),
        ranking=_each(Ranking, inside, "ranking"),
        optimum=inside["optimum"].plain() if "optimum" in inside else "",
        folder=path.parent,
        allow_imports=allow_imports,
    )
    _check(made, inside)
    return made


def references(settings: Mapping[str, Any]) -> list[str]:
    """The names that settings refer to as <name>, sets of recorded episodes left out."""
    return named_in(value for path, value in settings.items() if path != DATA)


def named_in(values: Iterable[Any]) -> list[str]:
    """The names that values refer to as <name>."""
    found = (REFERENCE.fullmatch(value) for value in values if isinstance(value, str))
    return [match[1] for match in found if match]


def _find(name: str | Path) -> Path:
    if str(name).endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise BadSetting(f"there is no suite file {path}; `loquent list suites` shows the built-in ones")
        return path
    if str(name) not in names():
        raise UnknownName("suite", str(name), names())
    return Path(str(FOLDER / f"{name}.yaml"))


def _version(node: Node | None) -> int:
    if node is None:
        return 1
    if not isinstance(node.value, int) or isinstance(node.value, bool) or node.value < 1:
        raise BadSetting(f"{node.place}: version = {node.bare()!r}; a whole number of at least 1 is right")
    return node.value


def _each(cls: type, inside: Mapping[str, Node], section: str) -> dict[str, Any]:
    given = inside[section].mapping(section) if section in inside else {}
    for name, node in given.items():
        if not NAME.fullmatch(name):
            raise BadSetting(
                f"{node.place}: {section}: {name!r} is no name; letters, digits and . + = - _ make one"
            )
    return {name: fill(cls, node, f"{section}.{name}") for name, node in given.items()}


def _list(cls: type, inside: Mapping[str, Node], section: str) -> tuple[Any, ...]:
    node = inside.get(section)
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, list):
        raise BadSetting(f"{node.place}: {section} is a list, not {node.bare()!r}")
    return tuple(fill(cls, item, f"{section}[{number}]") for number, item in enumerate(node.value))


def _check(suite: Suite, inside: Mapping[str, Node]) -> None:
    """Every name stands for something, and no name for two things."""
    for name in suite.stages.keys() & suite.cells.keys():
        raise BadSetting(
            f"{inside['cells'].mapping('cells')[name].place}: {name!r} is a stage and a cell; one "
            "name is one thing"
        )
    for name in suite.data.keys() & suite.entries.keys():
        raise BadSetting(
            f"{inside['data'].mapping('data')[name].place}: {name!r} is a set of episodes and a "
            "stage or cell; one name is one thing"
        )
    for name, ranking in suite.ranking.items():
        if ranking.data not in suite.data:
            raise BadSetting(
                f"{inside['ranking'].mapping('ranking')[name].place}: "
                f"{UnknownName('set of episodes', ranking.data, suite.data)}"
            )
    for section in ("stages", "cells"):
        for name, entry in getattr(suite, section).items():
            place = inside[section].mapping(section)[name].place
            _check_entry(suite, name, entry, suite.shared if section == "cells" else EMPTY, place)
    for section, cells in (("tables", "cells"), ("figures", "cells"), ("orderings", "rising")):
        for number, one in enumerate(getattr(suite, section)):
            place = inside[section].value[number].place
            for name in getattr(one, cells):
                if name not in suite.cells:
                    raise BadSetting(f"{place}: {UnknownName('cell', name, suite.cells)}")
    for number, ordering in enumerate(suite.orderings):
        place = inside["orderings"].value[number].place
        if ordering.column not in suite.columns:
            raise BadSetting(f"{place}: {UnknownName('column', ordering.column, suite.columns)}")
        if len(ordering.rising) < 2:
            raise BadSetting(f"{place}: rising = {list(ordering.rising)}: an order needs two cells at least")
    for name, profile in suite.profiles.items():
        recipes = {entry.recipe for entry in suite.entries.values()} | {ANY}
        for key in profile.set:
            if key not in recipes:
                raise BadSetting(
                    f"{inside['profiles'].mapping('profiles')[name].place}: "
                    f"{UnknownName('recipe of this suite', key, recipes)}"
                )
        for key in profile.data:
            if key not in (*suite.data, ANY):
                known = (*suite.data, ANY)
                raise BadSetting(
                    f"{inside['profiles'].mapping('profiles')[name].place}: "
                    f"{UnknownName('set of episodes', key, known)}"
                )


def _check_entry(suite: Suite, name: str, entry: Entry, shared: Record, place: str) -> None:
    if (
        "/" not in entry.recipe
        and not entry.recipe.endswith((".yaml", ".yml"))
        and entry.recipe not in recipe.names()
    ):
        raise BadSetting(f"{place}: {UnknownName('recipe', entry.recipe, recipe.names())}")
    for field_name in ("at", "instead"):
        for profile in getattr(entry, field_name):
            if profile not in (*suite.profiles, SMOKE):
                raise BadSetting(
                    f"{place}: {field_name}: {UnknownName('profile', profile, [*suite.profiles, SMOKE])}"
                )
    for settings in (shared, entry.set, *entry.at.values()):
        if not isinstance(settings, Record):
            raise BadSetting(f"{place}: at holds settings by profile, not {settings!r}")
        for referred in references(settings):
            if referred not in suite.entries:
                raise BadSetting(f"{place}: {UnknownName('stage or cell', referred, suite.entries)}")
        data = settings.get(DATA, ())
        for referred in named_in(data if isinstance(data, tuple) else (data,)):
            if referred not in suite.data:
                raise BadSetting(f"{place}: {UnknownName('set of episodes', referred, suite.data)}")
    if entry.published and not suite.paper:
        raise BadSetting(f"{place}: published = {entry.published!r}, and the suite names no paper")


def with_model(suite: Suite, stage: str, path: str) -> Suite:
    """The same suite in which a model takes the place of a stage, in every profile."""
    given = Record(dict.fromkeys((*suite.profiles, SMOKE), path))
    return dataclasses.replace(
        suite, stages={**suite.stages, stage: dataclasses.replace(suite.stages[stage], instead=given)}
    )


def only(suite: Suite, names: Sequence[str]) -> Suite:
    """The same suite with these cells alone, in its own order: what tables show.

    Raises:
        UnknownName: there is no such cell.
    """
    for name in names:
        if name not in suite.cells:
            raise UnknownName(f"cell of {suite.name}", name, list(suite.cells))
    kept = {name: entry for name, entry in suite.cells.items() if name in names}
    tables = (
        dataclasses.replace(table, cells=tuple(name for name in table.cells if name in kept))
        for table in suite.tables
    )
    figures = (
        dataclasses.replace(one, cells=tuple(name for name in one.cells if name in kept))
        for one in suite.figures
    )
    return dataclasses.replace(
        suite,
        cells=kept,
        tables=tuple(table for table in tables if table.cells),
        figures=tuple(one for one in figures if one.cells),
        orderings=tuple(
            ordering for ordering in suite.orderings if all(name in kept for name in ordering.rising)
        ),
    )
