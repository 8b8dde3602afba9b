"""The built-in corpus: 24,000 distinct film reviews from a seeded grammar, equal in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.reviews.grammar import (
    CONTRAST,
    DETAIL,
    DIRECT,
    NEGATED,
    OPENING,
    PREMISE,
    names,
    neutral,
    verdict,
    write_sentence,
)
from loquent.data.reviews.lexicon import ASPECTS

SIZES = {"train": 20_000, "validation": 2_000, "test": 2_000}
LABELS = ("negative", "positive")
SHORTEST, LONGEST = 40, 120  # words with punctuation
OPENING_WORDS = 12  # no two reviews share their first 12 words
SEED = 20_251_121
ON_ITS_SIDE = 0.87  # the share of sentences with the review's own polarity
DIRECT_SHARE, NEGATED_SHARE = 0.38, 0.36  # the rest are contrasts
DRAWS = 160  # uniform numbers for one review; the longest needs fewer than 130
BLOCK = 500

_ASPECTS = tuple(ASPECTS)
_ARTICLE = re.compile(r"\ba (?=[aeiou])")


@cache
def reviews() -> dict[str, tuple[Row, ...]]:
    """Rows by split, with `text`, `label` ("positive" or "negative") and `label_index` (1 or 0).

    No two reviews of any splits begin with the same 12 words, so prompts of 12 or more words are unique to
    one split. The first call takes about two seconds; the result is cached.
    """
    openings: set[str] = set()
    return {split: tuple(islice(_rows(split, openings), size)) for split, size in SIZES.items()}


def _rows(split: str, openings: set[str]) -> Iterator[Row]:
    number = 0
    for text, positive in _drafts(Key(SEED, ("reviews", split))):
        words = text.split()
        opening = " ".join(words[:OPENING_WORDS])
        if not SHORTEST <= len(words) <= LONGEST or opening in openings:
            continue
        openings.add(opening)
        yield Row(f"{split}-{number}", Record(text=text, label=LABELS[positive], label_index=int(positive)))
        number += 1


def _drafts(key: Key) -> Iterator[tuple[str, bool]]:
    block = 0
    while True:
        for uniforms in key.child(block).generator().random((BLOCK, DRAWS)).tolist():
            yield _review(iter(uniforms))
        block += 1


def _review(draw: Iterator[float]) -> tuple[str, bool]:
    positive = next(draw) < 0.5
    chosen_names = names(draw)
    sentences = [neutral(OPENING, draw, chosen_names), neutral(PREMISE, draw, chosen_names)]
    if next(draw) < 0.15:
        sentences.append(neutral(DETAIL, draw, chosen_names))
    aspect = int(next(draw) * len(_ASPECTS))
    count = 4 + int(next(draw) * 3)
    for i in range(count):
        if i > 0 and next(draw) < 0.15:
            sentences.append(neutral(DETAIL, draw, chosen_names))
        kind = next(draw)
        templates = (
            DIRECT if kind < DIRECT_SHARE else NEGATED if kind < DIRECT_SHARE + NEGATED_SHARE else CONTRAST
        )
        side = positive if next(draw) < ON_ITS_SIDE else not positive
        # One or two aspects further, so that an aspect does not repeat too soon
        step = 1 + int(next(draw) * 2)
        first, second = _ASPECTS[aspect % len(_ASPECTS)], _ASPECTS[(aspect + step) % len(_ASPECTS)]
        sentences.append(write_sentence(templates, side, draw, chosen_names, first, second))
        aspect += 3 if step == 2 else 2
    sentences.append(verdict(positive, draw, chosen_names))
    return _ARTICLE.sub("an ", " ".join(sentences)), positive
