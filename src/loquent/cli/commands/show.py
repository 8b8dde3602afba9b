"""`loquent show`: prints a recipe, or the recipe of a run, with every default written out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.files.run_folder import RunFolder
from loquent.training import recipes


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print the recipe as YAML and return it as an object.

    Code that the file names is imported only with --allow-imports.
    """
    folder = RunFolder(arguments.recipe)
    of_run = folder.is_run and arguments.recipe not in recipes.names()
    name = folder.config if of_run else arguments.recipe
    overrides = [*(folder.overrides() if of_run else ()), *arguments.overrides]
    imports: recipes.Imports = "all" if arguments.allow_imports else "none"
    recipe = recipes.load(name, overrides, profile=arguments.profile, imports=imports)
    print(recipe.yaml(), end="")
    return 0, recipe.resolved()
