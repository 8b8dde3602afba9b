"""Pairs of texts, one of them preferred."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two different texts after a prompt; raters prefer the first one or the second one.

    `margin`: by how much the score of the preferred text should exceed the other at least.
    """

    item: str
    prompt: str
    texts: tuple[str, str]
    prefers_first: bool
    margin: float = 0.0

    @property
    def chosen(self) -> str:
        """The preferred text."""
        return self.texts[0 if self.prefers_first else 1]

    @property
    def rejected(self) -> str:
        """The other text."""
        return self.texts[1 if self.prefers_first else 0]


@dataclass(frozen=True)
class Pairs:
    """All pairs of some files, and the number of judgements and of pairs that are left out."""

    pairs: tuple[Pair, ...]
    judgements: int
    undecided: int

    @property
    def digest(self) -> str:
        """A hash of the pairs in their order."""
        digest = hashlib.sha256()
        for one in self.pairs:
            margin = [one.margin] if one.margin else []
            parts = [one.item, one.prompt, *one.texts, one.prefers_first, *margin]
            digest.update(json.dumps(parts).encode())
        return digest.hexdigest()[:16]


def same_text(text: str) -> str:
    """A text without case and spacing; pairs with equal results count as the same text."""
    return " ".join(text.casefold().split())
