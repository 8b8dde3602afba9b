"""A suite as a value: YAML files, filled into frozen dataclasses; `suites/*.yaml` are built in.

A stage is a run that other runs start from. A cell is a row of a table. Both have one run per seed, and a
run starts from the runs of its own seed, so that seeds vary all that a run from the beginning varies; a stage
that is `shared` has one run for all seeds. A setting with the value `<name>` is the folder of the stage or
cell of that name. In `training.data` it is the set of recorded episodes of that name (`data`), which is the
same for all seeds.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

from loquent.bench.schema.suite_schema import (
    ANY,
    DATA,
    SMOKE,
    Document,
    Entry,
    Profile,
    Suite,
    named_in,
    references,
)
from loquent.core.options import Node, fill, read
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName
from loquent.files import trust
from loquent.training import recipes as recipe

FOLDER = resources.files("loquent.bench") / "suites"
NAME = re.compile(r"[\w][\w.+=-]*")


def names() -> list[str]:
    """The names of the built-in suites."""
    return sorted(item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml"))


def load(name: str | Path, *, allow_imports: bool = False) -> Suite:
    """Load a suite by name, or from a YAML file.

    Args:
        allow_imports: accept a file that names code, and its recipes, wherever they lie; otherwise
            `loquent.files.trust` decides.

    Raises:
        UnknownName: there is no such suite.
        BadSetting: a key, a value or a reference is wrong; the error names file and line.
    """
    path = _find(name)
    root = read(path)
    if not allow_imports and str(name).endswith((".yaml", ".yml")):
        trust.check(root, [path])
    nodes = root.mapping("a suite")
    for key in ("columns", "cells"):
        if not nodes.get(key, root).mapping(key) or key not in nodes:
            raise BadSetting(f"{root.place}: {key} is missing or empty; a suite needs columns and cells")
    written = vars(fill(Document, root, "suite"))
    own: dict[str, Any] = {"name": path.stem, "title": written["title"] or path.stem}
    own["profiles"] = written["profiles"] or {"standard": Profile()}
    suite = Suite(**{**written, **own}, file=path, allow_imports=allow_imports)
    _check(suite, nodes)
    return suite


def _find(name: str | Path) -> Path:
    if str(name).endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise BadSetting(
                f"there is no suite file {path}; `loquent list suites` shows the built-in suites"
            )
        return path
    if str(name) not in names():
        raise UnknownName("suite", str(name), names(), advice="`loquent list suites` shows all")
    return Path(str(FOLDER / f"{name}.yaml"))


def _check(suite: Suite, nodes: Mapping[str, Node]) -> None:
    """Check that every reference has a target, and that no name is used twice."""
    for section in ("columns", "profiles", "stages", "cells", "data", "ranking"):
        for name in getattr(suite, section):
            if not NAME.fullmatch(name):
                what = f"{_place(nodes, section, name)}: {section}: {name!r} is no name"
                raise BadSetting(f"{what}; use letters, digits and . + = - _ only")
    _check_names(suite, nodes)
    for section in ("stages", "cells"):
        for name, entry in getattr(suite, section).items():
            shared = suite.set if section == "cells" else {}
            _check_entry(suite, name, entry, shared, _place(nodes, section, name))
            if entry.shared and section == "cells":
                what = f"{_place(nodes, section, name)}: shared: {name!r} is a cell"
                raise BadSetting(f"{what}, which has a run for every seed; only stages can be shared")
    for section, cells in (("tables", "cells"), ("figures", "cells"), ("orderings", "rising")):
        for number, item in enumerate(getattr(suite, section)):
            place = nodes[section].value[number].place
            for name in getattr(item, cells):
                if name not in suite.cells:
                    raise BadSetting(f"{place}: {UnknownName('cell', name, suite.cells)}")
    for section in ("orderings", "tallies", "summaries"):
        for number, item in enumerate(getattr(suite, section)):
            if item.column not in suite.columns:
                place = nodes[section].value[number].place
                raise BadSetting(f"{place}: {UnknownName('column', item.column, suite.columns)}")
    _check_tallies(suite, nodes)
    for number, ordering in enumerate(suite.orderings):
        place = nodes["orderings"].value[number].place
        if len(ordering.rising) < 2:
            raise BadSetting(f"{place}: rising must have at least two cells, got {list(ordering.rising)}")
    for name in nodes["profiles"].mapping("profiles") if "profiles" in nodes else ():
        _check_profile(suite, name, suite.profiles[name], nodes)


def _check_tallies(suite: Suite, nodes: Mapping[str, Node]) -> None:
    for number, table in enumerate(suite.tables):
        if table.score and table.score not in suite.columns:
            place = nodes["tables"].value[number].place
            raise BadSetting(f"{place}: score: {UnknownName('column', table.score, suite.columns)}")
    methods = {name.partition("-")[2] for name in suite.cells}
    for number, tally in enumerate(suite.tallies):
        for method in (tally.low, tally.high):
            if method not in methods:
                place = nodes["tallies"].value[number].place
                raise BadSetting(f"{place}: {UnknownName('method of this suite', method, methods)}")


def _check_names(suite: Suite, nodes: Mapping[str, Node]) -> None:
    advice = "give each its own name"
    for name in suite.stages.keys() & suite.cells.keys():
        raise BadSetting(f"{_place(nodes, 'cells', name)}: {name!r} is a stage and a cell; {advice}")
    for name in suite.data.keys() & suite.entries.keys():
        problem = f"{name!r} is a set of episodes and a stage or cell"
        raise BadSetting(f"{_place(nodes, 'data', name)}: {problem}; {advice}")
    for name, ranking in suite.ranking.items():
        if ranking.data not in suite.data:
            error = UnknownName("set of episodes", ranking.data, suite.data)
            raise BadSetting(f"{_place(nodes, 'ranking', name)}: {error}")


def _check_profile(suite: Suite, name: str, profile: Profile, nodes: Mapping[str, Node]) -> None:
    recipes, place = {entry.recipe for entry in suite.entries.values()}, _place(nodes, "profiles", name)
    for section, keys, kind, known in (
        ("set", profile.set, "recipe", recipes | {ANY}),
        ("search", profile.search, "recipe, stage or cell", recipes | suite.entries.keys()),
    ):
        for key in keys:
            if key not in known:
                raise BadSetting(f"{place}: {section}: {UnknownName(f'{kind} of this suite', key, known)}")
    for section, patterns, entries in (
        ("fewer", profile.fewer, suite.cells),
        ("without", profile.without, suite.cells),
        ("cells", profile.cells, suite.entries),
    ):
        for pattern in patterns:
            if not any(fnmatchcase(cell, pattern) for cell in entries):
                raise BadSetting(f"{place}: {section}: {UnknownName('cell', pattern, entries)}")
    for pattern, node in profile.cells.items():
        for reference in references(node.mapping(pattern)):
            if reference not in suite.entries:
                raise BadSetting(f"{node.place}: {UnknownName('stage or cell', reference, suite.entries)}")
    for cell in profile.published:
        if cell not in suite.cells:
            raise BadSetting(f"{place}: published: {UnknownName('cell', cell, suite.cells)}")
    for pattern, seeds in profile.fewer.items():
        if not 1 <= seeds <= profile.seeds:
            raise BadSetting(
                f"{place}: fewer: {pattern} = {seeds}, but a cell has at least 1 run and at most the "
                f"{profile.seeds} of `seeds`; give a number between them, or leave {pattern} out"
            )
    sets = (*suite.data, ANY)
    for key in profile.data:
        if key not in sets:
            raise BadSetting(f"{place}: {UnknownName('set of episodes', key, sets)}")


def _check_entry(suite: Suite, name: str, entry: Entry, shared: Mapping[str, Node], place: str) -> None:
    is_file = "/" in entry.recipe or entry.recipe.endswith((".yaml", ".yml"))
    if not is_file and entry.recipe not in recipe.names():
        raise BadSetting(f"{place}: {UnknownName('recipe', entry.recipe, recipe.names())}")
    profiles = [*suite.profiles, SMOKE]
    for field_name in ("at", "instead"):
        for profile in getattr(entry, field_name):
            if profile not in profiles:
                raise BadSetting(f"{place}: {field_name}: {UnknownName('profile', profile, profiles)}")
    for settings in (shared, entry.set, *(node.mapping("at") for node in entry.at.values())):
        for reference in references(settings):
            if reference not in suite.entries:
                raise BadSetting(f"{place}: {UnknownName('stage or cell', reference, suite.entries)}")
        data = settings[DATA].plain() if DATA in settings else ()
        for reference in named_in(data if isinstance(data, tuple) else (data,)):
            if reference not in suite.data:
                raise BadSetting(f"{place}: {UnknownName('set of episodes', reference, suite.data)}")
    if entry.published and not suite.paper:
        raise BadSetting(
            f"{place}: published = {entry.published!r}, but the suite names no paper; set paper at the top"
        )


def _place(nodes: Mapping[str, Node], section: str, name: str) -> str:
    """File and line of an entry of a section."""
    return nodes[section].mapping(section)[name].place


def with_model(suite: Suite, stage: str, path: str) -> Suite:
    """The suite with a stage replaced by a model in every profile."""
    models = Record(dict.fromkeys((*suite.profiles, SMOKE), path))
    replaced = dataclasses.replace(suite.stages[stage], instead=models)
    return dataclasses.replace(suite, stages={**suite.stages, stage: replaced})


def only(suite: Suite, names: Sequence[str]) -> Suite:
    """The suite reduced to these cells, in its own order, for the tables.

    Verdicts stay corrected for all claims of the whole suite, so that a choice of cells, which may be made
    after a look at their numbers, decides nothing more.

    Raises:
        UnknownName: there is no such cell.
    """
    for name in names:
        if name not in suite.cells:
            raise UnknownName(f"cell of {suite.name}", name, list(suite.cells))
    cells = {name: entry for name, entry in suite.cells.items() if name in names}
    tables = (
        dataclasses.replace(table, cells=tuple(name for name in table.cells if name in cells))
        for table in suite.tables
    )
    figures = (
        dataclasses.replace(figure, cells=tuple(name for name in figure.cells if name in cells))
        for figure in suite.figures
    )
    shown = tuple(table for table in tables if table.cells)
    return dataclasses.replace(
        suite,
        cells=cells,
        tables=shown,
        tallies=tuple(tally for tally in suite.tallies if any(map(tally.is_of, shown))),
        figures=tuple(figure for figure in figures if figure.cells),
        orderings=tuple(
            ordering for ordering in suite.orderings if all(name in cells for name in ordering.rising)
        ),
        whole=suite.whole or suite,
    )
