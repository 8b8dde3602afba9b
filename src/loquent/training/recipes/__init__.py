"""Recipes: a run as a value, loaded from YAML; the built-in recipes."""

from loquent.training.recipes.describing import describe
from loquent.training.recipes.loading import FOLDER, Imports, find, load, names, profiles
from loquent.training.recipes.pages import heading, summary
from loquent.training.recipes.recipe import Recipe

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
