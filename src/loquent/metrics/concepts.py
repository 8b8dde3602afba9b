"""Concept coverage (CommonGen, arXiv:1911.03705): the share of the given concepts that a text mentions, inflected forms included.

A concept of several words ("hot dog") must stand there word after word, the last of them inflected or not. Concepts come from a field of
the row, or from the prompt: what stands after its last colon ("generate a sentence with: dog ball run."); a prompt without a colon has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.inflections import forms
from loquent.metrics.options import takes
from loquent.metrics.pairs import averaged
from loquent.settings import setting
from loquent.task import Row

WORD = re.compile(r"[^\W_]+")
BETWEEN = re.compile(r"[\s,;#|]+")
AROUND = ".!?\"'()[]<>"


@dataclass(frozen=True, kw_only=True)
class ConceptOptions:
    """What the metric `concept_coverage` may be told."""

    source: str = setting("row", "where the concepts are: in a field of the row, or in the prompt after its last colon", choices=("row", "prompt"))
    field: str = setting("concepts", "the row's field, a list of texts or one text with spaces, commas or # between")


@dataclass(frozen=True)
class ConceptCoverage:
    """Concepts mentioned / concepts; None where a sample has none."""

    source: str = "row"
    field: str = "concepts"
    name: ClassVar[str] = "concept_coverage"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction by the concepts of its row or prompt; references are not read."""
        if self.source == "prompt":
            given = [split(prompt.rpartition(":")[2] if ":" in prompt else "") for prompt in prompts]
        else:
            given = [concepts_of(row.fields.get(self.field)) for row in rows]
        return averaged({self.name: [coverage(said, own) for said, own in zip(predictions, given, strict=True)]})


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
    """The concepts that a text does not mention."""
    words = WORD.findall(text.lower())
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return [concept for concept in concepts if not _mentioned(WORD.findall(concept.lower()), words, places)]


def concepts_of(given: Any) -> list[str]:
    """The concepts in a row's field: a sequence of texts, or one text; none where it is anything else."""
    if isinstance(given, str):
        return split(given)
    texts = given if isinstance(given, list | tuple) else ()
    return [text for text in texts if isinstance(text, str) and WORD.search(text)]


def split(text: str) -> list[str]:
    """The concepts of one text: its parts between spaces, commas, semicolons, # or |, each once."""
    parts = (part.strip(AROUND) for part in BETWEEN.split(text))
    return list(dict.fromkeys(part for part in parts if WORD.search(part)))


def _mentioned(concept: Sequence[str], words: Sequence[str], places: dict[str, list[int]]) -> bool:
    *first, last = concept
    ends = (end for form in forms(last) for end in places.get(form, ()))
    return any(list(words[max(end - len(first), 0) : end]) == first for end in ends)
