"""`loquent show`: a recipe with every default written out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipe


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print the recipe as YAML; return it as an object."""
    found = recipe.load(arguments.recipe, arguments.overrides)
    print(found.yaml(), end="")
    return 0, found.resolved()
