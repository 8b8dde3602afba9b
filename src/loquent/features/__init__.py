"""Featurizers, which map texts to vectors, and views, which map a task's observations to arrays with them."""

from loquent.features.base import Featurizer
from loquent.features.bytepair import BytePair
from loquent.features.encoders import Contextual, Sentence
from loquent.features.hashed import Hashed
from loquent.features.making import make
from loquent.features.vectors import WordVectors
from loquent.features.views import View, view

__all__ = [
    "BytePair",
    "Contextual",
    "Featurizer",
    "Hashed",
    "Sentence",
    "View",
    "WordVectors",
    "make",
    "view",
]
