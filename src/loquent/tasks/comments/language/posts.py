"""The built-in posts with replies, and a friendly reply to each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from loquent.data import corpora
from loquent.data.sources import Splits


def splits() -> Splits:
    """The built-in rows; no post and no comment is in two splits.

    A row has `parent`, `comment`, `score` and `label`, the label of toxicity.
    """
    return corpora.rows(Path(__file__).with_name("posts.json.xz"))


@cache
def posts() -> frozenset[str]:
    """All built-in posts."""
    return frozenset(row["parent"] for rows in splits().values() for row in rows)


def friendly(parent: str) -> str | None:
    """A friendly reply that names the thing of a built-in post; None for another post."""
    if parent not in posts():
        return None
    thing = parent.split()[3]  # "i watered my roses before breakfast . it went well ."
    return f"nice work with the {thing} ."
