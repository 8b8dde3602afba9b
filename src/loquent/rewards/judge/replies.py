"""A cache of a judge's replies on disk, by the content of question and judge: a SQLite file.

Several processes may share it. The replies are texts that are read as any other reply, so a file from
elsewhere can do no more than an endpoint. A file that cannot be used costs the cache, not the run.
"""

from __future__ import annotations

import contextlib
import sqlite3
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loquent.core.settings import Remark
from loquent.errors import BadSetting

FILE = "judge.sqlite"
PART = 500  # keys of one query
WAIT = 30.0  # seconds for a lock of another process


class Replies:
    """The replies in a folder, which is created; `folder` None: no reply is kept.

    Raises:
        BadSetting: the folder cannot be created.
    """

    def __init__(self, folder: Path | None) -> None:
        self.file = None if folder is None else folder / FILE
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadSetting(
                    f"cache = {str(folder)!r} cannot be created ({error}); name another folder, or none"
                ) from error

    def find(self, keys: Sequence[str]) -> dict[str, str]:
        """The kept replies by their keys."""
        found: dict[str, str] = {}

        def read(opened: sqlite3.Connection) -> None:
            for start in range(0, len(keys), PART):
                part = keys[start : start + PART]
                marks = ", ".join("?" * len(part))
                rows = opened.execute(f"SELECT key, reply FROM replies WHERE key IN ({marks})", part)
                found.update((key, reply) for key, reply in rows if isinstance(reply, str))

        self._use(read)
        return found

    def keep(self, replies: Mapping[str, str]) -> None:
        """Keep replies by their keys."""

        def write(opened: sqlite3.Connection) -> None:
            opened.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?)", list(replies.items()))
            opened.commit()

        if replies:
            self._use(write)

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        if self.file is None:
            return
        try:
            with contextlib.closing(sqlite3.connect(self.file, timeout=WAIT)) as opened:
                opened.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT)")
                work(opened)
        except (sqlite3.Error, UnicodeError) as error:
            warnings.warn(f"{self.file} cannot be used ({error}); replies are not kept", Remark, stacklevel=4)
            self.file = None
