"""Agents: whoever answers. An agent is asked about many games at once and answers each with text.

Agents keep no game's state: everything they may look at is in `Asked`. Caches may be dropped at any moment without changing
an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from loquent import registry
from loquent.actions import ActionSet
from loquent.episode import Tokens, Turn
from loquent.errors import BadSetting
from loquent.fill import Node, fill
from loquent.seeding import Key
from loquent.task import Observation, Stopped, Task
from loquent.values import Record, frozen


@dataclass(frozen=True)
class Asked:
    """One question: all turns this seat has seen (the newest observation is the last of them), and the stream for the answer."""

    game: str  # names the game within a run: row and number
    turns: tuple[Turn, ...]
    observation: Observation
    key: Key
    instruction: str = ""
    actions: ActionSet | None = None  # the task's action set, where it has one
    state: object = None  # the task's state: for experts and scripts that are told the rules; learners never read it
    row: Record | None = None


@dataclass(frozen=True)
class Answer:
    """What an agent says, why it stopped, and the tokens as drawn where there are any."""

    text: str
    stopped: Stopped = "end"
    tokens: Tokens | None = None

    def __init__(self, text: str, stopped: Stopped = "end", tokens: Tokens | None = None) -> None:
        into = self.__dict__  # one is made at every step: the generated __init__ takes twice as long
        into["text"], into["stopped"], into["tokens"] = text, stopped, tokens


@runtime_checkable
class Agent(Protocol):
    """Anything with a name and a batched `answer`."""

    name: str

    def answer(self, asked: Sequence[Asked]) -> Sequence[Answer]:
        """One answer per question, in order."""
        ...


def make(chosen: str | Mapping[str, Any], task: Task, options: Mapping[str, Any] | None = None, place: str = "option") -> Any:
    """The agent that a name stands for, made for a task.

    A factory is called with the task; one that has a dataclass `Options` is called with the task and these options.

    Args:
        chosen: a registered name or "module:Class"; or both in one, as a recipe has it: {kind: wordle/random_mixture, prob_smart: 0.25}.
        options: the agent's options by name.
        place: where they were given, for errors.

    Raises:
        UnknownName: no such agent. BadSetting: no such option, a value outside its range, or an agent that has no options is given some.
    """
    given = {**(chosen if isinstance(chosen, Mapping) else {"kind": chosen}), **(options or {})}
    name = given.pop("kind", None)
    if not isinstance(name, str) or not name:
        raise BadSetting(f"{place}: {name!r:.80} names no agent; a name is right, or a mapping with its `kind` and its options")
    factory = registry.named("agent", name)
    schema = getattr(factory, "Options", None)
    if schema is None:
        if given:
            raise BadSetting(f"{place}: the agent {name} has no options, so {next(iter(given))!r} is none")
        return factory(task)
    nodes = {key: Node(frozen(value), place, None) for key, value in given.items()}
    return factory(task, fill(schema, Node(nodes, place, None), f"agent {name}"))
