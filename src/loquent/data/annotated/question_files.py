"""Files of questions with choices: JSON lines."""

from __future__ import annotations

from pathlib import Path

from loquent.data.annotated.loading import at, files
from loquent.data.columns import Placed
from loquent.data.readers import jsonl
from loquent.errors import BadSetting

ENDINGS = (".jsonl",)


def read(path: Path) -> dict[str, Placed]:
    """The questions of a file of JSON lines, or of a folder with one file per split."""
    if path.is_dir():
        return {split: at(file, jsonl(file)) for split, file in files(path, ENDINGS).items()}
    if not path.name.lower().removesuffix(".gz").endswith(ENDINGS):
        raise BadSetting(
            f"{path}: no reader for this kind of file; its name must end in {', '.join(ENDINGS)}, "
            "also with .gz"
        )
    return {"": at(path, jsonl(path))}
