"""Estimates before a run: the parameters, memory, disk and time of a recipe. No file is written."""

from __future__ import annotations

from loquent.core import registry
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience.source import experience_of
from loquent.training.recipes import Recipe
from loquent.training.start import source
from loquent.training.trainer import Trainer


def estimate(recipe: Recipe) -> Estimate:
    """Estimate what training this recipe would need, from a small part of it.

    The estimate itself takes seconds, and the memory of the networks and a few rows.
    """
    algorithm = registry.resolve("algorithm", recipe.algorithm)
    return experience_of(algorithm, source(algorithm, recipe.training)).estimate(recipe, Trainer)
