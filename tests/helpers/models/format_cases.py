"""Formats of each kind, made once, and turns to write with them."""

from itertools import chain

import numpy as np

from helpers.models.tokenizers_for_tests import (
    byte_level,
    chatml,
    ilql_byte_level,
    sentence_piece,
    wordle_characters,
)
from loquent.core.episode import Tokens, Turn
from loquent.models.format.names import Chat, Ilql, Plain

FORMATS = {
    "plain": lambda: Plain(byte_level()),
    "plain, spaces before texts": lambda: Plain(sentence_piece()),
    "plain, metaspace": lambda: Plain(sentence_piece(metaspace=True)),
    "chat": lambda: Chat(chatml()),
    "ilql": lambda: Ilql(ilql_byte_level()),
    "ilql, 35 characters": lambda: Ilql(wordle_characters()),
}
made = {}


def format_of(kind):
    return made.setdefault(kind, FORMATS[kind]())


def told(text):
    return Turn("task", text, to="agent")


def said(text, stopped="end", ids=None):
    nothing = None if ids is None else np.zeros(len(ids))
    return Turn(
        "agent",
        text,
        stopped=stopped,
        tokens=None if ids is None else Tokens(np.array(ids, dtype=np.int64), nothing, nothing),
    )


def ids_of(pieces):
    return tuple(chain.from_iterable(piece.ids for piece in pieces))
