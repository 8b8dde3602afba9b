"""Whether the fields of a row from outside the source are those of a dialogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core import schema
from loquent.core.guards.json_files import show
from loquent.core.values import Record
from loquent.errors import BadRow
from loquent.tasks.dialogue.game.protocol import MOST_NUMBERS
from loquent.tasks.dialogue.game.rules import TURNS
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF
from loquent.tasks.dialogue.scenes.scene import PROPERTIES, VALUES


def check(fields: Record, sizes: Mapping[str, int]) -> None:
    """Check the fields of a row.

    Args:
        sizes: the number of images in each file of the source.

    Raises:
        BadRow: a field is missing or wrong; names it.
    """
    _require(isinstance(fields.get("caption"), str), fields, "caption", "a text")
    rounds = _fits(fields["dialog"], tuple[tuple[str, str], ...])
    _require(rounds, fields, "dialog", "pairs of texts")
    if "progress" in fields:
        fits = _are_numbers(fields["progress"], TURNS + 1, TURNS + 1)
        _require(fits, fields, "progress", f"{TURNS + 1} finite numbers")
    if "subject" in fields or "values" in fields:
        known = isinstance(fields.get("subject"), str) and fields["subject"] in DOMAIN_OF
        _require(known, fields, "subject", f"one of {', '.join(DOMAIN_OF)}")
        right = f"{PROPERTIES} numbers from 0 to {VALUES - 1}"
        _require(_are_places(fields.get("values")), fields, "values", right)
    if "features" in fields:
        right = f"1 to {MOST_NUMBERS:,} finite numbers"
        _require(_are_numbers(fields["features"], 1, MOST_NUMBERS), fields, "features", right)
        return
    known = isinstance(fields.get("file"), str) and fields["file"] in sizes
    _require(known, fields, "file", f"one of {', '.join(sizes)}, or the row must have features")
    image, count = fields.get("image"), sizes[fields["file"]]
    _require(type(image) is int and 0 <= image < count, fields, "image", f"a number from 0 to {count - 1}")


def _require(holds: bool, fields: Record, name: str, right: str) -> None:
    if not holds:
        raise BadRow(f"{name} is {show(fields.get(name))}; it must be {right}")


def _fits(value: Any, hint: Any) -> bool:
    try:
        return schema.check_of(hint)(value) is not None
    except ValueError:
        return False


def _are_numbers(values: Any, least: int, most: int) -> bool:
    return _fits(values, tuple[float, ...]) and least <= len(values) <= most


def _are_places(values: Any) -> bool:
    places = _fits(values, tuple[int, ...]) and len(values) == PROPERTIES
    return places and all(0 <= value < VALUES for value in values)
