"""The state of a search in its folder: the plan in search.json, and a line of search.jsonl for each event.

A search that was killed goes on from these lines: a line is on disk before what follows from it begins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.settings import setting
from loquent.core.values import Record, freeze, plain
from loquent.errors import BadCheckpoint
from loquent.files import atomic

SAMPLERS = ("random", "tpe")
PLAN, RECIPE, LINES = "search.json", "recipe.yaml", "search.jsonl"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is searched and how; the same command has the same plan.

    Attributes:
        recipe: the fingerprint of the recipe that all trials change.
        space: the searched settings, as they were typed.
        whole: the paths of ranges that have integers only.
        seeds: the number of runs of each trial.
        rungs: the updates of each rung.
        keep: the share of the trials that goes on from each rung.
        higher: whether a higher value of the metric is better.
        sampler_version: the version of the library that proposes trials; "" for our own sampler.
    """

    recipe: str
    space: tuple[str, ...]
    whole: tuple[str, ...]
    metric: str
    higher: bool
    trials: int = setting(low=1)
    sampler: str = setting(choices=SAMPLERS)
    sampler_version: str
    seed: int = setting(low=0)
    seeds: int = setting(low=1)
    rungs: tuple[int, ...]
    keep: float = setting(low=0, high=1)


@dataclass(frozen=True)
class Proposal:
    """A trial begins: its number and its settings by path."""

    trial: int
    settings: Mapping[str, Any]
    event: Literal["proposal"] = "proposal"


@dataclass(frozen=True)
class Result:
    """A trial has ended a rung.

    Attributes:
        value: the mean of `values`, which has one number for each seed; None if the trial failed.
        why: why it failed; "" if it did not.
        seconds: the time of the runs of this rung.
    """

    trial: int
    rung: int
    value: float | None
    values: tuple[float, ...] = ()
    why: str = ""
    seconds: float = 0.0
    event: Literal["result"] = "result"


KINDS: dict[str, type[Proposal] | type[Result]] = {"proposal": Proposal, "result": Result}


class Journal:
    """The lines of a search, as they are on disk.

    Raises:
        BadCheckpoint: a line is not what a search writes; names it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LINES
        self.proposals: dict[int, Record] = {}
        self.results: dict[tuple[int, int], Result] = {}
        for event in self._read() if self.path.is_file() else ():
            self._take(event)

    def _read(self) -> list[Proposal | Result]:
        """The events of the file, from which a last line is cut that a kill left incomplete."""
        events, lines = [], []
        try:
            for number, line in json_files.lines(self.path, torn_end=True):
                kind = line.get("event") if isinstance(line, dict) else None
                if kind not in KINDS:
                    raise json_files.BadJson("its event is neither a proposal nor a result", number)
                try:
                    events.append(schema.read(KINDS[kind], line))
                except ValueError as error:
                    raise json_files.BadJson(str(error), number) from error
                lines.append(json.dumps(line))
        except json_files.BadJson as error:
            what = f"{self.path}:{error.line}: a search did not write this line ({error})"
            raise BadCheckpoint(f"{what}; restore the line, or search in another folder") from error
        text = "".join(f"{line}\n" for line in lines)
        if text != self.path.read_text(encoding="utf-8", errors="replace"):
            atomic.write_text(self.path, text)
        return events

    def _take(self, event: Proposal | Result) -> None:
        if isinstance(event, Proposal):
            self.proposals[event.trial] = freeze(event.settings)
        else:
            self.results[event.trial, event.rung] = event

    def add(self, event: Proposal | Result) -> None:
        """Write an event, and wait until it is on disk."""
        atomic.append_line(self.path, {"event": event.event, **plain(asdict(event))})
        self._take(event)

    def rung(self, number: int) -> dict[int, float | None]:
        """The values of a rung by trial, in the order of the trials; None for a trial that failed."""
        results = sorted(self.results.values(), key=lambda result: result.trial)
        return {result.trial: result.value for result in results if result.rung == number}

    @property
    def trials(self) -> set[int]:
        """All trials that a line is about."""
        return {*self.proposals, *(trial for trial, _ in self.results)}

    @property
    def seconds(self) -> float:
        """The time of all trials."""
        return round(sum(result.seconds for result in self.results.values()), 1)


def read_plan(folder: Path) -> Plan:
    """The plan of a search.

    Raises:
        BadCheckpoint: search.json was not written by a search.
    """
    return schema.load(Plan, folder / PLAN, "restore the file, or search in another folder")


def check_same(folder: Path, now: Plan) -> None:
    """Raise BadCheckpoint if the search in a folder has another plan; names what differs."""
    before = asdict(read_plan(folder))
    for name, value in asdict(now).items():
        if before[name] != value:
            shown = json_files.show
            raise BadCheckpoint(
                f"{folder} holds a search whose {name.replace('_', ' ')} is {shown(before[name])}, and it is "
                f"{shown(value)} now; name another folder in --out, or go on with that one: loquent resume "
                f"{folder}"
            )


def sampler_version(sampler: str) -> str:
    """The version of the library that proposes trials; "" for our own sampler."""
    if sampler != "tpe":
        return ""
    import optuna

    return f"optuna {optuna.__version__}"
