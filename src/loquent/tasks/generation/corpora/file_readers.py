"""Records of published files, of their forms by name, and of tables of the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from loquent.data.columns import Placed
from loquent.data.sources import Source, tables
from loquent.errors import BadSetting
from loquent.tasks.generation.corpora import (
    dialogue_files,
    question_files,
    record_files,
    story_files,
    translation_files,
)

FILES: dict[str, Callable[[Path], dict[str, Placed]]] = {
    "dialogues": dialogue_files.files,
    "pairs": translation_files.files,
    "questions": question_files.files,
    "records": record_files.files,
    "stories": story_files.files,
}


def records(form: str, source: Source) -> dict[str, Placed]:
    """The records of a source by split, with their places; errors as `loading.load`.

    Args:
        form: the form of the files, one of `FILES`.
    """
    if source.kind == "hub":
        return {
            split: _numbered(table, f"{source.pinned_name}/{split}")
            for split, table in tables(source).items()
        }
    path = Path(source.path).expanduser()
    if not path.exists():
        raise BadSetting(f"path = {source.path!r}: there is no such file or folder")
    return FILES[form](path)


def _numbered(table: Iterable[Any], place: str) -> Placed:
    return (((place, number), record) for number, record in enumerate(table, 1))
