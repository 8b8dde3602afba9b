"""Penalties on the content of an answer: copying the prompt, and leaving out required concepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import PENALTIES, Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import BadSetting
from loquent.metrics.captions import concepts
from loquent.metrics.diversity.repetition import copied_share
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import without_punctuation, words


@dataclass(frozen=True, kw_only=True)
class CopyingOptions:
    """The options of the reward `copying`."""

    n: int = setting(3, "the length of the n-grams in words, without punctuation", low=1)


@dataclass(frozen=True, kw_only=True)
class MissingConceptsOptions:
    """The options of the reward `missing_concepts`."""

    field: str = setting(
        "concepts", "the row's field: a list of texts, or a text separated by spaces, commas or #"
    )
    concepts: tuple = setting((), "concepts that every answer must use; they replace the field")  # type: ignore[type-arg]  # a bare tuple takes texts and lists of texts


@dataclass(frozen=True)
class Copying:
    """Minus the share of an answer's n-grams that occur in its prompt; None without an n-gram."""

    n: int = 3
    name: ClassVar[str] = "copying"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = PENALTIES
    keys: ClassVar[tuple[str, ...]] = ("copying",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the answers against their prompts."""
        return with_means(
            {
                self.name: [
                    self._score(text, prompt)
                    for text, prompt in zip(samples.predictions, samples.prompts, strict=True)
                ]
            }
        )

    def _score(self, text: str, prompt: str) -> float | None:
        share = copied_share(without_punctuation(words(text)), without_punctuation(words(prompt)), self.n)
        return None if share is None else 0.0 - share


@dataclass(frozen=True)
class MissingConcepts:
    """Minus the share of the required concepts that an answer does not mention; None where none is required.

    Concepts and mentions are those of the metric `concept_coverage`.
    """

    field: str = "concepts"
    concepts: tuple[str, ...] = ()
    name: ClassVar[str] = "missing_concepts"
    version: ClassVar[int] = 2
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = PENALTIES
    keys: ClassVar[tuple[str, ...]] = ("missing_concepts",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the answers against the concepts of their rows."""
        return with_means(
            {
                self.name: [
                    self._score(text, row)
                    for text, row in zip(samples.predictions, samples.rows, strict=True)
                ]
            }
        )

    def _score(self, text: str, row: Row) -> float | None:
        required = list(self.concepts) or concepts.concepts_of(row.fields.get(self.field))
        return -len(concepts.missing_concepts(text, required)) / len(required) + 0.0 if required else None


@takes(CopyingOptions)
def copying(context: Context, options: CopyingOptions) -> Copying:
    """Minus the share of an answer's n-grams that occur in its prompt."""
    return Copying(options.n)


@takes(MissingConceptsOptions)
def missing_concepts(context: Context, options: MissingConceptsOptions) -> MissingConcepts:
    """Minus the share of the required concepts that an answer does not mention.

    Raises:
        BadSetting: `concepts` holds a value that is not a word.
    """
    for concept in options.concepts:
        if not (isinstance(concept, str) and concepts.WORD.search(concept)):
            raise BadSetting(
                f"missing_concepts.concepts: {concept!r} is not a word; give texts that contain a word"
            )
    return MissingConcepts(options.field, tuple(options.concepts))
