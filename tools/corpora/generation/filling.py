"""Draws of the built-in stand-ins: records by split, of which no two have the same content."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from tools.corpora.drawing import Draws

Records = dict[str, tuple[Mapping[str, Any], ...]]
SIZES = {"train": 3000, "validation": 300, "test": 300}
_FIELD = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


def distinct(
    purpose: str, write: Callable[[Draws, str], tuple[Hashable, Mapping[str, Any]]], sizes: Mapping[str, int]
) -> Records:
    """Records by split, equal in every process.

    Args:
        write: draws the content and the record of one row of a split; a content that an earlier row of any
            split has is drawn again.
    """
    contents: set[Hashable] = set()
    splits: Records = {}
    for split, size in sizes.items():
        draw = Draws("generation", purpose, split)
        found: list[Mapping[str, Any]] = []
        while len(found) < size:
            content, record = write(draw, split)
            if content not in contents:
                contents.add(content)
                found.append(record)
        splits[split] = tuple(found)
    return splits


def fill(template: str, words: Mapping[str, str]) -> str:
    """A template with words in place of names in braces, "a" or "an" by the next letter, a capital first."""
    text = _ARTICLE.sub(r"\1n ", _FIELD.sub(lambda match: words[match[1]], template))
    return text[:1].upper() + text[1:]


def written(draw: Draws, templates: Sequence[str], count: int, words: Mapping[str, str]) -> list[str]:
    """Texts of `count` different templates, all filled with the same words."""
    return [fill(template, words) for template in draw.sample(templates, count)]
