"""The files that an annotation session adds to its run: samples, annotations, and one draft."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.annotation.sheets import Annotation, Form
from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.core.values import Record, plain
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, names
from loquent.files.run_folder import RunFolder


@dataclass(frozen=True)
class _Draft:
    given: tuple[str, ...]


@dataclass(frozen=True)
class _Sample:
    id: str
    fields: Record


@dataclass(frozen=True)
class _Labels:
    """The fields of an annotation that are read."""

    suggested: tuple[Any, ...]
    given: tuple[Any, ...]
    corrected: int = setting(low=0)
    decisions: int = setting(low=0)
    weight: float = setting(low=0)


class SessionFiles:
    """Writes and reads samples, annotations and the draft in the folder of the session's run."""

    def __init__(self, folder: RunFolder, form: Form) -> None:
        self.folder, self.form = folder, form

    def begin(self) -> None:
        """Write empty files."""
        for path in (self.folder.samples, self.folder.annotations):
            atomic.write_text(path, "")

    def add_sample(self, row: Row) -> None:
        """Append a sample."""
        atomic.append_line(self.folder.samples, _line(row))

    def add_annotation(self, annotation: Mapping[str, Any]) -> None:
        """Append an annotation and delete the draft."""
        atomic.append_line(self.folder.annotations, annotation)
        self.folder.draft.unlink(missing_ok=True)

    def undo(self, annotations: Sequence[Mapping[str, Any]]) -> None:
        """Remove the last annotation and write it as the draft of its sample."""
        _rewrite(self.folder.annotations, annotations[:-1])
        last = annotations[-1]
        self.write_draft(last["id"], last["given"])

    def write_draft(self, sample: str, labels: Sequence[str]) -> None:
        """Write an unfinished annotation."""
        atomic.write_json(self.folder.draft, {"id": sample, "given": list(labels)})

    def draft(self, row: Row) -> Annotation | None:
        """The draft of a sample; None if there is none.

        Raises:
            BadCheckpoint: the file does not hold corrections of this sample.
        """
        file = self.folder.draft
        if not file.is_file():
            return None
        advice = "delete the file to begin this sample without corrections"
        draft = json_files.load_object(file, advice)
        if draft.get("id") != row.id:
            return None
        try:
            labels = schema.read(_Draft, draft, extra=True).given
            if labels:  # an empty annotation is a draft too
                self.form.render(row, labels)
        except (LoquentError, ValueError, LookupError, TypeError) as error:
            raise BadCheckpoint(f"{file} holds no corrections of this sample ({error}); {advice}") from error
        return labels

    def read(self) -> tuple[list[Row], list[dict[str, Any]]]:
        """Read the samples and the annotations, and delete a last line that a crash cut off.

        Raises:
            BadCheckpoint: a line is damaged, or the annotations do not have the ids of the first samples.
        """
        folder = self.folder
        samples = [self._sample(number, line) for number, line in _lines(folder.samples)]
        annotations = [line for _, line in _lines(folder.annotations)]
        if [line.get("id") for line in annotations] != [row.id for row in samples[: len(annotations)]]:
            raise BadCheckpoint(
                f"{folder.annotations}: the ids are not those of the first samples in {names.SAMPLES}; "
                "do not edit these files"
            )
        for number, (row, annotation) in enumerate(zip(samples, annotations, strict=False), 1):
            self._check(number, row, annotation)
        _rewrite(folder.annotations, annotations)
        _rewrite(folder.samples, [_line(row) for row in samples])
        return samples, annotations

    def _sample(self, number: int, line: Mapping[str, Any]) -> Row:
        place = f"{self.folder.samples}:{number}: this line is no sample"
        try:
            sample = schema.read(_Sample, line, extra=True)
            return self.form.blank({**sample.fields, "id": sample.id})
        except (LoquentError, ValueError, TypeError, KeyError) as error:
            raise BadCheckpoint(f"{place} of this task ({type(error).__name__}: {error})") from error

    def _check(self, number: int, row: Row, annotation: Mapping[str, Any]) -> None:
        """Raise BadCheckpoint if a line of the annotations is not one that a session writes."""
        place = f"{self.folder.annotations}:{number}"
        try:
            given = schema.read(_Labels, annotation, extra=True).given
        except ValueError as error:
            raise BadCheckpoint(f"{place}: {error}") from error
        try:
            self.form.annotate(row, given)
        except (LoquentError, ValueError, TypeError, KeyError) as error:
            advice = f"do not edit {names.SAMPLES} and {names.ANNOTATIONS}"
            why = f"{type(error).__name__}: {error}"
            raise BadCheckpoint(
                f"{place}: the annotation does not fit its sample ({why}); {advice}"
            ) from error


def _line(row: Row) -> dict[str, Any]:
    return {"id": row.id, "fields": plain(row.fields)}


def _lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers, without a last line that a crash cut off.

    Raises:
        BadCheckpoint: another line is no JSON object.
    """
    objects: list[tuple[int, dict[str, Any]]] = []
    try:
        for number, line in json_files.lines(path, torn_end=True):
            if not isinstance(line, dict):
                raise json_files.BadJson(f"a line must be an object, got {json_files.show(line)}", number)
            objects.append((number, line))
    except json_files.BadJson as error:
        raise BadCheckpoint(f"{path}:{error.line}: this line is damaged ({error})") from error
    return objects


def _rewrite(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    atomic.write_text(path, "".join(json.dumps(line) + "\n" for line in lines))
