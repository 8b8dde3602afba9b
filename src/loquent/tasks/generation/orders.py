"""The orders of a guest: a conversation in which one answer cannot be right.

The guest asks for a drink and says neither which one nor with what. It answers the question for each, and
waits otherwise. The right last answer serves both; the prompts say nothing about them, so an answer that
does not depend on the replies is right once in twelve times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record

DRINKS = ("tea", "coffee", "cocoa", "juice")
EXTRAS = ("sugar", "milk", "ice")
GREETINGS = ("hello", "hi", "good morning", "good evening", "excuse me")
WISHES = ("a drink , please", "i am thirsty", "i would like to drink something", "one drink")
TABLES = 10
ASK_DRINK, ASK_EXTRA = "which drink ?", "with what ?"
SERVED = "here is"  # every answer that serves a drink has it
SIZES = {"train": 1_600, "validation": 300, "test": 500}  # of the 2,400 rows


@cache
def rows(split: str) -> tuple[Row, ...]:
    """The rows of a split: `prompt`, `drink` and `extra`, and as reference the right last answer."""
    return _splits()[split]


@cache
def _splits() -> dict[str, tuple[Row, ...]]:
    every = list(product(GREETINGS, WISHES, range(1, TABLES + 1), DRINKS, EXTRAS))
    order = Key(0, ("generation", "orders")).generator().permutation(len(every)).tolist()
    splits, start = {}, 0
    for split, size in SIZES.items():
        chosen = (every[i] for i in order[start : start + size])
        splits[split] = tuple(_row(f"{split}-{i}", *parts) for i, parts in enumerate(chosen))
        start += size
    return splits


def serve(drink: str, extra: str) -> str:
    """The answer that serves a drink."""
    return f"{SERVED} {drink} with {extra} ."


def _row(id: str, greeting: str, wish: str, table: int, drink: str, extra: str) -> Row:
    prompt = f"{greeting} , {wish} . table {table} ."
    return Row(id, Record(prompt=prompt, drink=drink, extra=extra, references=(serve(drink, extra),)))


class Guest:
    """The seat `user`: says the drink or what comes with it when it is asked for that, else it waits."""

    def __init__(self, task: Task) -> None:
        self.name = "generation/guest"

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._reply(question)) for question in asked]

    def _reply(self, question: Question) -> str:
        answer = " ".join(question.observation.text.split())
        field = {ASK_DRINK: "drink", ASK_EXTRA: "extra"}.get(answer)
        if field is None:
            return "i am waiting ."
        return f"{(question.row or EMPTY).get(field, 'anything')} ."


@dataclass(frozen=True, kw_only=True)
class WaiterOptions:
    """Options of the agent `generation/waiter`."""

    care: float = setting(
        0.5,
        "how often it serves the drink that it heard of, and what comes with it, instead of any",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)


class Waiter:
    """A careless waiter, for a first model: asks at random or serves, and often forgets what it heard.

    Its third answer serves.
    """

    Options: ClassVar[type] = WaiterOptions

    def __init__(self, task: Task, options: WaiterOptions | None = None) -> None:
        self.name, self.care = "generation/waiter", (options or WaiterOptions()).care

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._text(question)) for question in asked]

    def _text(self, question: Question) -> str:
        rng = question.key.generator()
        kind = int(rng.integers(3))
        answered = sum(turn.seat == question.observation.seat for turn in question.turns)
        if kind < 2 and answered < 2:
            return (ASK_DRINK, ASK_EXTRA)[kind]
        heard = " ".join(turn.text for turn in question.turns if turn.seat == "task").split()
        choices = []
        for words in (DRINKS, EXTRAS):
            known = [word for word in words if word in heard]
            choices.append(known[0] if known and rng.random() < self.care else str(rng.choice(words)))
        return serve(*choices)
