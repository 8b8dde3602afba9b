"""`loquent list`: prints names with one-line summaries, read from source files without importing."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from textwrap import shorten
from typing import Any

from loquent.cli.grammar.options import CommandOptions, argument
from loquent.core import registry
from loquent.core.catalogue import CORPUS_METRICS
from loquent.errors import BadSetting
from loquent.statistics.tables import name_lines
from loquent.training import recipes

PACKAGE = Path(str(resources.files("loquent")))
SUITES = PACKAGE / "bench" / "suites"
COLUMNS = 100
KINDS = {
    "tasks": "worlds of language, each with its rows, seats and rewards",
    "algorithms": "learners",
    "agents": "players that need no training: random, scripted, expert, remote",
    "designs": "datasets of a task that `collect --design` makes, beside games, branching and adversarial",
    "rewards": "what a run is trained for",
    "metrics": "what an evaluation measures",
    "featurizers": "texts as vectors for networks over features",
    "recipes": "runs that are ready to train",
    "suites": "benchmarks: recipes side by side, with the published figures",
}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent list`."""

    examples = ("loquent list tasks",)
    kind: str | None = argument("KIND", "without it, the kinds are listed", None, choices=tuple(KINDS))


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print and return the names of a kind, or the kinds."""
    if options.kind is None:
        _print(KINDS)
        return 0, {"kinds": KINDS}
    kind = options.kind.removesuffix("s")
    if kind == "recipe":
        return 0, {"kind": kind, **_recipes()}
    pages = {"suite": _suites, "reward": _rewards}
    summaries = (
        pages[kind]()
        if kind in pages
        else {name: summary(registry.target(kind, name)) for name in registry.names(kind)}
    )
    _print(summaries)
    result = {"kind": kind, "names": list(summaries), "summaries": summaries}
    return 0, result | (
        {"needs": {name: needs(line) for name, line in summaries.items()}} if kind == "metric" else {}
    )


def _print(summaries: Mapping[str, str], indent: str = "") -> None:
    print(name_lines(summaries, indent), end="")


def summary(dotted: str) -> str:
    """The first line of the docstring of "module:Name", or of its module if the thing has none.

    Returns "" if the module has no source file.
    """
    module, _, name = dotted.partition(":")
    file = _source(module)
    if file is None:
        return ""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    thing = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        ),
        None,
    )
    text = (ast.get_docstring(thing) if thing else None) or ast.get_docstring(tree) or ""
    return text.partition("\n")[0]


def _source(module: str) -> Path | None:
    """The file of a module, found without importing it."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*rest) if rest else Path(spec.origin)
    files = (path / "__init__.py", path.with_suffix(".py"), path)
    return next((file for file in files if file.is_file() and file.suffix == ".py"), None)


def needs(summary: str) -> str:
    """What a thing needs beside the plain install: the end of a summary "... Needs X.", or ""."""
    return summary.rpartition("Needs ")[2].rstrip(".") if "Needs " in summary else ""


def _rewards() -> dict[str, str]:
    """The registered rewards, then each metric that scores single texts and so is a reward too."""
    rewards = {name: summary(registry.target("reward", name)) for name in registry.names("reward")}
    metrics = {
        name: summary(registry.target("metric", name))
        for name in registry.names("metric")
        if name not in rewards and name not in CORPUS_METRICS
    }
    return rewards | metrics


def _recipes() -> dict[str, Any]:
    """Print the built-in and the registered recipes in groups, and return them with their first lines."""
    groups: dict[str, dict[str, str]] = {}
    for name in recipes.names():
        try:
            files = recipes.find(name)
            group, line = recipes.heading(files), recipes.summary(files)
        except BadSetting as error:
            group, line = "recipes that cannot be read", str(error)
        groups.setdefault(group, {})[name] = line
    for group in sorted(groups, key=str.lower):
        print(group)
        width = COLUMNS - 4 - max(map(len, groups[group]))
        what = {name: line.partition("  ")[0] for name, line in groups[group].items()}
        _print({name: shorten(line, max(width, 40), placeholder=" ...") for name, line in what.items()}, "  ")
    summaries = {name: line for group in groups.values() for name, line in group.items()}
    return {
        "names": sorted(summaries),
        "summaries": {name: summaries[name] for name in sorted(summaries)},
        "groups": {group: list(names) for group, names in groups.items()},
    }


def _suites() -> dict[str, str]:
    """The built-in suites, each with the first line of its file."""
    return {
        file.stem: file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        for file in sorted(SUITES.glob("*.yaml"))
    }
