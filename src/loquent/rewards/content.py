"""Penalties on what an answer says beside what it was given: copying its prompt, and leaving out concepts it was to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.diversity import ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, mean, words
from loquent.settings import setting
from loquent.task import Row

VOWELS = "aeiou"


@dataclass(frozen=True, kw_only=True)
class CopyingOptions:
    """What the reward `copying` may be told."""

    n: int = setting(3, "the length of the n-grams, in words, punctuation not counted", low=1)


@dataclass(frozen=True, kw_only=True)
class MissingConceptsOptions:
    """What the reward `missing_concepts` may be told."""

    field: str = setting("concepts", "the row's field with the concepts: a list of words, or one text of them")
    concepts: tuple = setting((), "concepts that every answer is to use, in place of a field")  # type: ignore[type-arg]
    inflected: bool = setting(True, "regular inflections count: dogs, running, tried for dog, run, try")


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
    """Minus the share of the wanted concepts that no word of an answer is; no score where none is wanted."""

    field: str = "concepts"
    concepts: tuple[str, ...] = ()
    inflected: bool = True
    name: ClassVar[str] = "missing_concepts"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("missing_concepts",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the answers by what their rows ask for."""
        return _measured(self.name, [self._one(text, row) for text, row in zip(predictions, rows, strict=True)])

    def _one(self, text: str, row: Row) -> float | None:
        wanted = [concept for concept in map(words, self.concepts or self._asked(row)) if concept]
        if not wanted:
            return None
        said = words(text)
        return -sum(not self._used(concept, said) for concept in wanted) / len(wanted) + 0.0

    def _asked(self, row: Row) -> list[str]:
        given = row.fields.get(self.field) or ()
        return given.split() if isinstance(given, str) else [str(one) for one in given]

    def _used(self, concept: Sequence[str], said: Sequence[str]) -> bool:
        """Whether the words of a concept stand in a row; of its last one an inflection may."""
        last = forms(concept[-1]) if self.inflected else {concept[-1]}
        return any(list(gram[:-1]) == list(concept[:-1]) and gram[-1] in last for gram in ngrams(said, len(concept)))


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
        if not (isinstance(one, str) and words(one)):
            raise BadSetting(f"missing_concepts.concepts: {one!r} is no word")
    return MissingConcepts(options.field, tuple(options.concepts), options.inflected)


def copied(text: str, prompt: str, n: int) -> float | None:
    """The share of a text's n-grams of words that stand in the prompt; None for a text without one."""
    said, told = ([word for word in words(one) if not is_punctuation(word)] for one in (text, prompt))
    known, grams = set(ngrams(told, n)), list(ngrams(said, n))
    return sum(gram in known for gram in grams) / len(grams) if grams else None


def forms(word: str) -> set[str]:
    """A word and its regular inflections in English, by spelling alone."""
    return {word, *_endings(word)}


def _endings(word: str) -> Iterator[str]:
    consonant_y = len(word) > 1 and word[-1] == "y" and word[-2] not in VOWELS
    stem = word[:-1]
    if consonant_y:
        yield from (stem + "ies", stem + "ied", stem + "ier", stem + "iest", word + "ing")
        return
    yield word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    yield word + "s"
    if word.endswith("e"):
        yield from (word + "d", word + "r", word + "st", stem + "ing")
        return
    doubled = len(word) > 2 and word[-1] not in VOWELS + "wxy" and word[-2] in VOWELS and word[-3] not in VOWELS
    for base in {word, word + word[-1:] if doubled else word}:
        yield from (base + "ed", base + "ing", base + "er", base + "est")


def _measured(name: str, scores: Sequence[float | None]) -> Measured:
    average = mean(scores)
    return Measured({name: list(scores)}, {} if average is None else {name: average})
