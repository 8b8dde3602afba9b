"""Legal words: the texts of an action set as a trie over token ids, so that a language model can only say
what is legal.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import MASK_LIMIT, ActionSet, Legal
from loquent.errors import BadModel, LoquentError

TEXT_LIMIT = 300_000  # past this a set is used by the grammar of its parts
Node = tuple[int, int, int]  # rows lo..hi of the sorted table agree in their first `depth` ids

_said: weakref.WeakKeyDictionary[Any, dict[str, tuple[int, ...]]] = weakref.WeakKeyDictionary()


class Trie:
    """Sequences of token ids by their beginnings.

    A node is a range of the sorted table, so 300,000 words stay small.
    """

    root: Node

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        if not sequences or any(not len(sequence) for sequence in sequences):
            raise LoquentError("a trie needs at least one sequence, and none may be empty")
        width = max(map(len, sequences))
        table = np.full((len(sequences), width), -1, dtype=np.int32)  # -1: the sequence is over
        for row, sequence in zip(table, sequences, strict=True):
            row[: len(sequence)] = sequence
        self.table = np.unique(table, axis=0)
        self.root = (0, len(self.table), 0)
        self._next: dict[Node, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self.table)

    def allowed(self, node: Node) -> NDArray[np.int64]:
        """The ids that may follow here, ascending; empty when every sequence is over."""
        if node not in self._next:
            lo, hi, depth = node
            ids = np.unique(self.table[lo:hi, depth]) if depth < self.table.shape[1] else np.empty(0)
            self._next[node] = ids[ids >= 0].astype(np.int64)
        return self._next[node]

    def step(self, node: Node, token: int) -> Node:
        """The node after one more id; an empty range where no sequence goes that way."""
        lo, hi, depth = node
        if depth >= self.table.shape[1]:
            return lo, lo, depth + 1
        column = self.table[lo:hi, depth]
        return (
            lo + int(np.searchsorted(column, token, "left")),
            lo + int(np.searchsorted(column, token, "right")),
            depth + 1,
        )


def answer_ids(format: Any, text: str) -> tuple[int, ...]:
    """The action tokens, end marker included, that a format gives an answer of this text.

    Kept for each format.
    """
    known = _said.setdefault(format, {})
    if text not in known:
        if len(known) >= 2 * TEXT_LIMIT:
            known.clear()
        known[text] = tuple(format.answer(text))
    return known[text]


@lru_cache(maxsize=256)
def legal_words(format: Any, actions: ActionSet, legal: Legal) -> Trie:
    """The trie of the texts that are legal now, each as the format writes an answer, end marker included.

    Cached.

    Raises:
        LoquentError: the set has more than 300,000 texts; such a set is used by the grammar of its parts.
        BadModel: nothing is legal, or two texts have the same tokens.
    """
    if len(actions) > TEXT_LIMIT:
        raise LoquentError(
            f"a trie over {len(actions):,} texts is refused (limit {TEXT_LIMIT:,}); use the set's "
            f"parts {actions.parts}"
        )
    if len(actions) <= MASK_LIMIT:
        indices = np.flatnonzero(actions.mask(legal)).tolist()
    else:
        indices = [i for i in range(len(actions)) if actions.contains(legal, i)]
    texts = [actions.text(i, legal) for i in indices]
    if not texts:
        raise BadModel(
            "no action is legal, so a language model that may only say legal words can say nothing"
        )
    trie = Trie([answer_ids(format, text) for text in texts])
    if len(trie) != len(set(texts)):
        raise BadModel("two legal texts have the same tokens; the format cannot tell them apart")
    return trie
