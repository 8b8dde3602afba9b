"""What the laws look at: a task's rows, and games of it played by random, odd and expert players."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ParamSpec, TypeVar

import numpy as np

from loquent.agents.scripted import Random
from loquent.core.agent import Answer, Asked
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.task import Row, Step, Task

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 1000  # turns after which a game is held to have no end
KEPT = 50  # turns of such a game that the other laws look at
MOST_PROBLEMS = 3  # per law, so that one fault does not fill the screen
MEGABYTE = "x" * 1_000_000

MARKERS = (
    "<s>",
    "</s>",
    "<a>",
    "</a>",
    "</eod>",
    "<|end|>",
    "<|endoftext|>",
    "<|im_start|>user\n",
    "<pad>",
    "[INST]",
    "<|pad|>",
)
NUMBERS = ("0", "-1", "0.93", "1e999", "nan", "-inf", "9" * 5000, "٣", "²", "1_000", "0x10")
ODD = (
    "",
    " ",
    "\n",
    "\r\n",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "a\udc80",
    "\U0001f600",
    "e\u0301",
    "\u202eabc",
    "\x1b[2J",
    "%s%n{0}{",
    "\\",
    '"',
)
STRANGE = (*ODD, *MARKERS, *NUMBERS)


class NotChecked(Exception):
    """A law has nothing to say about this task; the reason is its text."""


@dataclass
class Looked:
    """What a law has seen so far."""

    unit: str = "cases"
    count: int = 0
    problems: list[str] = field(default_factory=list)

    def at(self, problem: str | None) -> None:
        """Count one case; keep its problem, if it has one and it is new."""
        self.count += 1
        if problem and problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True)
class Move:
    """One answer of a game."""

    before: Step
    text: str
    after: Step


@dataclass
class Walk:
    """One game: its moves, and what was raised where it broke off."""

    live: Live
    opening: Step
    moves: list[Move] = field(default_factory=list)
    error: str = ""
    endless: bool = False
    stuck: tuple[Step, str] | None = None

    @property
    def steps(self) -> list[Step]:
        """The opening and the step after each move."""
        return [self.opening, *(move.after for move in self.moves)]


class Odd:
    """Says strange texts half of the time, and something else besides so that games go on."""

    def __init__(self, task: Task) -> None:
        self.name = "odd"
        self.random = Random(task)

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One answer per question."""
        return [self._say(one) for one in asked]

    def _say(self, asked: Asked) -> Answer:
        rng = asked.key.child("odd").generator()
        if rng.random() < 0.5:
            return self.random.answer([asked])[0]
        near = (
            *STRANGE,
            *asked.observation.stop,
            asked.instruction,
            asked.observation.text,
            asked.observation.text.upper(),
        )
        return Answer(near[int(rng.integers(len(near)))])


class Bench:
    """A task under test.

    Everything is asked of it through `watch`, which sees whether a global generator moved.
    """

    def __init__(self, task: Task, episodes: int, seed: int) -> None:
        self.task, self.episodes, self.seed = task, episodes, seed
        self.touched_by: list[str] = []
        self.calls = 0

    def watch(self, name: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the task, and note its name when a global generator is not where it was."""
        before = _generators()
        try:
            return call(*args, **kwargs)
        finally:
            self.calls += 1
            if name not in self.touched_by and _generators() != before:
                self.touched_by.append(name)

    @cached_property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of every split."""
        return {split: self.watch("rows", self.task.rows, split) for split in self.task.spec.splits}

    @cached_property
    def games(self) -> list[tuple[str, Row, int]]:
        """(split, row, number) of the games to play: drawn from all splits, numbered so that no two are the
        same.
        """
        rng = Key(self.seed, ("check", "rows")).generator()
        splits = [split for split, rows in self.rows.items() if len(rows)]
        if not splits:
            raise NotChecked("no split has a row")
        drawn = [splits[i % len(splits)] for i in range(self.episodes)]
        return [
            (split, self.rows[split][int(rng.integers(len(self.rows[split])))], i)
            for i, split in enumerate(drawn)
        ]

    @cached_property
    def walks(self) -> list[Walk]:
        """One game per episode asked for; random, odd and expert players take turns."""
        speakers = (Random(self.task).answer, Odd(self.task).answer, self._expert)
        return [self._walk(speakers[i % len(speakers)], *game) for i, game in enumerate(self.games)]

    def moves(self) -> Iterator[Move]:
        """All moves of all games."""
        return (move for walk in self.walks for move in walk.moves)

    def steps(self) -> Iterator[Step]:
        """All steps of all games."""
        return (step for walk in self.walks for step in walk.steps)

    def whole(self) -> list[Walk]:
        """The games, where all went on until an end."""
        if broken := next((walk for walk in self.walks if walk.error), None):
            raise NotChecked(f"a game broke off ({broken.error})"[:200])
        if any(walk.endless for walk in self.walks):
            raise NotChecked("a game has no end")
        return self.walks

    def strange(self, step: Step) -> tuple[str, ...]:
        """Texts no author thought of, for a seat that was told this."""
        told = step.observation
        return (*STRANGE, *told.stop, told.text, told.text * 3, self.task.spec.instruction)

    def _expert(self, asked: Sequence[Asked]) -> list[Answer]:
        said = [self.watch("expert", self.task.expert, one.state) for one in asked]
        return [
            Answer(text) if isinstance(text, str) else Random(self.task).answer([one])[0]
            for text, one in zip(said, asked, strict=True)
        ]

    def _walk(
        self, speak: Callable[[Sequence[Asked]], Sequence[Answer]], split: str, row: Row, number: int
    ) -> Walk:
        live = self.watch("first", Live, self.task, row, number, self.seed, split)
        walk = Walk(live, live.step)
        while live.step.ended is None and len(walk.moves) < LONGEST:
            before, text = live.step, "?"
            try:
                answer = speak([live.asked()])[0]
                text = answer.text
                self.watch("read or play", live.act, answer)
            except Exception as error:  # a task under test may raise anything; the laws tell of it
                walk.error, walk.stuck = f"{type(error).__name__}: {error}", (before, text)
                break
            walk.moves.append(Move(before, text, live.step))
        walk.endless = live.step.ended is None and not walk.error
        if walk.endless:
            del walk.moves[KEPT:]
        return walk


def _generators() -> tuple[Any, ...]:
    """The states of the global generators of Python, numpy and (if loaded) torch, as values that can be
    compared.
    """
    numpy_state: Any = np.random.get_state()  # noqa: NPY002 - looked at, never moved
    name, words, *rest = numpy_state
    torch = sys.modules.get("torch")
    loaded = (
        torch.get_rng_state().numpy().tobytes()
        if torch is not None and hasattr(torch, "get_rng_state")
        else b""
    )
    return random.getstate(), name, words.tobytes(), *rest, loaded
