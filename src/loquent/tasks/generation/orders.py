"""The orders of a guest: a conversation in which one answer cannot be right.

The guest asks for a drink and says neither which one nor with what. It answers the question for each, and
waits otherwise. The right last answer serves both. A prompt is in one split, with each of the twelve orders
once. So a policy that does not read the replies is right in one of twelve rows of every split, whatever it
remembers of training rows (a policy that draws its answers: in the mean).
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
SIZES = {"train": 125, "validation": 25, "test": 50}  # of the 200 prompts, each with twelve orders


@cache
def rows(split: str) -> tuple[Row, ...]:
    """The rows of a split: `prompt`, `drink` and `extra`, and as reference the right last answer."""
    return _splits()[split]


@cache
def _splits() -> dict[str, tuple[Row, ...]]:
    rng = Key(0, ("generation", "orders")).generator()
    prompts = list(product(GREETINGS, WISHES, range(1, TABLES + 1)))
    order, splits, start = rng.permutation(len(prompts)).tolist(), {}, 0
    for split, size in SIZES.items():
        every = list(product((prompts[i] for i in order[start : start + size]), DRINKS, EXTRAS))
        shuffled = (every[i] for i in rng.permutation(len(every)).tolist())
        splits[split] = tuple(
            _row(f"{split}-{i}", *prompt, *pair) for i, (prompt, *pair) in enumerate(shuffled)
        )
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
