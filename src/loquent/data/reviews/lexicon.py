"""The words of the built-in reviews: aspects of films, positive and negative words, and neutral words.

They stand in `words.yaml`. A phrase may hold slots in braces, which the same tables fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import safe_yaml

TABLES: dict[str, Any] = safe_yaml.own(Path(__file__).with_name("words.yaml"))


@dataclass(frozen=True)
class Aspect:
    """An aspect of a film: its nouns, and the adjectives for and against it."""

    nouns: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]


def _words(table: dict[str, str | list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words.split() if isinstance(words, str) else words) for name, words in table.items()}


ASPECTS = {name: Aspect(**_words(aspect)) for name, aspect in TABLES["aspects"].items()}
GOOD, BAD, NEUTRAL = (_words(TABLES[name]) for name in ("good", "bad", "neutral"))
TEMPLATES = _words(TABLES["templates"])
