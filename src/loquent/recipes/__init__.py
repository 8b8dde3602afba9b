"""Recipes: a run as a value, loaded from YAML; the built-in recipes."""

from loquent.recipes.loading import FOLDER, Imports, Recipe, describe, load, names, schema

__all__ = ["FOLDER", "Imports", "Recipe", "describe", "load", "names", "schema"]
