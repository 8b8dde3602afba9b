"""Concept coverage (CommonGen, arXiv:1911.03705): the share of the required concepts that a text mentions.

Inflected forms count as mentions. A concept of several words ("hot dog") must occur word after word, the last
word inflected or not. Concepts come from a field of the row, or from the prompt: the text after its last
colon ("generate a sentence with: dog ball run."). A prompt without a colon has no concepts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.captions.inflections import forms
from loquent.metrics.shared_parts import with_means

WORD = re.compile(r"[^\W_]+")
BETWEEN = re.compile(r"[\s,;#|]+")
AROUND = ".!?\"'()[]<>"


@dataclass(frozen=True, kw_only=True)
class ConceptOptions:
    """Options of the metric `concept_coverage`."""

    source: str = setting(
        "row",
        "the place of the concepts: a field of the row, or the prompt after its last colon",
        choices=("row", "prompt"),
    )
    field: str = setting(
        "concepts", "the row's field: a list of texts, or one text with spaces, commas or # as separators"
    )


@dataclass(frozen=True)
class ConceptCoverage(Share, OneKey):
    """The share of a sample's concepts that its prediction mentions; None for a sample without concepts."""

    source: str = "row"
    field: str = "concepts"
    name: ClassVar[str] = "concept_coverage"

    @property
    def penalties(self) -> dict[str, tuple[str, dict[str, str]]]:
        """The reward `missing_concepts`, which reads the row."""
        return {self.name: ("missing_concepts", {"field": self.field})} if self.source == "row" else {}

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction by the concepts of its row or prompt; references are not read."""
        if self.source == "prompt":
            concepts = [
                split(prompt.rpartition(":")[2] if ":" in prompt else "") for prompt in samples.prompts
            ]
        else:
            concepts = [concepts_of(row.fields.get(self.field)) for row in samples.rows]
        return with_means(
            {
                self.name: [
                    coverage(text, items) for text, items in zip(samples.predictions, concepts, strict=True)
                ]
            }
        )


@takes(ConceptOptions)
def concept_coverage(context: Context, options: ConceptOptions) -> ConceptCoverage:
    """The share of the row's or the prompt's concepts that a text mentions, inflected forms included."""
    return ConceptCoverage(options.source, options.field)


def coverage(text: str, concepts: Sequence[str]) -> float | None:
    """The share of concepts that the text mentions; None without concepts."""
    if not concepts:
        return None
    missing = missing_concepts(text, concepts)
    return 1 - len(missing) / len(concepts)


def missing_concepts(text: str, concepts: Sequence[str]) -> list[str]:
    """The concepts that a text does not mention, in order."""
    words = WORD.findall(text.lower())
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return [concept for concept in concepts if not _mentioned(WORD.findall(concept.lower()), words, places)]


def concepts_of(value: Any) -> list[str]:
    """The concepts in a row's field: a sequence of texts, or one text; an empty list for any other value."""
    if isinstance(value, str):
        return split(value)
    texts = value if isinstance(value, list | tuple) else ()
    return [text for text in texts if isinstance(text, str) and WORD.search(text)]


def split(text: str) -> list[str]:
    """The concepts of one text, separated by spaces, commas, semicolons, # or |, without duplicates."""
    parts = (part.strip(AROUND) for part in BETWEEN.split(text))
    return list(dict.fromkeys(part for part in parts if WORD.search(part)))


def _mentioned(concept: Sequence[str], words: Sequence[str], places: dict[str, list[int]]) -> bool:
    *first, last = concept
    ends = (end for form in forms(last) for end in places.get(form, ()))
    return any(list(words[max(end - len(first), 0) : end]) == first for end in ends)
