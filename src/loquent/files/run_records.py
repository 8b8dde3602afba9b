"""Records of a run's files, one set per checkpoint: they show a lost or changed line before a run is resumed.

The record of a file has lines, bytes, SHA-256 and a mark of each line. The marks show which line has changed.

Each checkpoint has `logs.json`: the record of every log up to its update, of every file of `episodes/`, and
of the files that are written when a run begins. The logs themselves have values only.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.settings import setting
from loquent.errors import Damaged
from loquent.files import manifest, names

# logs, to which lines are added
GROWING = (
    names.METRICS,
    names.TIMINGS,
    names.EVALUATION_ROWS,
    names.ROWS,
    names.SAMPLES,
    names.ANNOTATIONS,
)
FIXED = (names.CONFIG, names.MACHINE, names.DATA)  # these never change
FIRST = f"{names.EVALUATIONS}/{names.of_update(0)}.jsonl"  # the evaluation before the first update
MARK = 8  # hexadecimal digits of a line's CRC-32


@dataclass(frozen=True)
class Fingerprint:
    """What a record holds: the numbers of lines and bytes, the SHA-256, and the marks of all lines."""

    lines: int = setting(low=0)
    bytes: int = setting(low=0)
    sha256: str = setting()
    marks: str = setting()

    def __post_init__(self) -> None:
        if len(self.marks) != self.lines * MARK:
            raise ValueError(f"it has marks of {len(self.marks) / MARK:g} lines, and lines = {self.lines}")


class FileRecord:
    """The record of a file that grows.

    Each byte is read once, so a later change of a line is not followed.
    """

    def __init__(self) -> None:
        self._sha, self._bytes, self._marks = hashlib.sha256(), 0, list[str]()

    def read_on(self, path: Path) -> None:
        """Read the lines that were added to the file."""
        with path.open("rb") as file:
            file.seek(self._bytes)
            for line in file:
                self._sha.update(line)
                self._bytes += len(line)
                self._marks.append(mark(line))

    def as_json(self) -> dict[str, Any]:
        """The record as JSON."""
        marks = "".join(self._marks)
        return asdict(Fingerprint(len(self._marks), self._bytes, self._sha.hexdigest(), marks))


def mark(line: bytes) -> str:
    """The CRC-32 of a line, in hexadecimal."""
    return f"{zlib.crc32(line):0{MARK}x}"


def check(path: Path, record: Fingerprint, *, grows: bool) -> bytes:
    """Compare a file with its record and return its bytes up to the record.

    Args:
        grows: whether lines may have been added since; they are not returned.

    Raises:
        Damaged: the file is missing, is not a file, or a line is missing, added or changed; names the file
            and the line.
    """
    advice = f"restore its {record.lines} lines from a copy"
    if not path.is_file():
        raise Damaged(f"{path} {'is no file' if path.exists() else 'is missing'}; {advice}")
    with path.open("rb") as file:
        content = file.read(record.bytes if grows else record.bytes + 1)
    if hashlib.sha256(content).hexdigest() != record.sha256:
        raise Damaged(f"{path}{_difference(content, record.marks)}; {advice}")
    return content


def _difference(content: bytes, marks: str) -> str:
    """The first line that differs, and how it differs."""
    expected = [marks[i : i + MARK] for i in range(0, len(marks), MARK)]
    actual = [mark(line) for line in _lines(content)]
    shorter = min(len(actual), len(expected))
    place = next((i for i in range(shorter) if actual[i] != expected[i]), shorter)
    if place >= len(actual):
        return f" ends after line {len(actual)}, and {len(expected)} were written"
    if place < len(expected) and actual[place] in expected[place + 1 :]:
        return f":{place + 1}: a line is missing before this one"
    if place >= len(expected) or expected[place] in actual[place + 1 :]:
        return f":{place + 1}: this line was not written by the run"
    return f":{place + 1}: this line is not what the run wrote"


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [parts[-1]] * bool(parts[-1])


class Recorder:
    """Makes the records of the files that a run writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, FileRecord] = {}

    def up_to(self, update: int) -> dict[str, dict[str, Any]]:
        """The content of `logs.json` in the checkpoint of this update."""
        written = [name for name in (*FIXED, *GROWING) if (self._folder / name).is_file()]
        for name in written + evaluation_files(self._folder, update):
            if name in GROWING or name not in self._records:
                self._records.setdefault(name, FileRecord()).read_on(self._folder / name)
        return {name: self._records[name].as_json() for name in sorted(self._records)}


