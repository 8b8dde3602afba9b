"""The built-in rows: 9,000 different scenes with captions, split by content."""

from __future__ import annotations

from pathlib import Path

from loquent.core.values import Record
from loquent.data import corpora
from loquent.data.sources import Splits
from loquent.tasks.dialogue.scenes.scene import Scene


def splits() -> Splits:
    """The rows of each split. A row has a caption, and the scene: `subject` and `values`."""
    return corpora.rows(Path(__file__).with_name("scenes.json.xz"))


def scene_of(fields: Record) -> Scene:
    """The scene of a row."""
    return Scene(fields["subject"], fields["values"])
