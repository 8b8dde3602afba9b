"""`loquent list`: names, each with the first line of what it says about itself, read from the source without
importing it.
"""

from __future__ import annotations

import ast
from argparse import Namespace
from importlib import resources
from pathlib import Path
from typing import Any

from loquent.core import registry

HOUSE = Path(str(resources.files("loquent")))
RECIPES, SUITES = HOUSE / "recipes", HOUSE / "bench" / "suites"


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print and return the names of a kind."""
    kind = arguments.kind.removesuffix("s")
    pages = {"recipe": _recipes, "suite": _suites}
    found = (
        pages[kind]()
        if kind in pages
        else {name: summary(registry.target(kind, name)) for name in registry.names(kind)}
    )
    width = max(map(len, found), default=0)
    for name, line in found.items():
        print(f"{name:<{width}}  {line}".rstrip())
    result = {"kind": kind, "names": list(found), "summaries": found}
    return 0, result | (
        {"needs": {name: needs(line) for name, line in found.items()}} if kind == "metric" else {}
    )


def summary(dotted: str) -> str:
    """The first line of the docstring of "module:Name"; of its module where the thing has none.

    "" when there is no such file.
    """
    module, _, name = dotted.partition(":")
    file = HOUSE.joinpath(*module.split(".")[1:]).with_suffix(".py")
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
    """What a summary that ends in "Needs ..." says a thing needs beside the plain install.

    "" where it says nothing.
    """
    return summary.rpartition("Needs ")[2].rstrip(".") if "Needs " in summary else ""


def _recipes() -> dict[str, str]:
    """The built-in and the registered recipes with the first line of their page."""
    files = {file.stem: file for file in RECIPES.glob("*.yaml")} | {
        name: Path(registry.target("recipe", name)) for name in registry.names("recipe")
    }
    return _first_lines(files)


def _suites() -> dict[str, str]:
    """The built-in suites likewise."""
    return _first_lines({file.stem: file for file in SUITES.glob("*.yaml")})


def _first_lines(files: dict[str, Path]) -> dict[str, str]:
    return {
        name: files[name].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        for name in sorted(files)
    }
