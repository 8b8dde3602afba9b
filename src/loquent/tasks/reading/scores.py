"""Scores: whether the memory holds an answer, and F1 and exact match of an answer.

Answers are normalised as SQuAD does (arXiv:1606.05250): lower case, without ASCII punctuation and articles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from loquent.metrics.lexical.squad import answer_words
from loquent.metrics.text import bag_f1
from loquent.tasks.reading.corpus import tokens

MATCHES = ("token", "substring")


def needles(golds: Iterable[str], match: str) -> tuple[str, ...]:
    """What a normalised memory must contain, for golds that are tokens with single spaces between them.

    Args:
        match: "token": whole words one after the other, and a gold without a word never counts; "substring":
            any characters, as in the paper's code, where a gold without a word always counts.
    """
    normalised = dict.fromkeys(" ".join(answer_words(gold)) for gold in golds)
    return tuple(normalised) if match == "substring" else tuple(f" {gold} " for gold in normalised if gold)


def sufficient(needles: Sequence[str], memory: Iterable[str], match: str = "token") -> bool:
    """Whether normalised sentences, oldest first, contain one of the needles.

    An answer may begin in one sentence and end in the next.
    """
    text = " ".join([sentence for sentence in memory if sentence])
    if match == "token":
        text = f" {text} "
    return any(needle in text for needle in needles)


def holds(golds: Sequence[str], memory: Sequence[str], match: str = "token") -> bool:
    """`sufficient` for golds and sentences as raw texts."""
    texts = [" ".join(answer_words(" ".join(tokens.lower_tokens(sentence)))) for sentence in memory]
    return sufficient(needles((" ".join(tokens.lower_tokens(gold)) for gold in golds), match), texts, match)


def spans(needles: Iterable[str], memory: Iterable[str]) -> list[tuple[int, int]]:
    """Where the answers stand in the memory: half-open ranges of its tokens, in order, each once.

    Tokens are counted through all sentences. There is a range exactly where `sufficient` with whole words is
    True. The first and the last token of a range are never punctuation or an article.

    Args:
        needles: as `needles(..., "token")` makes them.
        memory: sentences as tokens with single spaces between them, oldest first.
    """
    words: list[str] = []
    places: list[int] = []  # the token of each word
    for place, token in enumerate(token for sentence in memory for token in sentence.split(" ")):
        own = token_words(token)
        words += own
        places += [place] * len(own)
    found = set()
    for needle in needles:
        wanted = needle.split()
        for i in range(len(words) - len(wanted) + 1):
            if wanted and words[i : i + len(wanted)] == wanted:
                found.add((places[i], places[i + len(wanted) - 1] + 1))
    return sorted(found)


@lru_cache(maxsize=1 << 16)
def sentence_words(sentence: str) -> str:
    """The words of a sentence of tokens by which answers are compared, with single spaces between them."""
    return " ".join(answer_words(sentence))


@lru_cache(maxsize=1 << 16)
def token_words(token: str) -> tuple[str, ...]:
    """The words of one token by which answers are compared; () for punctuation and articles."""
    return tuple(answer_words(token))


def f1(answer: str, golds: Iterable[str]) -> float:
    """The best token F1 of an answer over the golds; 1 for two answers without a word (SQuAD)."""
    words = answer_words(answer)
    return max((bag_f1(words, answer_words(gold), empty=1.0) for gold in golds), default=0.0)


def exact_match(answer: str, golds: Iterable[str]) -> float:
    """1 if the normalised answer equals a normalised gold, else 0."""
    words = answer_words(answer)
    return float(any(words == answer_words(gold) for gold in golds))
