"""`loquent list`: prints names with one-line summaries, read from source files without importing."""

from __future__ import annotations

import ast
import importlib.util
from argparse import Namespace
from importlib import resources
from pathlib import Path
from typing import Any

from loquent.core import registry
from loquent.core.catalogue import CORPUS_METRICS
from loquent.errors import BadSetting

PACKAGE = Path(str(resources.files("loquent")))
RECIPES, SUITES = PACKAGE / "recipes", PACKAGE / "bench" / "suites"


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print and return the names of a kind."""
    kind = arguments.kind.removesuffix("s")
    pages = {"recipe": _recipes, "suite": _suites, "reward": _rewards}
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


def _recipes() -> dict[str, str]:
    """The built-in and the registered recipes, each with the first line of its file."""
    files = {file.stem: file for file in (*RECIPES.glob("*.yaml"), *RECIPES.glob("grue/*.yaml"))}
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
