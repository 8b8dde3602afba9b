"""Featurizers, which map texts to vectors, and views, which map a task's observations to arrays with them."""

from loquent.data.features.base import Featurizer
from loquent.data.features.bytepair import BytePair
from loquent.data.features.making import make
from loquent.data.features.ngrams import Hashed
from loquent.data.features.vectors import WordVectors
from loquent.data.features.views import View, view

__all__ = [
    "BytePair",
    "Featurizer",
    "Hashed",
    "View",
    "WordVectors",
    "make",
    "view",
]
