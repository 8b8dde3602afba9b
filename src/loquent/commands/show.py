"""`loquent show`: a recipe with every default written out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipe


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print the recipe as YAML; return it as an object."""
    print(recipe.show(arguments.recipe, arguments.overrides), end="")
    return 0, recipe.load(arguments.recipe, arguments.overrides).resolved()
