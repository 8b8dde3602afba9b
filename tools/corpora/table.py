"""The table of the built-in corpora: each file of the package with what makes its content."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.corpora.blocks import corpus as blocks
from tools.corpora.blocks import geometry
from tools.corpora.writing import encoded

HOUSE = Path(__file__).resolve().parents[2] / "src" / "loquent"


def _blocks(appearance: str) -> bytes:
    return encoded({"statements": blocks.records(appearance)})


CORPORA: dict[str, Callable[[], bytes]] = {
    "tasks/blocks/geometry/tables.npz": geometry.make,
    "tasks/blocks/sources/tower.json.xz": partial(_blocks, "tower"),
    "tasks/blocks/sources/scatter.json.xz": partial(_blocks, "scatter"),
}
