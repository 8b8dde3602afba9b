"""The logs of a run: the values and the seconds of each update, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint
from loquent.files import atomic, names


class RunLogs:
    """The logs of one run."""

    def __init__(self, folder: Path) -> None:
        self.metrics, self.timings = folder / names.METRICS, folder / names.TIMINGS
        self.evaluation_rows = folder / names.EVALUATION_ROWS

    def begin(self) -> None:
        """Write empty logs."""
        self.cut({})

    def append(self, values: Mapping[str, Any], seconds: Mapping[str, Any]) -> None:
        """Append the lines of an update: its values, and its seconds by stage."""
        atomic.append_line(self.metrics, values)
        atomic.append_line(self.timings, seconds)

    def cut(self, contents: Mapping[str, bytes]) -> None:
        """Write the logs of a checkpoint, with their contents by file name.

        A log without content becomes empty; without evaluations there is no file of values by row.
        """
        for path in (self.metrics, self.timings, self.evaluation_rows):
            if path == self.evaluation_rows and path.name not in contents:
                path.unlink(missing_ok=True)
            else:
                atomic.write_text(path, contents.get(path.name, b"").decode())

    def cut_after(self, update: int) -> None:
        """Delete the lines after an update, and a last line that a crash has cut off.

        Raises:
            BadCheckpoint: another line is incomplete; names it.
        """
        for path in (self.metrics, self.timings):
            lines = [line for line in read_log(path, torn_end=True) if line["update"] <= update]
            atomic.write_text(path, "".join(json.dumps(line) + "\n" for line in lines))

    def set_aside(self) -> Path | None:
        """Rename the log of a run that begins again; returns the new path, or None if the log is empty."""
        if not self.metrics.is_file() or not self.metrics.stat().st_size:
            return None
        aside = self.metrics.with_name(names.METRICS_BEFORE)
        atomic.move(self.metrics, aside)
        return aside


def read_log(path: Path, *, torn_end: bool = False) -> Iterator[dict[str, Any]]:
    """The lines of a log, each an object with its `update`; no lines if there is no file.

    Args:
        torn_end: leave out a last line that a crash has cut off.

    Raises:
        BadCheckpoint: a line is incomplete; names it.
    """
    if not path.is_file():
        return
    try:
        for number, line in json_files.lines(path, torn_end=torn_end, nan="null"):
            if not isinstance(line, dict) or "update" not in line:
                raise json_files.BadJson("it names no update", number)
            yield line
    except json_files.BadJson as error:
        raise BadCheckpoint(f"{path}:{error.line}: this line is not whole ({error})") from error
