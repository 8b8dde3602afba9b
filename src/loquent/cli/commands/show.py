"""`loquent show`: a recipe, or that of a run, with every default written out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipes
from loquent.files.run_folder import RunFolder


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print the recipe as YAML; return it as an object.

    Code that a file names is not imported unless that is allowed.
    """
    of_run = RunFolder(arguments.recipe).config
    name = of_run if of_run.is_file() and arguments.recipe not in recipes.names() else arguments.recipe
    found = recipes.load(name, arguments.overrides, imports="all" if arguments.allow_imports else "none")
    print(found.yaml(), end="")
    return 0, found.resolved()
