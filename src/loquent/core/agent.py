"""Agents: they receive questions of many episodes at once and answer each with a text.

An agent keeps no state of an episode: everything it may read is in `Question`. Its caches may be dropped at
any moment without changing an answer.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, get_args, runtime_checkable

from loquent.core import registry
from loquent.core.actions import ActionSet
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.options import from_values, options_of
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Observation, Stopped, Task
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent, LoquentError, kind_of, place_of

STOPPED = get_args(Stopped)
LEARNING = "agent"  # the seat that learns, unless a caller names another
RIGHT = "name a class or function that makes an agent (loquent.core.agent.Agent) for a task"


@dataclass(frozen=True)
class Question:
    """A request for one answer of a seat.

    `turns` has all turns that the seat has observed; the last one is the newest observation. `key` is the key
    of the answer's random stream.
    """

    game: str  # the episode's name within a run: row and number
    turns: tuple[Turn, ...]
    observation: Observation
    key: Key
    instruction: str = ""
    actions: ActionSet | None = None  # the task's action set; None: the answer is free text
    state: object = None  # the task's state, for experts and scripts; learners never read it
    row: Record | None = None


@dataclass(frozen=True)
class Answer:
    """An agent's answer.

    `stopped` is why the text ends, and `tokens` are the sampled tokens, if the agent samples tokens. "forced"
    marks an answer of stop forcing, which replaces the agent's own.
    `dropped` is the number of oldest turns that the agent did not read because they did not fit into its
    context.
    """

    text: str
    stopped: Stopped = "end"
    tokens: Tokens | None = None
    dropped: int = 0

    def __init__(
        self, text: str, stopped: Stopped = "end", tokens: Tokens | None = None, dropped: int = 0
    ) -> None:
        values = self.__dict__  # created at every step; a generated __init__ takes twice as long
        values["text"], values["stopped"], values["tokens"], values["dropped"] = (
            text,
            stopped,
            tokens,
            dropped,
        )


@runtime_checkable
class Agent(Protocol):
    """Anything with a name and a batched `answer`."""

    name: str

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The answers to the questions, one for each, in their order."""
        ...


@runtime_checkable
class Attempting(Protocol):
    """An agent that may fail on one question and answer another, such as an endpoint.

    tokens: the tokens that it has read and drawn so far.
    receiver: where it sends the texts of questions, for a person to read; "" if they stay on this machine.
    concurrency: the questions that it answers at the same time.
    """

    name: str
    tokens: int
    receiver: str
    concurrency: int

    def attempt(self, questions: Sequence[Question]) -> Sequence[Answer | BrokenAgent]:
        """The answer to each question, or the error that it failed with."""
        ...


@runtime_checkable
class Person(Protocol):
    """An agent that a person plays; it shows the person how the episode ended."""

    name: str

    def farewell(self, episode: Episode) -> None:
        """Show the end of an episode."""
        ...


