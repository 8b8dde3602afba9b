"""Recipes: a run as a value, loaded from YAML; the built-in recipes."""

from loquent.recipes.describing import describe
from loquent.recipes.loading import FOLDER, Imports, find, load, names, profiles
from loquent.recipes.pages import heading, summary
from loquent.recipes.recipe import Recipe

__all__ = [
    "FOLDER",
    "Imports",
    "Recipe",
    "describe",
    "find",
    "heading",
    "load",
    "names",
    "profiles",
    "summary",
]
