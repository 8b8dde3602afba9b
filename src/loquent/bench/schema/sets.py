"""Sets of recorded episodes of a suite, which runs learn from or whose answers they rank.

A set exists already, or is collected once before these runs. It is played on the task of the runs that need
it, with the same options, so a suite states them once.
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
from loquent.core.values import Record, digest, freeze, plain
from loquent.errors import BadSetting
from loquent.files import names
from loquent.training.datasets import designs
from loquent.training.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Data:
    """A set of recorded episodes: the settings of `loquent collect`, or the path of existing episodes."""

    label: str = setting("", "the name in the tables; empty: the name of the set")
    path: str = setting("", "an existing file or folder of episodes; if it is set, nothing is collected")
    agent: str | Record = setting("", "the agent that plays, as a name or {kind: NAME, OPTION: VALUE}")
    design: str | Record = setting(
        "games", "games, branching, adversarial or tweets, as a name or {kind: NAME, OPTION: VALUE}"
    )
    suboptimal: str | Record = setting("", "the second player of a design")
    adversary: str | Record = setting("", "the third player of a design")
    episodes: int = setting(1000, "number of games; a design plays more games beside each", low=1)
    seed: int = setting(0, "the key of all random streams", low=0)
    split: str = setting("train", "the split whose rows are played")

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def players(self) -> dict[str, str | None]:
        """The name of each player's agent, by the option that names it; None if there is no such player."""
        return {player: kind(getattr(self, player)) or None for player in designs.PLAYERS}

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the players and of the design, as `OWNER.KEY=VALUE` of a command line."""
        owners = (*designs.PLAYERS, designs.DESIGN)
        return tuple(
            f"{owner}.{identifier(key, owner)}={text(value)}"
            for owner in owners
            for key, value in _options(getattr(self, owner)).items()
        )


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Pairs of answers of a set; the Q of the better answer should be higher."""

    data: str = setting(why="the name of the set")
    pairs: str = setting(
        why="branch: a fork's answer and the expert's answer that it replaces; initial: the first answers of "
        "the expert and of the suboptimal player",
        choices=("branch", "initial"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SetJob:
    """A job that collects a set of episodes, or reads an existing set, and computes its figures.

    `key` is a hash of all settings that determine the episodes. `folder` holds the collected episodes and the
    figures.
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
        """The name in progress lines and failures."""
        return self.folder.name

    @property
    def place(self) -> Path:
        """The file or folder of the episodes."""
        return Path(self.data.path) if self.data.path else self.folder

    @property
    def file(self) -> Path:
        """The file of the episodes."""
        return self.place / names.EPISODES if self.place.is_dir() or not self.data.path else self.place

    @property
    def figures_key(self) -> str:
        """A hash of all settings that determine the figures."""
        return digest(Record(key=self.key, optimum=self.optimum), 16)


def plan_set(name: str, data: Data, recipe: Recipe, out: Path, optimum: str | Record) -> SetJob:
    """The job of a set, on the task of a recipe's runs.

    Raises:
        BadSetting: an option of the design is unknown, or a player is missing or superfluous.
    """
    options = freeze(plain(recipe.options))
    job = SetJob(name, "", out / name, data, recipe.task, options, optimum)
    identity: dict[str, Any] = {"task": recipe.task, "options": options}
    if data.path:
        content = job.file.read_bytes() if job.file.is_file() else b""  # `outside` refuses a missing file
        identity["content"] = hashlib.sha256(content).hexdigest()
    else:
        settings = designs.read(kind(data.design), data.players, data.options)
        identity |= {"data": {**plain(data), "label": ""}, "inputs": _inputs(kind(data.design), settings)}
    return dataclasses.replace(job, key=digest(Record(identity), 16))


def _inputs(design: str, settings: Any) -> str | None:
    try:
        return designs.inputs(design, settings)
    except BadSetting:  # a plan may be made and costed without its files; `collecting` names a missing one
        return "missing"


def replace_fields(
    name: str, data: Data, layers: Sequence[Mapping[str, Node]], overrides: Sequence[str]
) -> Data:
    """The set with fields replaced: by the layers of a profile, then by `key=value` of a command line.

    Raises:
        BadSetting: a field is unknown, or a value is wrong.
    """
    nodes = {field: Node(freeze(value), "suite", None) for field, value in plain(data).items()}
    for layer in layers:
        nodes |= layer
    for override in overrides:
        field, equals, value = override.partition("=")
        if not equals:
            raise BadSetting(f"{name}:{override} is not of the form {name}:key=value")
        nodes[field.strip()] = parse(value, COMMAND_LINE, numbered=False)
    filled: Data = fill(Data, Node(nodes, COMMAND_LINE, None), f"data.{name}")
    return filled


def kind(choice: str | Record) -> str:
    """The name in a choice, which is a name or {kind: NAME, OPTION: VALUE}."""
    return str(choice["kind"]) if isinstance(choice, Record) and "kind" in choice else str(choice)


def _options(choice: str | Record) -> dict[str, Any]:
    if not isinstance(choice, Record):
        return {}
    return {key: value for key, value in choice.items() if key != "kind"}


def identifier(key: str, owner: str) -> str:
    """The name of an option; BadSetting for a text that is no name."""
    if not key.isidentifier():
        raise BadSetting(f"{owner} has no option {key!r:.80}; an option is a name of letters, digits and _")
    return key


def text(value: Any) -> str:
    """A value in the syntax of a command line."""
    return json.dumps(plain(value), ensure_ascii=False)
