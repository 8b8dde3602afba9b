"""Agents: whoever answers. An agent is asked about many games at once and answers each with text.

Agents keep no game's state: everything they may look at is in `Question`. Caches may be dropped at any moment
without changing an answer.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from loquent.core import registry
from loquent.core.actions import ActionSet
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.options import from_values, options_of
from loquent.core.seeding import Key
from loquent.core.task import Observation, Stopped, Task
from loquent.core.values import Record
from loquent.errors import BadSetting

RIGHT = "a class or function that makes an agent (loquent.core.agent.Agent) of a task is right"


@dataclass(frozen=True)
class Question:
    """One question: all turns this seat has seen (the newest observation is the last of them), and the stream
    for the answer.
    """

    game: str  # names the game within a run: row and number
    turns: tuple[Turn, ...]
    observation: Observation
    key: Key
    instruction: str = ""
    actions: ActionSet | None = None  # the task's action set, where it has one
    # the task's state: for experts and scripts that are told the rules; learners never read it
    state: object = None
    row: Record | None = None


@dataclass(frozen=True)
class Answer:
    """What an agent says, why it stopped, the tokens as drawn where there are any, and how many of the oldest
    turns it did not read because
    they did not fit into its context."""

    text: str
    stopped: Stopped = "end"
    tokens: Tokens | None = None
    dropped: int = 0

    def __init__(
        self, text: str, stopped: Stopped = "end", tokens: Tokens | None = None, dropped: int = 0
    ) -> None:
        into = self.__dict__  # one is made at every step: the generated __init__ takes twice as long
        into["text"], into["stopped"], into["tokens"], into["dropped"] = text, stopped, tokens, dropped


@runtime_checkable
class Agent(Protocol):
    """Anything with a name and a batched `answer`."""

    name: str

    def answer(self, asked: Sequence[Question]) -> Sequence[Answer]:
        """One answer per question, in order."""
        ...


@runtime_checkable
class Person(Protocol):
    """An agent played by a person, who is told how the game ended."""

    name: str

    def farewell(self, episode: Episode) -> None:
        """Show the end of a game."""
        ...


@runtime_checkable
class Chooser(Protocol):
    """An agent that acts by more than its policy: by values, or by the best of several answers."""

    @property
    def kl_of_choice(self) -> float | None:
        """What choosing the best of n adds to the KL from an answer to the policy, in nats, at most.

        None for the policy itself.
        """
        ...


def make(
    chosen: str | Mapping[str, Any],
    task: Task,
    options: Mapping[str, Any] | None = None,
    place: str = "option",
) -> Any:
    """The agent that a name stands for, made for a task.

    A factory is called with the task; one that has a dataclass `Options` is called with the task and these
    options.

    Args:
        chosen: a registered name or "module:Class"; or both in one, as a recipe has it: {kind:
            wordle/random_mixture, prob_smart: 0.25}.
        options: the agent's options by name.
        place: where they were given, for errors.

    Raises:
        UnknownName: no such agent. BadSetting: no such option, a value outside its range, or an agent that
            has no options is given some.
    """
    given = {**(chosen if isinstance(chosen, Mapping) else {"kind": chosen}), **(options or {})}
    name = given.pop("kind", None)
    if not isinstance(name, str) or not name:
        raise BadSetting(
            f"{place}: {name!r:.80} names no agent; a name is right, or a mapping with its `kind` "
            "and its options"
        )
    factory = registry.resolve("agent", name)
    schema = options_of(factory)
    if schema is None and given:
        raise BadSetting(f"{place}: the agent {name} has no options, so {next(iter(given))!r} is none")
    made_options = () if schema is None else (from_values(schema, given, f"agent {name}", place),)
    if ":" in name and (inspect.isbuiltin(factory) or not registry.accepts(factory, task, *made_options)):
        raise BadSetting(f"{place}: {name!r} names {factory!r:.80}, which makes no agent; {RIGHT}")
    made = factory(task, *made_options)
    if ":" in name and not isinstance(made, Agent):
        raise BadSetting(f"{place}: {name!r} made {made!r:.80}, which is no agent; {RIGHT}")
    return made


def without_transport(chosen: Any) -> Any:
    """What decides an agent's answers: a mapping of `kind` and options without `transport` settings, its own
    and those of agents inside it.

    Anything else is returned as it is. Only registered names are looked up: a name that stands in a file is
    not imported.
    """
    if not isinstance(chosen, Mapping) or not isinstance(chosen.get("kind"), str):
        return chosen
    known = chosen["kind"] in registry.names("agent")
    left_out = transport_options(registry.find("agent", chosen["kind"])) if known else frozenset()
    return Record({name: without_transport(value) for name, value in chosen.items() if name not in left_out})


def transport_options(factory: Any) -> frozenset[str]:
    """The options of an agent's factory that say how it is reached, not what it answers
    (`setting(transport=True)`).
    """
    schema = options_of(factory)
    return (
        frozenset()
        if schema is None
        else frozenset(field.name for field in dataclasses.fields(schema) if field.metadata.get("transport"))
    )
