"""Built-in texts with one to four subjects, from a seeded grammar.

The labels of a text are the subjects with news. Most texts also name subjects without news ("there was no
word on oil"), which are no labels. The labels are in the order of the number of sentences about them, for
rewards that depend on the order.
"""

from __future__ import annotations

from functools import lru_cache

from loquent.core.values import Record
from loquent.data.sources import Splits
from tools.corpora.drawing import Draws, disjoint, tables

SIZES = {"train": 3000, "validation": 500, "test": 500}
NEGATED = 0.6  # the share of texts that name a subject without news
TABLES = tables("texts")
SUBJECTS = TABLES["subjects"]
LABELS = tuple(SUBJECTS)
NEWS = TABLES["news"]
NO_NEWS = TABLES["no_news"]
PLAIN = ("the meeting ended in {d} .", "the minister did not answer .", "it was the {k} report this year .")
WORDS = TABLES["words"]


@lru_cache(maxsize=1)
def splits() -> Splits:
    """All texts by split; equal in every process. No text stands in two splits."""
    return disjoint("texts", SIZES, lambda draw, split: _text(draw))


def _text(draw: Draws) -> Record:
    count = 1 + sum(draw.below(share) for share in (0.6, 0.45, 0.3))
    chosen = draw.sample(LABELS, count + 2)
    labels, others = chosen[:count], chosen[count:]
    sentences = [
        _sentence(draw, draw.choice(NEWS), label)
        for rank, label in enumerate(labels)
        for _ in range(count - rank)
    ]
    if draw.below(NEGATED):
        sentences += [_sentence(draw, draw.choice(NO_NEWS), label) for label in others[: 1 + draw.below(0.5)]]
    sentences.append(_sentence(draw, draw.choice(PLAIN), labels[0]))
    return Record(text=" ".join(draw.sample(sentences, len(sentences))), labels=tuple(labels))


def _sentence(draw: Draws, template: str, label: str) -> str:
    return template.format(
        w=draw.choice(SUBJECTS[label]), **{name: draw.choice(words) for name, words in WORDS.items()}
    )
