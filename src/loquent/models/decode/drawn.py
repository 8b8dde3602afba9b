"""The answers of decoding, and the record from which they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loquent.core.episode import Tokens
from loquent.core.task import Stopped
from loquent.models.decode.sampling import Choice
from loquent.models.support import Support


@dataclass(frozen=True, eq=False)
class Drawn:
    """The drawn tokens of an answer, end token included, and the reason why it stopped."""

    tokens: Tokens
    stopped: Stopped


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