class TerminalPerson:
    """The agent `human` of one world: typing ? asks the agent `hint`, and a bad answer is asked for again."""

    Options: ClassVar[type]
    kind: ClassVar[str]

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = self.kind
        hint = (options or self.Options()).hint
        self._human = make("human", task, {"hint": hint, "again": True})

    def notice(self, question: Question) -> str:
        """What the person reads before a question; "" for nothing."""
        return ""

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, after its notice; PlayerLeft where the person leaves."""
        for text in filter(None, map(self.notice, asked)):
            print(text, flush=True)
        answers: list[Answer] = self._human.answer(asked)
        return answers

    def farewell(self, episode: Episode) -> None:
        """Show the end of the episode."""
        self._human.farewell(episode)


@runtime_checkable
class Chooser(Protocol):
    """An agent that does not only sample its policy: it uses values, or the best of several answers."""

    @property
    def kl_of_choice(self) -> float | None:
        """An upper bound, in nats, of the KL that the choice of the best of n adds; None for the policy."""
        ...


@runtime_checkable
class Reader(Protocol):
    """An agent that says how its model reads answers."""

    def answer_rows(self, answers: Sequence[tuple[Episode, str]]) -> list[tuple[list[int], int]] | None:
        """The rows of texts, each in the place of the last answer of its episode; see `metric.Context`."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """An agent that declares how it chooses its answers: `decoding_text`."""

    @property
    def decoding_text(self) -> str:
        """How it chooses its answers, in a few words, such as "greedy" or "argmax"."""
        ...


def before_first(text: str, strings: Sequence[str]) -> str:
    """The text before the first occurrence of any of the strings; the whole text if there is none."""
    if not strings:
        return text
    places = [place for string in strings if string and (place := text.find(string)) >= 0]
    return text[: min(places)] if places else text


def check_answers(agent: Agent, answers: Any, count: int) -> None:
    """BrokenAgent unless there is one answer per question."""
    if not isinstance(answers, Sequence) or len(answers) != count:
        result = f"{len(answers)} answers" if isinstance(answers, Sequence) else kind_of(answers)
        raise BrokenAgent(
            f"{agent.name} got {count} question{'s' * (count != 1)} and returned {result}; `answer` must "
            "return one answer per question"
        )


def check_answer(answer: Any, name: str = "an agent") -> None:
    """BrokenAgent unless an answer of the agent `name` is an `Answer` with a text and a valid `stopped`."""
    if not isinstance(answer, Answer) or not isinstance(answer.text, str) or answer.stopped not in STOPPED:
        raise BrokenAgent(
            f"{name} answered {answer!r:.200}; it must return an Answer with a text, and with stopped "
            f"one of {', '.join(STOPPED)}"
        )


def decoding_text(agent: Agent) -> str:
    """How an agent chooses its answers; "agent NAME" for one that follows its own rule."""
    return agent.decoding_text if isinstance(agent, Decoder) else f"agent {agent.name}"


def make(
    chosen: str | Mapping[str, Any],
    task: Task | None,
    options: Mapping[str, Any] | None = None,
    place: str = "option",
) -> Any:
    """Build the agent with a name for a task.

    The agent's factory is called with the task, and with the options if it has a dataclass `Options`.

    Args:
        chosen: a registered name or "module:Class"; or a mapping with the name and options, as in a recipe:
            {kind: wordle/random_mixture, prob_smart: 0.25}.
        options: more options by name.
        place: where the options come from, for error messages.

    Raises:
        UnknownName: no agent has this name.
        BadSetting: an option is unknown or outside its range, or the agent has no options.
    """
    settings = {**(chosen if isinstance(chosen, Mapping) else {"kind": chosen}), **(options or {})}
    name = settings.pop("kind", None)
    if not isinstance(name, str) or not name:
        raise BadSetting(
            f"{place}: {name!r:.80} does not name an agent; give a name, or a mapping with `kind` and options"
        )
    factory = registry.resolve("agent", name)
    schema = options_of(factory)
    if schema is None and settings:
        raise BadSetting(f"{place}: the agent {name} has no options, got {next(iter(settings))!r}")
    arguments = () if schema is None else (from_values(schema, settings, f"agent {name}", place),)
    if ":" in name and (inspect.isbuiltin(factory) or not registry.accepts(factory, task, *arguments)):
        raise BadSetting(f"{place}: {name!r} names {factory!r:.80}, which makes no agent; {RIGHT}")
    try:
        agent = factory(task, *arguments)
    except (TypeError, AttributeError) as error:  # a function that is for something else
        if ":" not in name:
            raise
        raise BadSetting(
            f"{place}: {name!r} names {factory!r:.80}, which fails on a task ({error}); {RIGHT}"
        ) from error
    if ":" in name and not isinstance(agent, Agent):
        raise BadSetting(f"{place}: {name!r} made {agent!r:.80}, which is not an agent; {RIGHT}")
    return agent


class Partner:
    """An agent of a task's seat whose failures the task reads, so that they end no run.

    Its answers are texts alone: only the learning seat's answers stop at a horizon.

    Args:
        failure_text: the answer to a question that the agent failed on.
    """

    def __init__(self, agent: Agent, failure_text: str) -> None:
        self.name, self.agent, self.failure_text = agent.name, agent, failure_text
        self._said = False

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer per question.

        Raises:
            BrokenAgent: an agent without `attempt` failed, or it raised or returned something else.

        Warns:
            Remark: the first failure.
        """
        agent = self.agent
        ask = agent.attempt if isinstance(agent, Attempting) else agent.answer
        try:
            answers = ask(questions)
        except LoquentError:
            raise
        except Exception as error:
            reason = f"the agent {self.name} raised {type(error).__name__}: {error}"
            raise BrokenAgent(f"{place_of(error)}{reason}; LOQUENT_DEBUG=1 shows the traceback") from error
        check_answers(agent, answers, len(questions))
        errors = [answer for answer in answers if isinstance(answer, BrokenAgent)]
        if errors and not self._said:
            self._said = True
            line = f"{len(errors)} of {len(questions)} questions had no answer; the first: {errors[0]}"
            warnings.warn(line, Remark, stacklevel=2)
        return [self._text(answer) for answer in answers]

    def _text(self, answer: Answer | BrokenAgent) -> Answer:
        if isinstance(answer, BrokenAgent):
            return Answer(self.failure_text)
        check_answer(answer, self.name)
        return Answer("" if answer.text == self.failure_text else answer.text)


def own_agents(task: Task, filled: Collection[str]) -> dict[str, Agent]:
    """The agents of `task.seats`, without the seats in `filled`.

    Raises:
        BadSetting, UnknownName: the task names an agent that does not exist or cannot be made.

    Warns:
        Remark: an agent sends the texts of episodes to another machine.
    """
    kept = task.partners if task.failure_text is not None else {}
    for seat, chosen in task.seats.items():
        if seat not in filled and seat not in kept:
            agent = make(chosen, task, place=f"task.{seat}")
            if task.failure_text is not None:
                if isinstance(agent, Attempting) and agent.receiver:
                    line = f"task.{seat} sends the texts of episodes to {agent.receiver}"
                    warnings.warn(line, Remark, stacklevel=2)
                agent = Partner(agent, task.failure_text)
            kept[seat] = agent
    return {seat: agent for seat, agent in kept.items() if seat not in filled}


def all_agents(task: Task, agents: Agent | Mapping[str, Agent]) -> Agent | Mapping[str, Agent]:
    """The passed agents and the task's own; a single agent takes the learning seat of such a task."""
    if not task.seats:
        return agents
    passed = agents if isinstance(agents, Mapping) else {LEARNING: agents}
    return {**own_agents(task, passed), **passed}
