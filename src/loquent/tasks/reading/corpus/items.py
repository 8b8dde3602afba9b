"""Questions of sources, before their fields are checked."""

from __future__ import annotations

from typing import Any, NamedTuple


class Item(NamedTuple):
    """A question of a file: its place, its id, the number of its article, its fields."""

    place: str
    id: str
    article: int
    fields: dict[str, Any]
