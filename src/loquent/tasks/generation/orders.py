"""The orders of a guest: a conversation in which one answer cannot be right.

The guest asks for a drink and says neither which one nor with what. It answers the question for each, and
waits otherwise. The right last answer serves both; the prompts say nothing about them, so an answer that
does not depend on the replies is right once in twelve times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row, Task
from loquent.core.values import Record

DRINKS = ("tea", "coffee", "cocoa", "juice")
EXTRAS = ("sugar", "milk", "ice")
PROMPTS = (
    "a drink , please .",
    "hello , i would like something to drink .",
    "i am thirsty .",
    "good morning , one drink .",
)
ASK_DRINK, ASK_EXTRA = "which drink ?", "with what ?"
SERVED = "here is"  # every answer that serves a drink has it
SIZES = {"train": 960, "validation": 480, "test": 960}


@cache
def rows(split: str) -> tuple[Row, ...]:
    """The rows of a split: `prompt`, `drink` and `extra`, and as reference the right last answer."""
    return tuple(_row(split, number) for number in range(SIZES[split]))


def serve(drink: str, extra: str) -> str:
    """The answer that serves a drink."""
    return f"{SERVED} {drink} with {extra} ."


def _row(split: str, number: int) -> Row:
    rng = Key(0, ("generation", "orders", split, number)).generator()
    prompt, drink, extra = (str(rng.choice(words)) for words in (PROMPTS, DRINKS, EXTRAS))
    fields = Record(prompt=prompt, drink=drink, extra=extra, references=(serve(drink, extra),))
    return Row(f"{split}-{number}", fields)


class Guest:
    """The seat `user`: says the drink or what comes with it when it is asked for that, else it waits."""

    def __init__(self, task: Task) -> None:
        self.name = "generation/guest"

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._reply(question)) for question in asked]

    def _reply(self, question: Question) -> str:
        answer, row = " ".join(question.observation.text.split()), question.row or {}
        field = {ASK_DRINK: "drink", ASK_EXTRA: "extra"}.get(answer)
        return f"{row.get(field, 'anything')} ." if field else "i am waiting ."


@dataclass(frozen=True, kw_only=True)
class WaiterOptions:
    """Options of the agent `generation/waiter`."""

    care: float = setting(
        0.25,
        "how often it serves the drink that it heard of, and what comes with it, instead of any",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)


class Waiter:
    """A careless waiter, for a first model: asks at random or serves, and seldom heeds what it heard."""

    Options: ClassVar[type] = WaiterOptions

    def __init__(self, task: Task, options: WaiterOptions | None = None) -> None:
        self.name, self.care = "generation/waiter", (options or WaiterOptions()).care

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._text(question)) for question in asked]

    def _text(self, question: Question) -> str:
        rng = question.key.generator()
        kind = int(rng.integers(3))
        if kind < 2:
            return (ASK_DRINK, ASK_EXTRA)[kind]
        heard = " ".join(turn.text for turn in question.turns if turn.seat == "task").split()
        choices = []
        for words in (DRINKS, EXTRAS):
            known = [word for word in words if word in heard]
            choices.append(known[0] if known and rng.random() < self.care else str(rng.choice(words)))
        return serve(*choices)
