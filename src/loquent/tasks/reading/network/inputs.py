"""What the network reads of observations, and batches of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from loquent.core.actions import ActionSet, Slots
from loquent.core.task import Observation, Row, Task
from loquent.core.values import digest
from loquent.errors import BadSetting
from loquent.tasks.reading.network.lexicon import Lexicon
from loquent.tasks.reading.network.settings import NetworkSettings

READ = ("question", "memory", "queries", "searched")


@runtime_checkable
class Asking(Protocol):
    """What a task must offer besides the fields `question`, `memory` and `queries` of its observations.

    Its actions have the parts (commands, queries). The last command takes a query: the search for query j has
    the number commands - 1 + j.
    """

    def words(self) -> Sequence[str]:
        """The words of the training rows, in order of their first use."""
        ...

    def spans(self, row: Row, observation: Observation) -> Sequence[tuple[int, int]]:
        """Where right answers stand among the tokens of the memory: half-open ranges."""
        ...


class Situation(NamedTuple):
    """What the network reads of an observation. Texts are tokens with single spaces between them.

    `queries` are the legal queries, joined by spaces; "" where the task has a fixed list of queries.
    With the setting `history`, `searched` are the words that were searched for, each once and in the order of
    the alphabet, and `left` is the number of commands left.
    """

    question: str
    memory: tuple[str, ...]
    queries: str
    searched: str = ""
    left: int = 0


@dataclass(frozen=True, eq=False)
class Batch:
    """N situations as tensors. Texts are numbers of the batch's U different words; 0 is padding.

    The different words are in the order of their first place, so a batch depends on its situations alone.
    """

    question: Int[Tensor, "N M"]
    memory: Int[Tensor, "N L"]
    queries: Int[Tensor, "N C"]
    searched: Int[Tensor, "N S"]
    left: Float[Tensor, " N"]  # the share of the commands
    rows: Int[Tensor, " U"]  # the rows of the query head
    characters: Int[Tensor, "U 16"]
    vectors: Float[Tensor, "U v"]
    numbers: Int[Tensor, " U"]  # in the lexicon

    def __len__(self) -> int:
        return len(self.question)

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        if device.type == "cpu":
            return self
        return replace(self, **{field.name: getattr(self, field.name).to(device) for field in fields(self)})

    @property
    def question_mask(self) -> Bool[Tensor, "N M"]:
        """Where the question has tokens; its first place always counts."""
        return _real(self.question)

    @property
    def real(self) -> Bool[Tensor, "N L"]:
        """Where the memory has tokens; its first place always counts."""
        return _real(self.memory)


def _real(numbers: Tensor) -> Tensor:
    real = numbers > 0
    real[:, 0] = True
    return real


class Inputs:
    """The function from observations to what the network reads.

    Raises:
        BadSetting: the task does not offer what `Asking` needs, or the settings do not fit it.
    """

    def __init__(self, task: Task, settings: NetworkSettings) -> None:
        actions = task.actions
        parts = () if actions is None else actions.parts
        if not isinstance(task, Asking) or actions is None or len(parts) != 2:
            raise BadSetting(
                f"{task.identity} has no commands with queries, or does not say what its words and answers "
                "are; choose a task with a question, a memory and numbered searches"
            )
        self.settings, self.actions = settings, actions
        self.plain, self.slots = parts[0] - 1, parts[1]
        self.listed = None if isinstance(actions, Slots) else _listed(actions, self.plain)
        if self.listed is not None and settings.queries != "rows":
            raise BadSetting(
                f"queries = {settings.queries!r} scores the queries of a situation, and {task.identity} has "
                "a fixed list of them; set algorithm.queries to rows"
            )
        self.sentences, self.steps = int(task.options.memory), int(task.options.steps)
        size = settings.word_size if settings.encoder == "qanet" else 1
        self.lexicon = Lexicon(task.words(), size, settings.vectors)

    @property
    def identity(self) -> str:
        """A hash of the words, of their vectors and of the commands."""
        return digest((self.lexicon.identity, self.plain, self.listed or ""))

    @property
    def width(self) -> int:
        """The most tokens that are read of an observation."""
        return self.settings.question_tokens + self.settings.memory_tokens

    def situation(self, observation: Observation) -> Situation:
        """What the network reads of an observation."""
        fields = observation.fields
        queries = "" if self.listed is not None else " ".join(fields["queries"][: self.slots])
        if not self.settings.history:
            return Situation(fields["question"], fields["memory"], queries)
        searched = " ".join(sorted(set(fields["searched"])))
        return Situation(fields["question"], fields["memory"], queries, searched, fields["left"])

    def count(self, situation: Situation) -> int:
        """The number of legal queries."""
        if self.listed is not None:
            return self.slots
        return situation.queries.count(" ") + 1 if situation.queries else 0

    def batch(self, situations: Sequence[Situation]) -> Batch:
        """The batch of situations."""
        settings, lexicon = self.settings, self.lexicon
        questions = [lexicon(each.question)[: settings.question_tokens] for each in situations]
        memories = [self._memory(each.memory) for each in situations]
        queries = [lexicon(each.queries) for each in situations]
        searched = [lexicon(each.searched) for each in situations]
        left = np.array([each.left for each in situations], np.float32)
        texts = [_padded(questions, 1), _padded(memories, 1), _padded(queries, 0), _padded(searched, 0)]
        return self._batch(texts, left)

    def __call__(self, observation: Observation) -> dict[str, NDArray[np.int32]]:
        """Arrays of fixed sizes with the lexicon's numbers: `question`, `memory`, `queries`.

        With `history` also `searched`, and `left` as i32[].
        """
        situation, settings = self.situation(observation), self.settings
        sizes = (
            settings.question_tokens,
            settings.memory_tokens,
            0 if self.listed else self.slots,
            self.steps,
        )
        texts = (
            self.lexicon(situation.question)[: settings.question_tokens],
            self._memory(situation.memory),
            self.lexicon(situation.queries),
            self.lexicon(situation.searched),
        )
        arrays = {"left": np.array(situation.left, np.int32)} if settings.history else {}
        for name, size, numbers in zip(self._read, sizes, texts, strict=False):
            arrays[name] = np.zeros(size, np.int32)
            arrays[name][: len(numbers)] = numbers[:size]
        return arrays

    def of_arrays(self, arrays: Mapping[str, Tensor]) -> Batch:
        """The batch of arrays from `__call__`, N of each, without columns of padding alone."""
        texts = []
        for name, least in zip(self._read, (1, 1, 0, 0), strict=False):
            array = arrays[name].cpu().numpy()
            texts.append(array[:, : max(least, int((array > 0).any(0).sum()))])
        count = len(texts[0])
        if not self.settings.history:
            return self._batch([*texts, np.zeros((count, 0), np.int32)], np.zeros(count))
        return self._batch(texts, arrays["left"].cpu().numpy())

    @property
    def _read(self) -> tuple[str, ...]:
        return READ if self.settings.history else READ[:3]

    def cut(self, memory: Sequence[str]) -> int:
        """The tokens that are cut off at the beginning of a memory."""
        return max(0, sum(len(self.lexicon(text)) for text in memory) - self.settings.memory_tokens)

    def _memory(self, memory: Sequence[str]) -> NDArray[np.int32]:
        numbers = [self.lexicon(text) for text in memory]
        joined = numbers[0] if len(numbers) == 1 else np.concatenate([*numbers, np.zeros(0, np.int32)])
        return joined[-self.settings.memory_tokens :]

    def _batch(self, texts: Sequence[NDArray[Any]], left: NDArray[Any]) -> Batch:
        flat = np.concatenate([np.zeros(1, np.int32), *(text.ravel() for text in texts)])
        different, first, index = np.unique(flat, return_index=True, return_inverse=True)
        order = first.argsort()
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        flat, numbers = place[index], different[order]
        pieces = np.split(flat[1:], np.cumsum([text.size for text in texts])[:-1])
        lexicon = self.lexicon
        own = [torch.from_numpy(piece.reshape(text.shape)) for piece, text in zip(pieces, texts, strict=True)]
        return Batch(
            question=own[0],
            memory=own[1],
            queries=own[2],
            searched=own[3],
            left=torch.from_numpy(left.astype(np.float32) / self.steps),
            rows=torch.from_numpy(lexicon.rows[numbers]),
            characters=torch.from_numpy(lexicon.characters[numbers]),
            vectors=torch.from_numpy(lexicon.vectors[numbers]),
            numbers=torch.from_numpy(numbers.astype(np.int64)),
        )


def _padded(rows: Sequence[NDArray[np.int32]], least: int) -> NDArray[np.int32]:
    """Rows of numbers as one array, with zeros at their ends."""
    array = np.zeros((len(rows), max(least, *(len(row) for row in rows))), np.int32)
    for place, row in zip(array, rows, strict=True):
        place[: len(row)] = row
    return array


def _listed(actions: ActionSet, plain: int) -> tuple[str, ...]:
    """The texts of all searches of a set whose actions never change."""
    return tuple(actions.text(plain + i) for i in range(actions.parts[1]))
