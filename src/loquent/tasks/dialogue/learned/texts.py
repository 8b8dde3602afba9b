"""Captions and dialogues as vectors: hashed words, and hashed pairs of a question and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.data.features.ngrams import Hashed

WIDTH = 512
SHORT = 400  # characters; longer texts, of which there is no end, are not remembered
REMEMBERED = 16_384  # vectors of 2 KiB
WORDS = Hashed(dimension=WIDTH, characters=(), words=(2, 3), lower=True)
PAIRS = Hashed(dimension=WIDTH, characters=(), words=(), lower=True)


def words(text: str) -> NDArray[np.float32]:
    """f32[512]: the words of a text and their sequences of 2 and 3."""
    return _short(text) if len(text) <= SHORT else WORDS.encode([text])[0]


@lru_cache(maxsize=REMEMBERED)
def _short(text: str) -> NDArray[np.float32]:
    return WORDS.encode([text])[0]


def _pair(asked: str, answer: str) -> NDArray[np.float32]:
    short = len(asked) + len(answer) <= SHORT
    return _short_pair(asked, answer) if short else _encoded_pair(asked, answer)


@lru_cache(maxsize=REMEMBERED)
def _short_pair(asked: str, answer: str) -> NDArray[np.float32]:
    return _encoded_pair(asked, answer)


def _encoded_pair(asked: str, answer: str) -> NDArray[np.float32]:
    return PAIRS.encode(["_".join(f"{asked} {answer}".lower().split())])[0]


def question_features(question: str, caption: str, image: NDArray[np.floating]) -> NDArray[np.float32]:
    """f32[1024 + width]: what an answerer reads."""
    return np.concatenate([words(question), words(caption), image]).astype(np.float32)


def history_features(caption: str, history: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """f32[1536]: what a guesser reads: the caption, and the sums over all rounds so far."""
    rounds = np.zeros((2, WIDTH), dtype=np.float32)
    for question, answer in history:
        rounds[0] += words(f"{question} {answer}")
        rounds[1] += _pair(question, answer)
    return np.concatenate([words(caption), rounds[0], rounds[1]])
