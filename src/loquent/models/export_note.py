"""The note `loquent.json` in an exported model's folder.

It says what the model was trained for, and in which format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import BadSetting

NOTE = "loquent.json"


def read_note(folder: str | Path) -> dict[str, Any]:
    """The content of an exported model's note; {} for a folder without a note.

    Raises:
        BadCheckpoint: the file is not a JSON object.
    """
    file = Path(folder) / NOTE
    return json_files.load_object(file, "export the run again") if file.is_file() else {}


def format_of(note: dict[str, Any], folder: str | Path, default: str = "auto") -> tuple[str, bool | None]:
    """The name of the format in a note, or the default; and how its template thinks (`model.thinking`).

    Raises:
        BadSetting: the note's format is not a known one.
    """
    from loquent.models.format.names import NAMES  # loads torch

    name = note.get("format", default)
    if name != default and (not isinstance(name, str) or name not in NAMES):
        raise BadSetting(
            f"{Path(folder) / NOTE}: the format is {json_files.show(name)}; it must be one of "
            f"{', '.join(NAMES)}; export the run again"
        )
    thinking = note.get("thinking")
    return name, thinking if isinstance(thinking, bool) else None
