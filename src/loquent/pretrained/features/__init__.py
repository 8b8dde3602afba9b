"""Featurizers, which map texts to vectors, and views, which map a task's observations to arrays with them."""

from loquent.pretrained.features.base import Featurizer
from loquent.pretrained.features.bytepair import BytePair
from loquent.pretrained.features.encoders import Contextual, Sentence
from loquent.pretrained.features.hashed import Hashed
from loquent.pretrained.features.making import make
from loquent.pretrained.features.vectors import WordVectors
from loquent.pretrained.features.views import View, view

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
