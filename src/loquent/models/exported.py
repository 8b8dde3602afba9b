"""The note in an exported model's folder, `loquent.json`: what the model was trained for, its format among
it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import BadSetting

NOTE = "loquent.json"


def read_note(folder: str | Path) -> dict[str, Any]:
    """What the export of a run says about itself; {} for the folder of another model.

    Raises:
        BadCheckpoint: the file is no JSON object.
    """
    file = Path(folder) / NOTE
    return json_files.load_object(file, "export the run again") if file.is_file() else {}


def format_name(note: dict[str, Any], folder: str | Path, default: str) -> str:
    """The name of the format that a note gives, or the default.

    Raises:
        BadSetting: the note names no format.
    """
    from loquent.models.format.names import FORMATS  # loads torch

    name = note.get("format", default)
    if not isinstance(name, str) or name not in FORMATS:
        found = json_files.shown(name)
        raise BadSetting(
            f"{Path(folder) / NOTE}: the format is {found}; it must be one of {', '.join(FORMATS)}; "
            "export the run again"
        )
    return name
