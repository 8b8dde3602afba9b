"""Recorded episodes of a suite: sets that are there, or are collected once before the runs that learn from
them or rank their answers.

A set is played on the task of the runs that need it, with its options, so a suite says them once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.options import COMMAND_LINE, Node, fill, parse
from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record, digest, frozen, plain
from loquent.datasets import designed
from loquent.errors import BadSetting
from loquent.files import names
from loquent.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Data:
    """A set of recorded episodes: what `loquent collect` takes, or where one lies."""

    label: str = setting("", "what the tables call it; empty: its name")
    path: str = setting("", "a file or folder of episodes that is there; then nothing is collected")
    agent: str | Record = setting("", "who plays, as a name or {kind: NAME, OPTION: VALUE}")
    design: str | Record = setting(
        "games", "plain games, branching, adversarial or tweets, as a name or {kind: NAME, OPTION: VALUE}"
    )
    suboptimal: str | Record = setting("", "the second player of a design")
    adversary: str | Record = setting("", "the third player of a design")
    episodes: int = setting(1000, "games; a design plays more beside each", low=1)
    seed: int = setting(0, "all streams are keyed by it", low=0)
    split: str = setting("train", "the split whose rows are played")

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def players(self) -> dict[str, str | None]:
        """Who plays, by the option that names them."""
        return {player: kind(getattr(self, player)) or None for player in designed.PLAYERS}

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the players and of the design, as a command line has them."""
        owners = (*designed.PLAYERS, designed.DESIGN)
        return tuple(
            f"{owner}.{key}={text(value)}"
            for owner in owners
            for key, value in _rest(getattr(self, owner)).items()
        )


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Pairs of answers of a set, of which the better one's Q should be higher."""

    data: str = setting(why="the set")
    pairs: str = setting(
        why="forks with the answers they leave (branch), or first answers of the expert with those of "
        "the suboptimal player (initial)",
        choices=("branch", "initial"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SetJob:
    """A set to be collected, or read where it lies.

    `key` is what its episodes are; its folder holds them and their figures.
    """

    name: str
    key: str
    folder: Path
    data: Data
    task: str
    task_options: Record
    optimum: str | Record = ""
    needs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What progress and failures call it."""
        return self.folder.name

    @property
    def place(self) -> Path:
        """The file or folder of its episodes."""
        return Path(self.data.path) if self.data.path else self.folder

    @property
    def file(self) -> Path:
        """The file of its episodes."""
        return self.place / names.EPISODES if self.place.is_dir() or not self.data.path else self.place

    @property
    def figures_key(self) -> str:
        """What its figures depend on."""
        return digest(Record(key=self.key, optimum=self.optimum), 16)


def planned(name: str, data: Data, recipe: Recipe, out: Path, optimum: str | Record) -> SetJob:
    """The set as a recipe's runs need it.

    Raises:
        BadSetting: there is nothing at its path; or its design has no such option, or a player too many or
            too few.
    """
    options = frozen(plain(recipe.options))
    job = SetJob(name, "", out / name, data, recipe.task, options, optimum)
    said: dict[str, Any] = {"task": recipe.task, "options": options}
    if data.path:
        if not job.file.is_file():
            raise BadSetting(
                f"data.{name}.path = {data.path!r}: there are no recorded episodes; a file, or a "
                f"folder with {names.EPISODES}, is right"
            )
        said["content"] = hashlib.sha256(job.file.read_bytes()).hexdigest()
    else:
        read = designed.read(kind(data.design), data.players, data.options)
        said |= {"data": {**plain(data), "label": ""}, "inputs": designed.inputs(kind(data.design), read)}
    return dataclasses.replace(job, key=digest(Record(said), 16))


def changed(name: str, data: Data, layers: Sequence[Mapping[str, Any]], overrides: Sequence[str]) -> Data:
    """The set with some fields replaced: by a profile's, then by `key=value` of a command line.

    Raises:
        BadSetting: there is no such field, or a value is wrong.
    """
    nodes = {field: Node(frozen(value), "suite", None) for field, value in plain(data).items()}
    for layer in layers:
        nodes |= {field: Node(frozen(value), "profile", None) for field, value in layer.items()}
    for given in overrides:
        field, equals, value = given.partition("=")
        if not equals:
            raise BadSetting(f"{name}:{given} is not of the form {name}:key=value")
        nodes[field.strip()] = parse(value, COMMAND_LINE, numbered=False)
    found: Data = fill(Data, Node(nodes, COMMAND_LINE, None), f"data.{name}")
    return found


def kind(chosen: str | Record) -> str:
    """The name of what is chosen."""
    return str(chosen["kind"]) if isinstance(chosen, Record) and "kind" in chosen else str(chosen)


def _rest(chosen: str | Record) -> dict[str, Any]:
    return (
        {key: value for key, value in chosen.items() if key != "kind"} if isinstance(chosen, Record) else {}
    )


def text(value: Any) -> str:
    """A value as a command line has it."""
    return json.dumps(plain(value), ensure_ascii=False)
