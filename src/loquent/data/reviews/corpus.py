"""The built-in corpus: 24,000 distinct film reviews, written by a grammar from keyed streams, the same in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from loquent.data.reviews.grammar import CONTRAST, DETAIL, DIRECT, NEGATED, OPENING, PREMISE, names, neutral, sided, verdict
from loquent.data.reviews.lexicon import ASPECTS
from loquent.seeding import Key
from loquent.task import Row
from loquent.values import Record

SIZES = {"train": 20_000, "validation": 2_000, "test": 2_000}
LABELS = ("negative", "positive")
SHORTEST, LONGEST = 40, 120  # words, punctuation counted
OPENING_WORDS = 12  # no two reviews share so many words at the beginning
SEED = 20_251_121
ON_ITS_SIDE = 0.87  # how often a sentence takes the review's own side
DIRECT_SHARE, NEGATED_SHARE = 0.38, 0.36  # the rest are contrasts
DRAWS = 160  # uniforms for one review; the longest needs fewer than 130
BLOCK = 500

_ASPECTS = tuple(ASPECTS)
_ARTICLE = re.compile(r"\ba (?=[aeiou])")


@cache
def reviews() -> dict[str, tuple[Row, ...]]:
    """Rows by split, with `text`, `label` ("positive" or "negative") and `label_index` (1 or 0).

    No two reviews begin with the same 12 words, within a split or between splits, so that longer prompts are new in every split.
    Takes about two seconds once, then comes from memory.
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
    named = names(draw)
    said = [neutral(OPENING, draw, named), neutral(PREMISE, draw, named)]
    if next(draw) < 0.15:
        said.append(neutral(DETAIL, draw, named))
    aspect = int(next(draw) * len(_ASPECTS))
    count = 4 + int(next(draw) * 3)
    for i in range(count):
        if i > 0 and next(draw) < 0.15:
            said.append(neutral(DETAIL, draw, named))
        kind = next(draw)
        templates = DIRECT if kind < DIRECT_SHARE else NEGATED if kind < DIRECT_SHARE + NEGATED_SHARE else CONTRAST
        side = positive if next(draw) < ON_ITS_SIDE else not positive
        step = 1 + int(next(draw) * 2)  # one or two aspects on: nine aspects, so none returns too soon
        first, second = _ASPECTS[aspect % len(_ASPECTS)], _ASPECTS[(aspect + step) % len(_ASPECTS)]
        said.append(sided(templates, side, draw, named, first, second))
        aspect += 3 if step == 2 else 2
    said.append(verdict(positive, draw, named))
    return _ARTICLE.sub("an ", " ".join(said)), positive
