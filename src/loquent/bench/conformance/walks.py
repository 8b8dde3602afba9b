"""What the laws check: the rows of a task, and episodes played by random, odd and expert agents."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ParamSpec, TypeVar

import numpy as np

from loquent.agents.baselines import Random
from loquent.core.agent import Answer, Question
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.task import Row, Step, Task
from loquent.errors import UnknownName, WrongResult

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 1000  # turns after which an episode counts as endless
ENDLESS_TURNS = 50  # the first turns of an endless episode, which the other laws check
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
PLAIN = (
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
ODD_TEXTS = (*PLAIN, *MARKERS, *NUMBERS)


class NotChecked(Exception):
    """A law does not apply to this task; the text of the error is the reason."""


@dataclass
class Tally:
    """The cases that a law has checked so far, and the problems among them."""

    unit: str = "cases"
    count: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, problem: str | None) -> None:
        """Count one case, and keep its problem if it is new; None is a case without a problem."""
        self.count += 1
        if problem and problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True)
class Move:
    """One action of an episode, with the steps before and after it."""

    before: Step
    text: str
    after: Step


@dataclass
class Walk:
    """One episode: its moves, and the error that broke it off.

    `failure` is the step and the text at which the task raised `error`.
    """

    live: Live
    opening: Step
    moves: list[Move] = field(default_factory=list)
    error: str = ""
    endless: bool = False
    failure: tuple[Step, str] | None = None

    @property
    def steps(self) -> list[Step]:
        """The opening and the step after each move."""
        return [self.opening, *(move.after for move in self.moves)]


class Odd:
    """An agent that gives odd texts half of the time; its random actions let episodes go on."""

    def __init__(self, task: Task) -> None:
        self.name = "odd"
        self.random = Random(task)

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [self._answer(question) for question in asked]

    def _answer(self, question: Question) -> Answer:
        rng = question.key.child("odd").generator()
        if rng.random() < 0.5:
            return self.random.answer([question])[0]
        observation = question.observation
        texts = (
            *ODD_TEXTS,
            *observation.stop,
            question.instruction,
            observation.text,
            observation.text.upper(),
        )
        return Answer(texts[int(rng.integers(len(texts)))])


class Bench:
    """A task under test.

    Every call of the task goes through `watch`, which sees whether a global random generator moved.
    """

    def __init__(self, task: Task, episodes: int, seed: int) -> None:
        self.task, self.episodes, self.seed = task, episodes, seed
        self.touched_by: list[str] = []
        self.calls = 0
        self.broken_results: list[str] = []  # the errors that the law of results reports

    def watch(self, name: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the task, and note `name` if a global random generator moved during the call."""
        before = _generators()
        try:
            return call(*args, **kwargs)
        finally:
            self.calls += 1
            if name not in self.touched_by and _generators() != before:
                self.touched_by.append(name)

    @cached_property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of every split; a split that the source does not have, such as train, is left out."""
        found: dict[str, Sequence[Row]] = {}
        missing: UnknownName | None = None
        for split in self.task.spec.splits:
            try:
                found[split] = self.watch("rows", self.task.rows, split)
            except UnknownName as error:
                missing = error
        if missing and not found:
            raise missing
        return found

    @cached_property
    def games(self) -> list[tuple[str, Row, int]]:
        """(split, row, number) of each episode: rows from all splits, and a number that no other has."""
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
        """All episodes; random, odd and expert agents take turns in playing them."""
        agents = (Random(self.task).answer, Odd(self.task).answer, self._expert)
        return [self._walk(agents[i % len(agents)], *game) for i, game in enumerate(self.games)]

    def moves(self) -> Iterator[Move]:
        """All moves of all episodes."""
        return (move for walk in self.walks for move in walk.moves)

    def steps(self) -> Iterator[Step]:
        """All steps of all episodes."""
        return (step for walk in self.walks for step in walk.steps)

    def complete(self) -> list[Walk]:
        """All episodes, if each of them reached its end.

        Raises:
            NotChecked: an episode broke off or is endless.
        """
        if broken := next((walk for walk in self.walks if walk.error), None):
            raise NotChecked(f"an episode broke off ({broken.error})"[:200])
        if any(walk.endless for walk in self.walks):
            raise NotChecked(f"an episode has no end within {LONGEST:,} turns")
        return self.walks

    def odd_texts(self, step: Step) -> tuple[str, ...]:
        """Texts that a task's author may not have thought of, as answers to the observation of a step."""
        observation = step.observation
        return (
            *ODD_TEXTS,
            *observation.stop,
            observation.text,
            observation.text * 3,
            self.task.spec.instruction,
        )

    def _expert(self, asked: Sequence[Question]) -> list[Answer]:
        texts = [self.watch("expert", self.task.expert, question.state) for question in asked]
        return [
            Answer(text) if isinstance(text, str) else Random(self.task).answer([question])[0]
            for text, question in zip(texts, asked, strict=True)
        ]

    def _walk(
        self, agent: Callable[[Sequence[Question]], Sequence[Answer]], split: str, row: Row, number: int
    ) -> Walk:
        live = self.watch("first", Live, self.task, row, number, self.seed, split)
        walk = Walk(live, live.step)
        while live.step.ended is None and len(walk.moves) < LONGEST:
            before, text = live.step, "?"
            try:
                answer = agent([live.question()])[0]
                text = answer.text
                self.watch("read or play", live.act, answer)
            except WrongResult:  # the law of results reports it
                raise
            except Exception as error:  # a task under test may raise anything; the laws report it
                walk.error, walk.failure = f"{type(error).__name__}: {error}", (before, text)
                break
            walk.moves.append(Move(before, text, live.step))
        walk.endless = live.step.ended is None and not walk.error
        if walk.endless:
            del walk.moves[ENDLESS_TURNS:]
        return walk


def evenly(size: int, most: int) -> list[int]:
    """All indices below `size`, or `most` evenly spaced ones if there are more."""
    return list(range(size)) if size <= most else np.linspace(0, size - 1, most).astype(int).tolist()


def _generators() -> tuple[Any, ...]:
    """The states of the global random generators of Python, numpy and (if loaded) torch, as plain values."""
    numpy_state: Any = np.random.get_state()  # noqa: NPY002 - only read, never changed
    name, words, *rest = numpy_state
    torch = sys.modules.get("torch")
    loaded = (
        torch.get_rng_state().numpy().tobytes()
        if torch is not None and hasattr(torch, "get_rng_state")
        else b""
    )
    return random.getstate(), name, words.tobytes(), *rest, loaded
