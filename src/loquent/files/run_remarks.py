"""The remarks of a run: what was done without being asked for, as `remarks.jsonl` in its folder.

The results do not depend on this file, so no checkpoint has a record of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.guards.json_files import BadJson
from loquent.files import atomic, names


class RunRemarks:
    """The remarks of one run in the order in which they were made. Each text is kept once.

    Remarks that are made before the run has a folder are written when it gets one.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.update = 0  # of the remarks to come
        self._file: Path | None = None
        self._waiting, self._known = list(texts), set[str]()

    def add(self, text: str) -> None:
        """Add a remark."""
        self._waiting.append(text)
        self._write()

    def begin(self, folder: Path, update: int = 0) -> None:
        """Write to the folder of a run from now on. A run that begins (update 0) has no earlier remarks."""
        self._file, self.update = folder / names.REMARKS, update
        if not update:
            self._file.unlink(missing_ok=True)
        self._known = {line["remark"] for line in read(folder)}
        self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        for text in self._waiting:
            if text not in self._known:
                self._known.add(text)
                atomic.append_line(self._file, {"update": self.update, "remark": text})
        self._waiting.clear()


def read(folder: Path) -> list[dict[str, Any]]:
    """The remarks of a run, each with `update` and `remark`; lines that cannot be read are left out."""
    lines, path = list[Any](), folder / names.REMARKS
    with contextlib.suppress(OSError, BadJson):
        lines.extend(line for _, line in json_files.lines(path, torn_end=True) if _is_remark(line))
    return lines


def _is_remark(line: Any) -> bool:
    return (
        isinstance(line, dict) and isinstance(line.get("update"), int) and isinstance(line.get("remark"), str)
    )
