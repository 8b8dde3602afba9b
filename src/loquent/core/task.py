"""A task is rules as pure functions over values.

An author writes `first`, `read` and `play`; this file keeps the protocol.

The protocol is the end, the turn limit, odd answers, the names of rewards and the cut at the horizon. Equal
step and equal text give an equal Step, no text raises, and acting after the end raises `EpisodeOver`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

from loquent.core.actions import ActionSet, Legal
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges
from loquent.core.values import EMPTY, Record, digest, frozen
from loquent.errors import BrokenTask, EpisodeOver, LoquentError, UnknownName

Stopped = Literal["end", "stop", "length"]
CUT = "cut"
OUT_OF_TURNS = "out of turns"


@dataclass(frozen=True)
class Row:
    """One immutable row of data: its id (unique within a source) and its fields."""

    id: str
    fields: Record = EMPTY

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


@dataclass(frozen=True)
class Observation:
    """What a seat is told: `text` is what is new for it, never the history.

    `fields` is the full structured view.
    """

    text: str
    fields: Record = EMPTY
    legal: Legal = None
    seat: str = "agent"
    stop: tuple[str, ...] = ()

    def __init__(
        self,
        text: str,
        fields: Record = EMPTY,
        legal: Legal = None,
        seat: str = "agent",
        stop: tuple[str, ...] = (),
    ) -> None:
        # this, `Outcome` and `Step` are made at every step: the generated __init__ takes twice as long; so
        # for `Opening`
        into = self.__dict__
        into["text"], into["fields"], into["legal"], into["seat"], into["stop"] = (
            text,
            fields,
            legal,
            seat,
            stop,
        )


@dataclass(frozen=True)
class Invalid:
    """What `read` makes of a text that is no move: a reason named in `spec.invalid`, and the text itself."""

    why: str
    text: str


@dataclass(frozen=True)
class Opening:
    """What `first` returns."""

    state: Any
    observation: Observation

    def __init__(self, state: Any, observation: Observation) -> None:
        into = self.__dict__
        into["state"], into["observation"] = state, observation


@dataclass(frozen=True)
class Outcome:
    """What `play` returns: rewards are named and raw.

    `ended` is None or the name of the rule that ended the game.
    """

    state: Any
    observation: Observation
    rewards: Record = EMPTY
    ended: str | None = None

    def __init__(
        self, state: Any, observation: Observation, rewards: Record = EMPTY, ended: str | None = None
    ) -> None:
        into = self.__dict__
        into["state"], into["observation"], into["rewards"], into["ended"] = (
            state,
            observation,
            rewards,
            ended,
        )


@dataclass(frozen=True)
class Step:
    """One point of a game.

    `ended`: None, a rule's name, or "cut" when the answer ran into the horizon. `invalid`: why the last
    answer was
    no move, a name of `spec.invalid`; "" where it was one."""

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
        into = self.__dict__
        into["state"], into["turn"], into["observation"], into["rewards"], into["ended"] = (
            state,
            turn,
            observation,
            rewards,
            ended,
        )
        into["invalid"] = invalid


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """What is true of a task whatever its rows: names, limits, sources."""

    id: str
    version: int = 1
    splits: tuple[str, ...] = ("train", "validation", "test")
    instruction: str = ""
    rewards: Record = EMPTY  # name -> default weight
    invalid: tuple[str, ...] = ()  # the reasons `read` may give
    turn_limit: int | None = None
    horizon: Literal["end", "cut"] = "end"
    success: tuple[
        str, ...
        # the endings that count as success: rules of `play`, or "out of turns"; empty: the task has no such
        # notion
    ] = ()
    truncates: tuple[str, ...] = ()  # rules after which a value is still bootstrapped by Gymnasium's flags
    return_range: tuple[float, float] | None = None
    paper: str = ""
    licences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.success, tuple) or not all(
            isinstance(name, str) and name and name != CUT for name in self.success
        ):
            allowed = f"a tuple of names of endings, such as ('solved',), without {CUT!r}"
            raise BrokenTask(
                f"TaskSpec({self.id!r}): success = {self.success!r}; allowed: {allowed}. Name the "
                "rules that `play` ends with"
            )
        if OUT_OF_TURNS in self.success and self.turn_limit is None:
            raise BrokenTask(
                f"TaskSpec({self.id!r}): success names {OUT_OF_TURNS!r}, and there is no turn_limit; "
                "set one, or leave the name out"
            )


@dataclass(frozen=True)
class NoOptions:
    """The options of a task that has none."""


class Task(ABC):
    """Rules over values.

    Built from a frozen dataclass of options, which with id and version is its identity.
    """

    Options: ClassVar[type] = NoOptions
    # the form in which a person annotates its rows: "tags", "labels" or "choice"; "" for none
    annotation: ClassVar[str] = ""
    # "module:Name" of the view of its observations made with a featurizer; "": the text
    vector_view: ClassVar[str] = ""
    # name -> "module:Name" of a function from the task to a view; "ansi": from an observation to text
    views: ClassVar[Mapping[str, str]] = {}
    spec: TaskSpec
    actions: ActionSet | None = None

    def __init__(self, options: Any = None) -> None:
        self.options = self.Options() if options is None else options
        check_ranges(self.options)

    @property
    def identity(self) -> str:
        """`id-vN`, and the hash of the options where they are not the defaults."""
        name = f"{self.spec.id}-v{self.spec.version}"
        options = dataclasses.asdict(self.options)
        return name if options == _defaults(self.Options) else f"{name}#{digest(options)}"

    @abstractmethod
    def rows(self, split: str) -> Sequence[Row]:
        """The rows of a split, always the same, in the same order."""

    @abstractmethod
    def first(self, row: Row, rng: Key) -> Opening:
        """Open a game.

        `rng` is the game's key: draw with `rng.draw(0, purpose)`, or keep it in the state for later turns.
        """

    @abstractmethod
    def read(self, state: Any, text: str) -> Any:
        """The move a text stands for, or `Invalid(why, text)`. Never raises, whatever was said."""

    @abstractmethod
    def play(self, state: Any, move: Any) -> Outcome:
        """What follows from a move (or from an `Invalid`). Pure: no generator, no clock, nothing kept."""

    def expert(self, state: Any) -> str | None:
        """What an expert says here, where an oracle exists; None where there is none."""
        return None

    def coloured(self, observation: Observation) -> str | None:
        """What a person at a terminal with colours sees in place of the text; None: the text.

        Colours alone are let through.
        """
        return None

    def solution(self, state: Any) -> str | None:
        """What was right, as a person who has ended a game on this state reads it.

        None where a task knows no such thing.
        """
        return None

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from outside the source, named `added:HASH` of its fields.

        BadRow where they are none of this task.
        """
        made = Record({str(name): frozen(value) for name, value in fields.items()})
        return Row(f"added:{digest(made, 16)}", made)

    def info(self, state: Any, ended: str | None) -> Mapping[str, Any]:
        """What a player may know beside the observation, for adapters to pass on (`score`).

        After the end also what was right.
        """
        return EMPTY

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Figures of a corpus of ended games from each one's row and last observation, all of them better
        when larger; none by default.
        """
        return EMPTY

    @final
    def start(self, row: Row, rng: Key) -> Step:
        """The step before the first answer of a game on `row`."""
        opening = self.first(row, rng)
        return Step(opening.state, 0, opening.observation)

    @final
    def act(self, step: Step, text: str, stopped: Stopped = "end") -> Step:
        """The step after an answer.

        `stopped` tells why the answer stopped; only a task with horizon "cut" looks at it.

        Raises:
            EpisodeOver: the game has ended.
            BrokenTask: the task's own rules gave an unnamed reward or reason (never because of what was
                said).
        """
        if step.ended is not None:
            raise EpisodeOver(
                f"{self.identity} ended at turn {step.turn} ({step.ended}); start(row, rng) begins another"
            )
        rule, given = "read", text
        try:
            move = self.read(step.state, text)
            if isinstance(move, Invalid) and move.why not in self.spec.invalid:
                raise BrokenTask(
                    f"{self.identity}: read gave the reason {move.why!r}; spec.invalid names "
                    f"{list(self.spec.invalid)}"
                )
            rule, given = "play", move
            outcome = self.play(step.state, move)
        except LoquentError:
            raise
        except Exception as error:
            raise BrokenTask(
                f"{self.identity}: {rule} raised {type(error).__name__} ({error}) on {given!r:.200}"
            ) from error
        return self._close(outcome, step.turn + 1, stopped, move.why if isinstance(move, Invalid) else "")

    def _close(self, outcome: Outcome, turn: int, stopped: Stopped, invalid: str) -> Step:
        spec = self.spec
        for name, value in outcome.rewards.items():
            if name not in spec.rewards or not math.isfinite(value):
                known = ", ".join(spec.rewards) or "none"
                raise BrokenTask(
                    f"{self.identity}: play gave the reward {name} = {value!r}; finite numbers are "
                    f"right, under these names: {known}"
                )
        ended = outcome.ended
        if ended is None and spec.turn_limit is not None and turn >= spec.turn_limit:
            ended = OUT_OF_TURNS
        if stopped == "length" and spec.horizon == "cut":
            ended = CUT
        return Step(outcome.state, turn, outcome.observation, outcome.rewards, ended, invalid)

    @final
    def row(self, split: str, id: str) -> Row:
        """The row of that id; UnknownName when the split has none."""
        rows = self.rows(split)
        for row in rows:
            if row.id == id:
                return row
        other = next(
            (other for other in self.spec.splits if id.startswith(f"{other}:") and other != split), ""
        )
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
        """The weighted sum of named rewards; names without a weight do not count."""
        weights = self.spec.rewards if weights is None else weights
        total = 0.0
        for name, value in rewards.items():
            if name in weights:
                total += weights[name] * value
        return total

    @final
    def succeeded(self, ended: str | None) -> bool | None:
        """Whether an ending counts as success; None where `spec.success` names no ending."""
        return ended in self.spec.success if self.spec.success else None

    @final
    def flags(self, ended: str | None) -> tuple[bool, bool]:
        """Gymnasium's (terminated, truncated) for an end: truncated for "cut" and for the rules in
        `spec.truncates`.
        """
        truncated = ended is not None and (ended == CUT or ended in self.spec.truncates)
        return ended is not None and not truncated, truncated


def _defaults(options: type) -> dict[str, Any] | None:
    try:
        return dataclasses.asdict(options())
    except TypeError:  # an option without a default: every instance is its own identity
        return None
