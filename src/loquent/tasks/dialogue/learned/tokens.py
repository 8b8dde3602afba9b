"""Dialogues as tokens: the caption, then each question and its answer, every text with a mark at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import tokenizer_files
from loquent.tasks.dialogue.game.rules import MOST_CHARACTERS

ROLES = 3  # of a text
CAPTION, QUESTION, ANSWER = range(ROLES)
CONTEXT = 256  # tokens that a network reads
LONGEST = 40  # tokens of a text with its mark, as many as ILQL's release generates; longer texts are cut
LEAST_VOCABULARY = 257  # 256 bytes and the mark

Rounds = Sequence[tuple[str, str]]


class Tokens(NamedTuple):
    """The ids of a dialogue's tokens and the role of each."""

    ids: tuple[int, ...]
    roles: tuple[int, ...]


class Encoding:
    """A tokenizer and its mark; a text that holds the mark's own text is cut into other tokens.

    Args:
        tokenizer: one of the package tokenizers that has the token `<|end|>`.
    """

    def __init__(self, tokenizer: Any) -> None:
        from loquent.pretrained import END

        tokenizer.encode_special_tokens = True
        self.tokenizer, self.end = tokenizer, tokenizer.token_to_id(END)

    @classmethod
    def make(cls, texts: Iterable[str], vocabulary: int) -> Encoding:
        """Byte-level pairs of some texts, which encode any text."""
        from loquent.pretrained.building import train_tokenizer

        return cls(train_tokenizer(texts, vocabulary, CONTEXT).backend_tokenizer)

    def __len__(self) -> int:
        """One more than the greatest id."""
        return 1 + max(self.tokenizer.get_vocab().values(), default=-1)

    def ids(self, text: str) -> list[int]:
        """The tokens of one text and the mark, at most `LONGEST`; BadModel if a word has no token."""
        from loquent.pretrained.language import plain

        read = plain(text[:MOST_CHARACTERS])
        with tokenizer_files.encoding(self.tokenizer, [read], "a trained seat"):
            ids = self.tokenizer.encode(read, add_special_tokens=False).ids
        return [*ids[: LONGEST - 1], self.end]

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens without a mark."""
        return str(self.tokenizer.decode(list(ids)))

    def dialogue(self, caption: str, rounds: Rounds, question: str | None = None) -> Tokens:
        """A dialogue; the oldest rounds are left out where they would leave no room for one more answer."""
        first = self._part(CAPTION, caption)
        last = [] if question is None else self._part(QUESTION, question)
        room, kept = CONTEXT - LONGEST - len(first) - len(last), list[tuple[int, int]]()
        for asked, answer in reversed(rounds):
            both = self._part(QUESTION, asked) + self._part(ANSWER, answer)
            if len(kept) + len(both) > room:
                break
            kept = both + kept
        ids, roles = zip(*first, *kept, *last, strict=True)
        return Tokens(ids, roles)

    def _part(self, role: int, text: str) -> list[tuple[int, int]]:
        return [(token, role) for token in self.ids(text)]

    def pad(self, dialogues: Sequence[Tokens]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """i64[n, length]: ids and roles; what follows a shorter dialogue looks like marks of questions."""
        ids = np.full((len(dialogues), max(len(each.ids) for each in dialogues)), self.end)
        roles = np.full_like(ids, QUESTION)
        for row, each in enumerate(dialogues):
            ids[row, : len(each.ids)], roles[row, : len(each.ids)] = each.ids, each.roles
        return ids, roles
