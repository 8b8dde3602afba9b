"""Legal words: the texts of an action set as a trie over token ids.

The trie restricts a language model to legal answers.
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

TEXT_LIMIT = 300_000  # a larger action set must be used through its parts
# (lo, hi, depth): rows lo..hi-1 of the sorted table share their first `depth` ids
Node = tuple[int, int, int]

_ids_of_texts: weakref.WeakKeyDictionary[Any, dict[str, tuple[int, ...]]] = weakref.WeakKeyDictionary()


class Trie:
    """A prefix tree of token-id sequences.

    A node is a range of a sorted table, so that 300,000 sequences need little memory.
    """

    root: Node

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        if not sequences or any(not len(sequence) for sequence in sequences):
            raise LoquentError(
                f"a trie needs at least one sequence, and none may be empty, got {len(sequences)} "
                "sequences; check the texts they come from"
            )
        width = max(map(len, sequences))
        table = np.full((len(sequences), width), -1, dtype=np.int32)  # -1: the sequence has ended
        for row, sequence in zip(table, sequences, strict=True):
            row[: len(sequence)] = sequence
        self.table = np.unique(table, axis=0)
        self.root = (0, len(self.table), 0)
        self._next: dict[Node, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self.table)

    @property
    def depth(self) -> int:
        """The length of the longest sequence."""
        return int(self.table.shape[1])

    def next_ids(self, node: Node) -> NDArray[np.int64]:
        """The ids that may follow a node, ascending; empty where every sequence has ended."""
        if node not in self._next:
            lo, hi, depth = node
            ids = np.unique(self.table[lo:hi, depth]) if depth < self.table.shape[1] else np.empty(0)
            self._next[node] = ids[ids >= 0].astype(np.int64)
        return self._next[node]

    def step(self, node: Node, token: int) -> Node:
        """The node after one more id; its range is empty where no sequence continues with this id."""
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
    """The action ids of an answer with this text, end marker included.

    The ids are cached for each format.
    """
    cache = _ids_of_texts.setdefault(format, {})
    if text not in cache:
        if len(cache) >= 2 * TEXT_LIMIT:
            cache.clear()
        cache[text] = tuple(format.answer(text))
    return cache[text]


@lru_cache(maxsize=256)
def legal_words(format: Any, actions: ActionSet, legal: Legal) -> Trie:
    """The trie of the legal texts, each written by the format as an answer with its end marker.

    The latest tries are cached.

    Raises:
        LoquentError: the set has more than 300,000 texts; such a set must be used through its parts.
        BadModel: no action is legal, or two texts have the same tokens.
    """
    if len(actions) > TEXT_LIMIT:
        raise LoquentError(
            f"a trie over {len(actions):,} texts is refused (limit {TEXT_LIMIT:,}); use the set's parts "
            f"{actions.parts}"
        )
    if len(actions) <= MASK_LIMIT:
        indices = np.flatnonzero(actions.mask(legal)).tolist()
    else:
        indices = [i for i in range(len(actions)) if actions.contains(legal, i)]
    texts = [actions.text(i, legal) for i in indices]
    if not texts:
        raise BadModel(
            "no action is legal, so a language model restricted to legal words has no answer; a state "
            "must allow at least one action"
        )
    trie = Trie([answer_ids(format, text) for text in texts])
    if len(trie) != len(set(texts)):
        raise BadModel(
            f"{len(set(texts))} legal texts have only {len(trie)} token sequences, so some have the same "
            "tokens; each text needs its own; use a tokenizer that tells them apart"
        )
    return trie
