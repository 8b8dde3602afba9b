"""What built-in scenes show: five kinds of scenes, their subjects, and five properties of each kind.

They stand in `domains.yaml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import safe_yaml

TABLES: dict[str, Any] = safe_yaml.own(Path(__file__).with_name("domains.yaml"))


@dataclass(frozen=True)
class Property:
    """A property of a scene, with its values and its texts.

    `{s}` stands for the subject and `{v}` for a value. `cues` are words by which a free question is matched.
    """

    name: str
    asked: str
    checked: str  # the yes/no question about one value
    fact: str  # the statement in a caption
    values: tuple[str, ...]
    cues: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """One kind of scene."""

    name: str
    subjects: tuple[str, ...]
    properties: tuple[Property, ...]


def _property(name: str, values: list[str], cues: list[str], **texts: str) -> Property:
    return Property(name=name, values=tuple(values), cues=tuple(cues), **texts)


def _domain(name: str, subjects: list[str], properties: dict[str, Any]) -> Domain:
    return Domain(name, tuple(subjects), tuple(_property(each, **of) for each, of in properties.items()))


DOMAINS = tuple(_domain(name, **domain) for name, domain in TABLES["domains"].items())
DOMAIN_OF = {subject: domain for domain in DOMAINS for subject in domain.subjects}
# questions about none of the properties, with their answers in every scene
OFF_TOPIC: dict[str, str] = TABLES["off_topic"]
UNKNOWN = "i can't tell"