@dataclass(frozen=True)
class Records:
    """The records of a run's files in one checkpoint, by name; empty if no checkpoint has any."""

    folder: Path
    files: Mapping[str, Fingerprint] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, checkpoint: Path) -> Records:
        """The records in a checkpoint of a run.

        Raises:
            Damaged: there are none, or `logs.json` has changed.
        """
        manifest.check(checkpoint, (names.LOGS,))
        path = checkpoint / names.LOGS
        form: Any = Mapping[str, Fingerprint]
        files = schema.load(form, path, error=Damaged)
        for name in files:
            if not _is_of_a_run(name):
                raise Damaged(f"{path} is torn at {name!r:.80}: it must be a file of a run")
        return cls(folder, files)

    def __bool__(self) -> bool:
        return bool(self.files)

    def check(self, name: str) -> bytes | None:
        """The bytes of a file up to its record, without lines that were added to a log since.

        None if there is no record.

        Raises:
            Damaged: the file is missing, or a line is missing, added or changed; names the file and the line.
        """
        if name not in self.files:
            return None
        return check(self.folder / name, self.files[name], grows=name in GROWING)

    def check_all(self, without: tuple[str, ...] = ()) -> dict[str, bytes]:
        """Compare all files with their records, except `without`.

        Returns the bytes of each log up to its record.

        Raises:
            Damaged: as in `check`; or there are episodes that the run has not written.
        """
        if names.METRICS not in self.files:
            raise Damaged(f"the checkpoint has no record of {names.METRICS}, so it belongs to no run")
        self.check_evaluations()
        contents = {name: self.check(name) for name in (*FIXED, *GROWING) if name not in without}
        return {
            name: content for name, content in contents.items() if name in GROWING and content is not None
        }

    def check_evaluations(self) -> None:
        """Compare the episodes of evaluations in training with their records; later evaluations may exist.

        Raises:
            Damaged: as in `check`; or there are episodes that the run has not written.
        """
        if not self.files:
            return
        lines = self.files[names.METRICS].lines if names.METRICS in self.files else 0
        update = lines - (FIRST in self.files)  # an evaluation before the first update has a line too
        for name in evaluation_files(self.folder, update):
            if name not in self.files:
                place = self.folder / name
                raise Damaged(f"{place} was not written by this run before update {update}; move it away")
        for name in self.evaluations():
            self.check(name)

    def evaluations(self) -> list[str]:
        """The recorded files of evaluations in training, as paths in the run's folder."""
        return [name for name in self.files if name.startswith(f"{names.EVALUATIONS}/")]

    def has(self, path: Path) -> bool:
        """Whether there is a record of a file."""
        return path.relative_to(self.folder).as_posix() in self.files


def evaluation_files(folder: Path, update: int) -> list[str]:
    """The files of the evaluations in training up to an update, as paths in the run's folder."""
    files = [
        path
        for path in (folder / names.EVALUATIONS).glob(f"{names.UPDATE}*.jsonl")
        if names.is_of_update(path.stem)
    ]
    return sorted(
        f"{names.EVALUATIONS}/{path.name}" for path in files if names.update_of(path.stem) <= update
    )


def _is_of_a_run(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    evaluation = file.endswith(".jsonl") and names.is_of_update(file.removesuffix(".jsonl"))
    return name in (*FIXED, *GROWING) or (folder == names.EVALUATIONS and evaluation)
