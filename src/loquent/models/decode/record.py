"""The request of decoding, the record of drawn tokens, and what may follow in a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from loquent.core.episode import Tokens
from loquent.core.seeding import Key
from loquent.models.decode.sampling import Choice
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Drawn, Nucleus
from loquent.models.tokens.support import Support
from loquent.models.tokens.trie import Trie
from loquent.models.values.perturb import Perturbation

Stop = Callable[[list[int]], bool]


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `decode`, for all rows."""

    module: Any
    prompts: Sequence[Sequence[int]]
    keys: Sequence[Key]
    decoding: Decoding
    end: frozenset[int]
    pad: int
    stop: Sequence[Stop | None]
    allowed: Sequence[Trie | None]
    nucleus: Nucleus | None
    perturbation: Perturbation | None
    vocabulary: int | None


@dataclass
class TokenRecord:
    """All drawn tokens of all prompts, in arrays [prompts, max_new_tokens]."""

    prompts: int
    max_new_tokens: int
    supports: list[Support] = field(default_factory=list)
    sets: int = 0  # in all supports

    def __post_init__(self) -> None:
        shape = (self.prompts, self.max_new_tokens)
        self.ids = np.zeros(shape, dtype=np.int64)
        self.place = np.zeros(shape, dtype=np.int64)  # of the token's set in the concatenated supports
        self.drawn, self.policy = np.zeros(shape), np.zeros(shape)
        self.count = np.zeros(self.prompts, dtype=np.int64)
        self.stopped = ["length"] * self.prompts

    def write(self, live: np.ndarray, running: np.ndarray, ids: np.ndarray, choice: Choice) -> None:
        """Append one token to each running row."""
        rows = live[running]
        column = self.count[rows]
        self.ids[rows, column] = ids[running]
        self.drawn[rows, column] = choice.drawn_logprob.cpu().numpy()[running]
        self.policy[rows, column] = choice.policy_logprob.cpu().numpy()[running]
        self.place[rows, column] = self.sets + np.flatnonzero(running)
        self.count[rows] += 1
        self.supports.append(choice.support)
        self.sets += len(live)

    def ids_so_far(self, row: int) -> list[int]:
        """The ids of one answer so far."""
        ids: list[int] = self.ids[row, : self.count[row]].tolist()
        return ids

    def answers(self) -> list[Drawn]:
        """All answers in order; a support that keeps every token at temperature 1 is None."""
        supports = Support.cat(self.supports) if self.supports else None
        answers = []
        for row in range(self.prompts):
            n = self.count[row]
            support = None if supports is None else supports.take(self.place[row, :n])
            if support is not None and support.is_everything:
                support = None
            tokens = Tokens(
                self.ids[row, :n].copy(), self.drawn[row, :n].copy(), self.policy[row, :n].copy(), support
            )
            answers.append(Drawn(tokens, self.stopped[row]))  # type: ignore[arg-type]  # the reason is one of three
        return answers


Sequences = Sequence[tuple[list[int], str]]  # answers, each with the reason why it stopped


@dataclass(frozen=True, eq=False)
class Choices:
    """The ids that may follow in each row of a search."""

    allowed: Sequence[Trie | None]
    end: list[int]
    minimum: int  # of tokens before an end, in rows without legal words
    limit: int  # ids from this number on never follow
    vocabulary: int

    @property
    def restrict(self) -> bool:
        """Whether some id may not follow somewhere."""
        return (
            self.limit < self.vocabulary
            or bool(self.minimum and self.end)
            or any(trie is not None for trie in self.allowed)
        )

    def after(self, row: int, ids: Sequence[int]) -> torch.Tensor | None:
        """Whether each id may follow an answer so far, [V]; None if its legal words have ended."""
        kept = torch.zeros(self.vocabulary, dtype=torch.bool)
        trie = self.allowed[row]
        if trie is None:
            kept[: self.limit] = True
            if len(ids) < self.minimum:
                kept[self.end] = False
            return kept
        node = trie.root
        for token in ids:
            node = trie.step(node, token)
        legal = trie.next_ids(node)
        kept[torch.from_numpy(legal)] = True
        return kept if len(legal) else None

    def support(self, answers: Sequences) -> Support | None:
        """The support of all tokens of the rows' answers; None if nothing is restricted."""
        if not self.restrict:
            return None
        kept = [self.after(row, ids[:n]) for row, (ids, _) in enumerate(answers) for n in range(len(ids))]
        return Support.pack(torch.stack([one for one in kept if one is not None]))
