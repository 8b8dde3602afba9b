"""Learning to answer: memories that hold an answer, and the loss of the pointers on draws of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.task import Observation, Row, Task
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means
from loquent.pretrained.learning.turn_network import Auxiliary
from loquent.tasks.reading.network.inputs import Asking, Inputs, Situation
from loquent.tasks.reading.network.network import Network
from loquent.tasks.reading.network.pointer import answer_loss
from loquent.tasks.reading.network.texts import Texts

MOST = 8  # places of an answer in one memory that are kept


class Memories:
    """The last `size` final memories that hold a right answer, with its places (arXiv:1908.10449 sec. 4.3.3).

    Each time its places are used again from the first on, texts that no memory has any more are forgotten.

    Args:
        sentences: the most in a memory.
    """

    def __init__(self, size: int, sentences: int) -> None:
        self.size, self.sentences = size, sentences
        self.texts = Texts()
        self.next, self.full = 0, False
        self.numbers = np.zeros((size, 1 + sentences), np.int32)  # the question, then the memory
        self.spans = np.zeros((size, MOST, 2), np.int32)

    def __len__(self) -> int:
        return self.size if self.full else self.next

    def add(self, question: str, memory: Sequence[str], spans: Sequence[tuple[int, int]]) -> None:
        """Add a memory with the places of its answer; one without an answer is left out."""
        if not spans:
            return
        ids = self.texts.ids((question, *memory))
        self.numbers[self.next] = ids + [-1] * (1 + self.sentences - len(ids))
        self.spans[self.next] = 0
        self.spans[self.next, : len(spans)] = spans[:MOST]
        self.full = self.full or self.next + 1 == self.size
        self.next = (self.next + 1) % self.size
        if self.next == 0:
            self.texts.keep([self.numbers])

    def draw(self, count: int, key: Key) -> tuple[list[Situation], torch.Tensor]:
        """`count` situations, uniformly and with replacement, and the places of answers, i64[count, S, 2]."""
        places = key.generator().integers(len(self), size=count)
        texts = self.texts
        situations = [
            Situation(texts[question], tuple([texts[number] for number in memory if number >= 0]), "")
            for question, *memory in self.numbers[places].tolist()
        ]
        spans = self.spans[places]
        most = int((spans[:, :, 1] > 0).any(0).sum())
        return situations, torch.from_numpy(spans[:, :most].astype(np.int64))

    def state_dict(self) -> dict[str, Any]:
        """The filled part, the texts, and where the next memory is written."""
        filled = len(self)
        return {
            "next": self.next,
            "full": self.full,
            "texts": list(self.texts.all),
            "numbers": torch.from_numpy(self.numbers[:filled].copy()),
            "spans": torch.from_numpy(self.spans[:filled].copy()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it is of another size."""
        self.next = saved_state.count(state, "next", most=self.size - 1)
        self.full = saved_state.flag(state, "full")
        self.texts.load(saved_state.items(state, "texts"))
        for name in ("numbers", "spans"):
            array, saved = getattr(self, name), state[name].numpy()
            if saved.shape != (len(self), *array.shape[1:]) or saved.dtype != array.dtype:
                raise BadCheckpoint(
                    f"the {name} of the answers have the shape {saved.shape}; this run needs "
                    f"{(len(self), *array.shape[1:])}; resume with the settings of the run"
                )
            array[: len(saved)] = saved
        filled = self.numbers[: len(self)]
        if len(filled) and not (filled.min() >= -1 and filled.max() < len(self.texts)):
            raise BadCheckpoint("the answers name texts that the checkpoint lacks; use an undamaged one")


class Answers(Auxiliary):
    """The pointers of a network learn from final memories (`pointer.answer_loss`).

    Args:
        key: the stream that memories are drawn from.
    """

    def __init__(self, task: Task, inputs: Inputs, policy: Network, key: Key) -> None:
        self.task, self.inputs, self.policy, self.key = task, inputs, policy, key
        self.size = inputs.settings.answers
        self.memories = Memories(inputs.settings.answer_replay, inputs.sentences)
        self.nbytes = self.memories.numbers.nbytes + self.memories.spans.nbytes

    def collect(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
        """Add the final memories of episodes."""
        task: Any = self.task
        assert isinstance(task, Asking)
        for episode in episodes if self.size else ():
            last = next(turn.observation for turn in reversed(episode.turns) if turn.observation is not None)
            self._add_final(last, task.spans(rows[episode.row], last))

    def _add_final(self, last: Observation, spans: Sequence[tuple[int, int]]) -> None:
        situation, longest = self.inputs.situation(last), self.inputs.settings.longest_answer
        cut = self.inputs.cut(situation.memory)
        inside = [(a - cut, b - cut) for a, b in spans if a >= cut and b - a <= longest]
        self.memories.add(situation.question, situation.memory, inside)

    def learn(self, gradient: GradientStep, means: Means) -> None:
        """One gradient step of the pointers on `answers` drawn memories."""
        if not self.size or not len(self.memories):
            return
        device = next(self.policy.parameters()).device

        situations, spans = self.memories.draw(self.size, self.key.child("answers", self.steps))

        def loss(numbers: list[int]) -> Loss:
            batch = self.inputs.batch([situations[i] for i in numbers]).to(device)
            each = answer_loss(*self.policy.point(batch), spans[numbers].to(device))
            return Loss(each.sum(), {"answer/loss": each})

        gradient.learn(list(range(self.size)), loss, means, divisor=self.size)
        self.steps += 1

    def log_values(self) -> dict[str, float]:
        """The number of memories; the loss is nan before `learn`."""
        return {"answer/loss": math.nan, "answer/replay": float(len(self.memories))}

    def state_dict(self) -> dict[str, Any]:
        """The memories, and the number of steps."""
        return {"memories": self.memories.state_dict(), "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`."""
        self.memories.load_state_dict(saved_state.part(state, "memories"))
        self.steps = saved_state.count(state, "steps")
