"""A built-in scene: its subject and the value of each property, and its vector of features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF, DOMAINS, Domain, Property

WIDTH = 64
VALUES = 4  # of each property
PROPERTIES = 5  # of each domain


@dataclass(frozen=True)
class Scene:
    """A subject and, for each property of its domain, the number of its value."""

    subject: str
    values: tuple[int, ...]

    @property
    def domain(self) -> Domain:
        """The kind of scene."""
        return DOMAIN_OF[self.subject]

    def text(self, number: int) -> str:
        """The value of a property as a text."""
        return value_text(self.domain.properties[number], self.values[number], self.subject)

    def caption(self, number: int) -> str:
        """A caption that states the subject and the value of one property."""
        return caption(self.subject, number, self.values[number])


def value_text(of: Property, value: int, subject: str) -> str:
    """The text of a value; {s} in it is the subject."""
    return of.values[value].format(s=subject)


def caption(subject: str, number: int, value: int) -> str:
    """The caption of a scene with a subject that states the value of one property."""
    stated = DOMAIN_OF[subject].properties[number]
    return f"a {subject} ; " + stated.fact.format(s=subject, v=value_text(stated, value, subject))


def indicators(subject: str, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
    """f64[120]: 1 at the subject, and the probability of each value of each property of its domain.

    Args:
        beliefs: f64[5, 4]; of a scene itself, rows with a single 1.
    """
    subjects = [name for domain in DOMAINS for name in domain.subjects]
    place = DOMAINS.index(DOMAIN_OF[subject])
    values = np.zeros((len(DOMAINS), PROPERTIES, VALUES))
    values[place] = beliefs
    return np.concatenate([[float(subject == name) for name in subjects], values.ravel()])


def features(subject: str, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
    """f64[64]: the features of a scene, or their mean over the scenes that one believes in.

    They are a fixed random projection of `indicators`, so that no single number shows a property.
    """
    projected: NDArray[np.float64] = indicators(subject, beliefs) @ _projection()
    return projected


def features_of(scene: Scene) -> NDArray[np.float64]:
    """f64[64]: the features of a scene."""
    return features(scene.subject, np.eye(VALUES)[list(scene.values)])


@cache
def _projection() -> NDArray[np.float64]:
    size = sum(len(domain.subjects) for domain in DOMAINS) + len(DOMAINS) * PROPERTIES * VALUES
    return Key(0, ("dialogue", "features")).generator().standard_normal((size, WIDTH)) / np.sqrt(WIDTH)
