"""Penalties on what an answer says beside what it was given: copying its prompt, and leaving out concepts it was to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics import concepts
from loquent.metrics.diversity import ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, mean, words
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class CopyingOptions:
    """What the reward `copying` may be told."""

    n: int = setting(3, "the length of the n-grams, in words, punctuation not counted", low=1)


@dataclass(frozen=True, kw_only=True)
class MissingConceptsOptions:
    """What the reward `missing_concepts` may be told."""

    field: str = setting("concepts", "the row's field, a list of texts or one text with spaces, commas or # between")
    concepts: tuple = setting((), "concepts that every answer is to use, in place of a field")  # type: ignore[type-arg]


@dataclass(frozen=True)
class Copying:
    """Minus the share of an answer's n-grams that stand in its prompt; no score for an answer without an n-gram."""

    n: int = 3
    name: ClassVar[str] = "copying"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("copying",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the answers beside their prompts."""
        return _measured(self.name, [self._one(text, prompt) for text, prompt in zip(predictions, prompts, strict=True)])

    def _one(self, text: str, prompt: str) -> float | None:
        share = copied(text, prompt, self.n)
        return None if share is None else 0.0 - share


@dataclass(frozen=True)
class MissingConcepts:
    """Minus the share of the wanted concepts that an answer does not mention, both as in `concept_coverage`; no score where none is wanted."""

    field: str = "concepts"
    concepts: tuple[str, ...] = ()
    name: ClassVar[str] = "missing_concepts"
    version: ClassVar[int] = 2
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("missing_concepts",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the answers by what their rows ask for."""
        return _measured(self.name, [self._one(text, row) for text, row in zip(predictions, rows, strict=True)])

    def _one(self, text: str, row: Row) -> float | None:
        wanted = list(self.concepts) or concepts.concepts_of(row.fields.get(self.field))
        return -len(concepts.missing_concepts(text, wanted)) / len(wanted) + 0.0 if wanted else None


@takes(CopyingOptions)
def copying(context: Context, options: CopyingOptions) -> Copying:
    """The registered reward `copying`."""
    return Copying(options.n)


@takes(MissingConceptsOptions)
def missing_concepts(context: Context, options: MissingConceptsOptions) -> MissingConcepts:
    """The registered reward `missing_concepts`.

    Raises:
        BadSetting: `concepts` holds something else than words.
    """
    for one in options.concepts:
        if not (isinstance(one, str) and concepts.WORD.search(one)):
            raise BadSetting(f"missing_concepts.concepts: {one!r} is no word")
    return MissingConcepts(options.field, tuple(options.concepts))


def copied(text: str, prompt: str, n: int) -> float | None:
    """The share of a text's n-grams of words that stand in the prompt; None for a text without one."""
    said, told = ([word for word in words(one) if not is_punctuation(word)] for one in (text, prompt))
    known, grams = set(ngrams(told, n)), list(ngrams(said, n))
    return sum(gram in known for gram in grams) / len(grams) if grams else None


def _measured(name: str, scores: Sequence[float | None]) -> Measured:
    average = mean(scores)
    return Measured({name: list(scores)}, {} if average is None else {name: average})
