"""A game: a document with a question about it, and all that a step reads of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from loquent.core.values import Record
from loquent.tasks.reading.commands import SEARCH, text_of
from loquent.tasks.reading.corpus import stopwords, tokens
from loquent.tasks.reading.corpus.documents import Document, document, join_pieces
from loquent.tasks.reading.scores import exact_match, f1, needles

KEPT = 1 << 17  # games that are kept in memory


@dataclass(frozen=True)
class Game:
    """A document and a question.

    asked: the question as its source has it. question: its tokens in lower case, with spaces between them.
    queries: the question's tokens that may be queries, each once, in order.
    golds: the right answers as their source has them.
    answers: the right answers as tokens, by which an answer is scored: the tokens that an answer touches,
        and its own tokens, which differ where it begins or ends inside a token.
    tokenised: whether the tokens of the source stand between spaces.
    stop_words: the words that are no queries, as in `stopwords.is_query`.
    needles: what a normalised memory must contain to be sufficient (`scores.needles`).
    legal: the texts of the plain commands, and of the searches for the queries.
    """

    document: Document
    asked: str
    question: str
    queries: tuple[str, ...]
    golds: tuple[str, ...]
    answers: tuple[str, ...]
    tokenised: bool
    stop_words: frozenset[str] | None
    needles: tuple[str, ...]
    legal: tuple[str, ...]


@lru_cache(maxsize=KEPT)
def game(
    fields: Record,
    splitter: str,
    match: str,
    plain: tuple[str, ...],
    slots: int,
    stop_words: frozenset[str] | None = None,
) -> Game:
    """The game of a row; equal arguments give the same object.

    Args:
        plain: the commands without a query. slots: the most searches in `legal`.
        stop_words: as in `stopwords.is_query`.

    Raises:
        ValueError: the paragraph has no sentence.
    """
    tokenised, asked, texts = fields["tokenised"], fields["question"], fields["answers"]
    paragraph = document(fields["context"], fields["places"], tokenised, splitter)
    question, covered = as_tokens(asked, tokenised), golds(fields, paragraph)
    queries = stopwords.queries(question.split(" "), stop_words)
    return Game(
        document=paragraph,
        asked=asked,
        question=question,
        queries=queries,
        golds=texts,
        answers=tuple(dict.fromkeys(as_tokens(text, tokenised) for text in (*covered, *texts))),
        tokenised=tokenised,
        stop_words=stop_words,
        needles=needles(covered, match),
        legal=searches(plain, queries, slots),
    )


def as_tokens(text: str, tokenised: bool) -> str:
    """The tokens of a text in lower case, with single spaces between them.

    Args:
        tokenised: whether they stand between spaces already.
    """
    return " ".join(text.lower().split() if tokenised else tokens.lower_tokens(text))


def score(game: Game, answer: str) -> tuple[float, float]:
    """F1 and exact match of an answer, whose tokens are compared with those of the right answers."""
    text = as_tokens(answer, game.tokenised)
    return f1(text, game.answers), exact_match(text, game.answers)


def golds(fields: Record, paragraph: Document) -> list[str]:
    """The right answers of a row as tokens of its paragraph, with single spaces between them."""
    return [
        paragraph.covering(start, start + len(answer))
        if start >= 0
        else " ".join(tokens.lower_tokens(answer))
        for answer, start in zip(fields["answers"], fields["starts"], strict=True)
    ]


def with_distractors(game: Game, others: Iterable[Document], rng: np.random.Generator) -> Game:
    """The game with all sentences of other documents inserted, one by one, at uniform random places."""
    pieces = [(game.document, i) for i in range(len(game.document.ranges))]
    for other in others:
        for i in range(len(other.ranges)):
            pieces.insert(int(rng.integers(len(pieces) + 1)), (other, i))
    return replace(game, document=join_pieces(pieces))


@lru_cache(maxsize=KEPT)
def searches(plain: tuple[str, ...], queries: tuple[str, ...], size: int) -> tuple[str, ...]:
    """The texts of the plain commands, and of the searches for the first `size` queries."""
    return (*plain, *(text_of(SEARCH, query) for query in queries[:size]))


@lru_cache(maxsize=KEPT)
def queries_of(sentence: str, stop_words: frozenset[str] | None) -> tuple[str, ...]:
    """The tokens of a sentence that may be queries, each once, in order."""
    return stopwords.queries(sentence.split(" "), stop_words)


def with_memory(game: Game, memory: Sequence[str]) -> tuple[str, ...]:
    """The queries of the question, then those of the sentences in memory, each once."""
    return tuple(dict.fromkeys(_chained(game, memory)))


def _chained(game: Game, memory: Sequence[str]) -> Iterator[str]:
    yield from game.queries
    for sentence in memory:
        yield from queries_of(sentence, game.stop_words)
