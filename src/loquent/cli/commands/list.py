"""`loquent list`: prints names with one-line summaries, read from source files without importing."""

from __future__ import annotations

import ast
from argparse import Namespace
from importlib import resources
from pathlib import Path
from typing import Any

from loquent.core import registry
from loquent.errors import BadSetting

PACKAGE = Path(str(resources.files("loquent")))
RECIPES, SUITES = PACKAGE / "recipes", PACKAGE / "bench" / "suites"


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print and return the names of a kind."""
    kind = arguments.kind.removesuffix("s")
    pages = {"recipe": _recipes, "suite": _suites}
    summaries = (
        pages[kind]()
        if kind in pages
        else {name: summary(registry.target(kind, name)) for name in registry.names(kind)}
    )
    width = max(map(len, summaries), default=0)
    for name, line in summaries.items():
        print(f"{name:<{width}}  {line}".rstrip())
    result = {"kind": kind, "names": list(summaries), "summaries": summaries}
    return 0, result | (
        {"needs": {name: needs(line) for name, line in summaries.items()}} if kind == "metric" else {}
    )


def summary(dotted: str) -> str:
    """The first line of the docstring of "module:Name", or of its module if the thing has none.

    Returns "" for a name outside this package.
    """
    module, _, name = dotted.partition(":")
    file = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not module.startswith("loquent.") or not file.is_file():
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


def needs(summary: str) -> str:
    """What a thing needs beside the plain install: the end of a summary "... Needs X.", or ""."""
    return summary.rpartition("Needs ")[2].rstrip(".") if "Needs " in summary else ""


def _recipes() -> dict[str, str]:
    """The built-in and the registered recipes, each with the first line of its file."""
    files = {file.stem: file for file in RECIPES.glob("*.yaml")}
    broken = {}
    for name in registry.names("recipe"):
        try:
            files[name] = registry.recipe_file(name)
        except BadSetting as error:
            broken[name] = str(error)
    return dict(sorted({**_first_lines(files), **broken}.items()))


def _suites() -> dict[str, str]:
    """The built-in suites, each with the first line of its file."""
    return _first_lines({file.stem: file for file in SUITES.glob("*.yaml")})


def _first_lines(files: dict[str, Path]) -> dict[str, str]:
    return {
        name: files[name].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        for name in sorted(files)
    }
