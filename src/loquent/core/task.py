"""A task: its rules are pure functions over values.

An author writes `first`, `read` and `play`. This module implements the rest of the protocol: the end of an
episode, the turn limit, invalid answers, the names of rewards and the cut at the horizon. An equal step and
an equal text give an equal next step. No text raises an error; an action after the end raises `EpisodeOver`.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, final

from loquent.core.actions import ActionSet, Legal
from loquent.core.guards import rules
from loquent.core.options import identifying
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges
from loquent.core.values import EMPTY, Record, digest, freeze
from loquent.errors import BadSetting, EpisodeOver, LoquentError, UnknownName, require

Stopped = Literal["end", "stop", "length", "forced"]
# a message of a chat: its role, its content, and what it has beside them: an assistant's `tool_calls`, a
# tool's `name` and `tool_call_id`, and in a first message the `tools` of the conversation
Message = tuple[str, str] | tuple[str, str, Record]
Messages = tuple[Message, ...]
CUT = "cut"
OUT_OF_TURNS = "out of turns"


@dataclass(frozen=True)
class Row:
    """One immutable row of data: its id (unique within a source) and its fields."""

    id: str
    fields: Record = EMPTY

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self.fields


@dataclass(frozen=True)
class Observation:
    """What a seat observes: `text` is the new text only, without the history.

    `fields` holds the full structured observation, `legal` the legal actions, and `stop` the texts that end
    an answer. `messages` are the text as messages of a chat, each with its role and its content; chat
    templates write these instead of the text.
    """

    text: str
    fields: Record = EMPTY
    legal: Legal = None
    seat: str = "agent"
    stop: tuple[str, ...] = ()
    messages: Messages = ()

    def __init__(
        self,
        text: str,
        fields: Record = EMPTY,
        legal: Legal = None,
        seat: str = "agent",
        stop: tuple[str, ...] = (),
        messages: Messages = (),
    ) -> None:
        # an observation, outcome and step are created at every step; a generated __init__ takes twice as long
        self.__dict__.update(text=text, fields=fields, legal=legal, seat=seat, stop=stop, messages=messages)


@dataclass(frozen=True)
class Invalid:
    """The result of `read` for a text that is not a move: a reason named in `spec.invalid`, and the text."""

    why: str
    text: str


@dataclass(frozen=True)
class Opening:
    """The result of `first`: the initial state and observation."""

    state: Any
    observation: Observation

    def __init__(self, state: Any, observation: Observation) -> None:
        self.__dict__.update(state=state, observation=observation)


@dataclass(frozen=True)
class Outcome:
    """The result of `play`: rewards have names and no weights.

    `ended` is None or the name of the rule that ended the episode.
    """

    state: Any
    observation: Observation
    rewards: Record = EMPTY
    ended: str | None = None

    def __init__(
        self, state: Any, observation: Observation, rewards: Record = EMPTY, ended: str | None = None
    ) -> None:
        self.__dict__.update(state=state, observation=observation, rewards=rewards, ended=ended)


@dataclass(frozen=True)
class Step:
    """One point of an episode.

    `ended` is None, the name of a rule, or "cut" when the answer reached the horizon. `invalid` is the reason
    why the last answer was not a move, a name of `spec.invalid`; "" for a valid answer.
    """

    state: Any
    turn: int
    observation: Observation
    rewards: Record = EMPTY
    ended: str | None = None
    invalid: str = ""

    def __init__(
        self,
        state: Any,
        turn: int,
        observation: Observation,
        rewards: Record = EMPTY,
        ended: str | None = None,
        invalid: str = "",
    ) -> None:
        self.__dict__.update(
            state=state, turn=turn, observation=observation, rewards=rewards, ended=ended, invalid=invalid
        )


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """The properties of a task that do not depend on its rows: names, limits and sources."""

    id: str
    version: int = 1
    splits: tuple[str, ...] = ("train", "validation", "test")
    shared_rows: str = ""  # why rows of one split are in others too; empty: each split has its own rows
    instruction: str = ""
    rewards: Record = EMPTY  # name -> default weight
    invalid: tuple[str, ...] = ()  # the reasons `read` may give
    turn_limit: int | None = None
    horizon: Literal["end", "cut"] = "end"
    # endings that count as success: rules of `play`, or "out of turns"; empty: the task defines no success
    success: tuple[str, ...] = ()
    truncates: tuple[str, ...] = ()  # rules that Gymnasium's flags report as truncation, so values bootstrap
    failures: tuple[str, ...] = ()  # rules that end an episode of which no return is known, and nobody learns
    terminates_too: tuple[str, ...] = ()  # rules of `truncates` that the flags also report as termination
    return_range: tuple[float, float] | None = None
    # the least and the greatest value of reward/NAME and score/NAME; "score": of all scores of `measure`
    ranges: Record = EMPTY
    paper: str = ""
    licences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unreached = OUT_OF_TURNS if self.turn_limit is None else ""
        rules.check_success(f"TaskSpec({self.id!r})", self.success, CUT, unreached)


@dataclass(frozen=True)
class NoOptions:
    """The options of a task without options."""


class Task(ABC):
    """The rules of an environment, as functions of values.

    A task is built from a frozen dataclass of options. The options, the id and the version are its identity.
    """

    Options: ClassVar[type] = NoOptions
    # how a person annotates the rows: "tags", "labels" or "choice"; "": the rows cannot be annotated
    annotation: ClassVar[str] = ""
    # "module:Name" of the view of observations that a featurizer computes; "": a view of the text
    vector_view: ClassVar[str] = ""
    # name -> "module:Name" of a function from the task to a view; "ansi": from an observation to a text
    views: ClassVar[Mapping[str, str]] = {}
    # "module:Name" of a class of `core.live.Many`, for a native vector environment; "": none
    many: ClassVar[str] = ""
    spec: TaskSpec
    actions: ActionSet | None = None
    # the labels that the rows are annotated with; empty: the task has no labels
    labels: tuple[str, ...] = ()
    # the agents of other seats that belong to the task: seat -> a name, or a mapping with `kind` and options
    seats: Mapping[str, Any] = EMPTY
    # the answer with which an agent ends an episode ("": none), and what it earns where `goal` is true
    stop: ClassVar[str] = ""
    stop_rewards: ClassVar[Record] = EMPTY
    # what `read` gets from an agent of `seats` that failed, such as an endpoint; None: the failure ends a run
    failure_text: ClassVar[str | None] = None
    _checked_rewards: Record = EMPTY  # the last rewards that were checked; tasks often return the same object

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "rows" in vars(cls) and not getattr(cls.rows, "__isabstractmethod__", False):
            cls.rows = _checked(cls.rows)  # type: ignore[method-assign, assignment]  # checks every result

    def __init__(self, options: Any = None) -> None:
        self.options = self.Options() if options is None else options
        check_ranges(self.options)

    @functools.cached_property
    def identity(self) -> str:
        """`id-vN` with a hash of the options unless they are the defaults; see `options.identifying`."""
        name, options = f"{self.spec.id}-v{self.spec.version}", identifying(self.options)
        return name if options == _defaults(self.Options) else f"{name}#{digest(options)}"

    @functools.cached_property
    def partners(self) -> dict[str, Any]:
        """The agents of `seats` that were made, by seat (`core.agent.own_agents`); the task keeps them."""
        return {}

    @abstractmethod
    def rows(self, split: str) -> Sequence[Row]:
        """The rows of a split: always the same rows in the same order."""

    @abstractmethod
    def first(self, row: Row, rng: Key) -> Opening:
        """The initial state and observation of an episode on `row`.

        Args:
            rng: the key of the episode's random streams. Draw with `rng.draw(0, purpose)`, or store the key
                in the state for later turns.
        """

    @abstractmethod
    def read(self, state: Any, text: str) -> Any:
        """The move that a text means, or `Invalid(why, text)`; never raises, whatever the text."""

    @abstractmethod
    def play(self, state: Any, move: Any) -> Outcome:
        """The outcome of a move or of an `Invalid`; a pure function without generator, clock or memory."""

    def instruction(self, row: Row, seat: str) -> str:
        """What a seat reads before its first turn of an episode on `row`; "" for nothing."""
        return self.spec.instruction

    def expert(self, state: Any) -> str | None:
        """The expert's answer in a state; None when the task has no expert."""
        return None

    def judged_answers(self, id: str, record: Mapping[str, Any]) -> list[tuple[Row, float]]:
        """The answers of a record of a file of preferences, each as a row with its score.

        The expert gives the answer on this row. The scores are 1 for the better answer or a good one, and 0
        for the other or a bad one.

        Args:
            id: of the rows.

        Raises:
            ValueError: the record has no answers with a judgement; names the column.
            BadSetting: the task makes no rows of records.
        """
        raise BadSetting(
            f"{self.identity} does not read files of preferences, which have texts; collect several answers "
            "to each row (`loquent collect` with design.answers=4), and score them by rewards"
        )

    def finishing(self, state: Any) -> str | None:
        """The answer that ends the episode with success in this state.

        None when no answer does, or when the task does not define it. Stop forcing reads it, in training
        only (`agents.stop_forcing`).
        """
        return None

    def goal(self, row: Row, observation: Observation) -> bool:
        """Whether the goal holds in the state of an observation, so that `stop` earns `stop_rewards` there.

        Learners read it of training rows alone, as a target of P(the goal holds); no observation has it. A
        task with `stop` defines it.
        """
        return False

    def render_ansi(self, observation: Observation) -> str | None:
        """A picture of the observation in text, for a person at a terminal; None: the plain text.

        Only colour sequences may be added; the terminal escapes all other control characters.
        """
        return None

    def solution(self, state: Any) -> str | None:
        """The right answer, as a text for a person at the end of an episode; None: the task has none."""
        return None

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from outside the dataset; its id is `added:` and a hash of its fields.

        Raises:
            BadRow: the fields do not fit this task.
        """
        record = Record({str(name): freeze(value) for name, value in fields.items()})
        return Row(f"added:{digest(record, 16)}", record)

    def info(self, state: Any, ended: str | None) -> Mapping[str, Any]:
        """Facts that adapters add to Gymnasium's `info`, such as a score; after the end also the answer."""
        return EMPTY

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Metrics of a corpus of ended episodes, computed from each episode's row and last observation.

        Larger values must be better. By default there are none.
        """
        return EMPTY

    @final
    def start(self, row: Row, rng: Key) -> Step:
        """The step before the first answer of an episode on `row`.

        Raises:
            BadSetting: `row` is no row.
            BrokenTask: `first` raised, or returned something other than an `Opening` with a text.
        """
        if not isinstance(row, Row):
            require(row, Row, "row", "a row of the task, such as task.rows('train')[0]")
        try:
            opening = self.first(row, rng)
        except LoquentError:
            raise
        except Exception as error:
            raise rules.rule_error(f"{self.identity}: first", error, row, on="the row ") from error
        if (
            type(opening) is not Opening
            or type(opening.observation) is not Observation
            or type(opening.observation.text) is not str
        ):
            rules.check(f"{self.identity}: first returned", opening, Opening, Observation)
        return Step(opening.state, 0, opening.observation)

    @final
    def act(self, step: Step, text: str, stopped: Stopped = "end") -> Step:
        """The step after an answer.

        Args:
            stopped: why the answer stopped; only a task with horizon "cut" uses it.

        Raises:
            EpisodeOver: the episode has ended. BadSetting: `step` is no step.
            BrokenTask: the task's rules raised, or returned an undeclared reward or reason, or a result of
                the wrong type. This is an error of the task, never of the text.
        """
        if not isinstance(step, Step):
            require(step, Step, "step", "what `start` or `act` returned")
        if step.ended is not None:
            raise EpisodeOver(
                f"{self.identity} ended at turn {step.turn} ({step.ended}); start(row, rng) begins another"
            )
        rule, argument, why = "read", text, ""
        try:
            move = self.read(step.state, text)
            if isinstance(move, Invalid):
                why = move.why
                rules.check_reason(self.identity, why, self.spec.invalid)
            rule, argument = "play", move
            outcome = self.play(step.state, move)
        except LoquentError:
            raise
        except Exception as error:
            raise rules.rule_error(f"{self.identity}: {rule}", error, argument, text=text) from error
        if (
            type(outcome) is not Outcome
            or type(outcome.observation) is not Observation
            or type(outcome.observation.text) is not str
            or (outcome.ended is not None and type(outcome.ended) is not str)
        ):
            rules.check(f"{self.identity}: play returned", outcome, Outcome, Observation, ends=True)
        turn, ended, rewards = step.turn + 1, outcome.ended, outcome.rewards
        if rewards is not self._checked_rewards:
            rules.check_rewards(self, rewards)
            self._checked_rewards = rewards
        if ended is None and self.spec.turn_limit is not None and turn >= self.spec.turn_limit:
            ended = OUT_OF_TURNS
        if stopped == "length" and self.spec.horizon == "cut":
            ended = CUT
        return Step(outcome.state, turn, outcome.observation, rewards, ended, why)

    @final
    def row(self, split: str, id: str) -> Row:
        """The row with an id; UnknownName when the split does not have it, BadSetting when it is no text."""
        require(id, str, "id", "the id of a row")
        rows = self.rows(split)
        find = getattr(rows, "find", None)  # rows that are read from disk know their ids
        found = find(id) if find else next((row for row in rows if row.id == id), None)
        if found is not None:
            return cast(Row, found)
        other = next((s for s in self.spec.splits if s != split and id.startswith((f"{s}:", f"{s}-"))), "")
        advice = f"Rows of {other} need the split {other!r}: --split {other}" if other else ""
        raise UnknownName(
            f"row of {self.identity}/{split}",
            id,
            (row.id for row in rows[:10]),
            more=len(rows[10:]),
            advice=advice,
        )

    @final
    def total(self, rewards: Record, weights: Record | None = None) -> float:
        """The weighted sum of named rewards; a reward without a weight does not count."""
        weights = self.spec.rewards if weights is None else weights
        total = 0.0  # a sum of its own, because `sum` is slower at every step, and rounds by Python's version
        for name, value in rewards.items():
            if name in weights:
                total += weights[name] * value
        return total

    @final
    def is_success(self, ended: str | None) -> bool | None:
        """Whether an ending counts as success; None when `spec.success` is empty."""
        return ended in self.spec.success if self.spec.success else None

    @final
    def flags(self, ended: str | None) -> tuple[bool, bool]:
        """Gymnasium's (terminated, truncated) for an ending.

        "cut" and the rules in `spec.truncates` truncate. All others and `spec.terminates_too` terminate.
        """
        truncated = ended is not None and (ended == CUT or ended in self.spec.truncates)
        terminated = ended is not None and (not truncated or ended in self.spec.terminates_too)
        return terminated, truncated


def _checked(rows: Callable[[Any, str], Sequence[Row]]) -> Callable[[Any, str], Sequence[Row]]:
    """The method `rows` of a task, which raises WrongResult if its result is no sequence of rows."""

    @functools.wraps(rows)
    def check_rows(self: Task, split: str) -> Sequence[Row]:
        result = rows(self, split)
        rules.check_rows(f"{self.identity}: rows({split!r}) returned", result, Row)
        return result

    return check_rows


def _defaults(options: type) -> dict[str, Any] | None:
    try:
        return identifying(options())
    except TypeError:  # an option has no default, so every identity needs the hash
        return None
