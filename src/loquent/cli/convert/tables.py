"""The tables of `rl4lms.yaml`: what the keys, scores and data pools of RL4LMs become, or why they do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loquent.core.options import fill, read
from loquent.core.values import EMPTY, Record


@dataclass(frozen=True)
class Row:
    """The setting that a key becomes; without a default its value is none, or the setting is left out.

    Attributes:
        low: the least value.
        required: whether a file must have the key.
        optional: whether a setting without a value is left out.
        why: how the setting differs.
    """

    to: str
    type: Literal["int", "float", "bool", "str"]
    default: Any = None
    low: float | None = None
    required: bool = False
    optional: bool = False
    why: str = ""


@dataclass(frozen=True)
class Score:
    """The counterpart of a score: its name in Loquent, and how the options correspond."""

    name: str
    options: Mapping[str, str] = EMPTY
    fixed: Record = EMPTY
    always: Record = EMPTY
    free: Mapping[str, str] = EMPTY
    remark: str = ""


@dataclass(frozen=True)
class Pool:
    """The counterpart of a data pool; without a number of rows it is not known."""

    dataset: str
    prefix: tuple[str, str] = ("", "")
    part: str = ""
    suffix: tuple[str, str] = ("", "")
    options: Mapping[str, Row] = EMPTY
    pinned: bool = False
    remark: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Tables:
    """The tables by name."""

    known: Mapping[str, tuple[str, ...]]
    on_policy: Mapping[str, Row]
    trpo: Mapping[str, Row]
    penalty: Mapping[str, Row]
    iterations: Mapping[str, Row]
    evaluation: Mapping[str, Row]
    supervised: Mapping[str, Row]
    epochs: Mapping[str, Row]
    defaults: Mapping[str, Record]
    schedules: Mapping[str, str]
    training_args: tuple[str, ...]
    why: Mapping[str, str]
    pools: Mapping[str, Pool]
    scores: Mapping[str, Score]
    sums: Mapping[str, Record]
    encoders: Mapping[str, str]


FILE = Path(__file__).with_name("rl4lms.yaml")
TABLES: Tables = fill(Tables, read(FILE), "tables")
WHY = TABLES.why
