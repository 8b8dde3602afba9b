"""`loquent show`: prints a recipe, or the recipe of a run, with every default written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import Importing, Overriding, argument
from loquent.files.run_folder import RunFolder
from loquent.training import recipes


@dataclass(frozen=True, kw_only=True)
class Options(Overriding, Importing):
    """Options of `loquent show`."""

    examples = ("loquent show reviews_ppo",)
    recipe: str = argument("RECIPE", "a recipe's name, a YAML file, or the folder of a run")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print the recipe as YAML and return it as an object.

    Code that the file names is imported only with --allow-imports.
    """
    folder = RunFolder(options.recipe)
    of_run = folder.is_run and options.recipe not in recipes.names()
    name = folder.config if of_run else options.recipe
    overrides = [*(folder.overrides() if of_run else ()), *options.overrides]
    imports: recipes.Imports = "all" if options.allow_imports else "none"
    recipe = recipes.load(name, overrides, profile=options.profile, imports=imports)
    print(recipe.yaml(), end="")
    return 0, recipe.resolve()
