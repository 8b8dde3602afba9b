"""The files of an annotation session beside those of its run: samples, annotations, and the draft of one
annotation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent.annotation.forms import Annotation, Form
from loquent.core.guards import json_files
from loquent.core.task import Row
from loquent.core.values import frozen, plain
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, names
from loquent.files.final_evaluation import is_number
from loquent.files.run_folder import RunFolder


class SessionFiles:
    """Writes and reads what people have annotated, in the folder of the session's run."""

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
        """Append an annotation, and delete the draft."""
        atomic.append_line(self.folder.annotations, annotation)
        self.folder.draft.unlink(missing_ok=True)

    def undo(self, annotations: Sequence[Mapping[str, Any]]) -> None:
        """Remove the last of the annotations; it becomes the draft of its sample."""
        _rewrite(self.folder.annotations, annotations[:-1])
        last = annotations[-1]
        self.write_draft(last["id"], last["given"])

    def write_draft(self, sample: str, labels: Sequence[str]) -> None:
        """Write an annotation that is not finished."""
        atomic.write_json(self.folder.draft, {"id": sample, "given": list(labels)})

    def draft(self, row: Row) -> Annotation | None:
        """The draft of a sample; None where there is none.

        Raises:
            BadCheckpoint: the file holds something else.
        """
        file = self.folder.draft
        if not file.is_file():
            return None
        advice = "delete it, and this sample begins without corrections"
        draft = json_files.load_object(file, advice)
        if draft.get("id") != row.id:
            return None
        labels = draft.get("given")
        try:
            if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
                raise ValueError(f"given is {json_files.shown(labels)}; a list of texts is right")
            if labels:  # an empty annotation is a draft too
                self.form.shown(row, tuple(labels))
        except (LoquentError, ValueError, LookupError, TypeError) as error:
            raise BadCheckpoint(f"{file} holds no corrections of this sample ({error}); {advice}") from error
        return tuple(labels)

    def read(self) -> tuple[list[Row], list[dict[str, Any]]]:
        """The samples and the annotations. A last line that a crash has cut off is deleted.

        Raises:
            BadCheckpoint: a line is not whole, or the annotations do not follow the samples.
        """
        folder = self.folder
        samples = [self._sample(number, line) for number, line in _lines(folder.samples)]
        annotations = [line for _, line in _lines(folder.annotations)]
        if [line.get("id") for line in annotations] != [row.id for row in samples[: len(annotations)]]:
            what = f"{folder.annotations} does not follow {names.SAMPLES}"
            raise BadCheckpoint(f"{what}; neither of them may be changed by hand")
        for number, (row, annotation) in enumerate(zip(samples, annotations, strict=False), 1):
            self._check(number, row, annotation)
        _rewrite(folder.annotations, annotations)
        _rewrite(folder.samples, [_line(row) for row in samples])
        return samples, annotations

    def _sample(self, number: int, line: Mapping[str, Any]) -> Row:
        place = f"{self.folder.samples}:{number}: this line is no sample"
        if not isinstance(line.get("fields"), dict) or not isinstance(line.get("id"), str):
            raise BadCheckpoint(f"{place}; an object with id and fields is right")
        try:
            return self.form.blank({**frozen(line["fields"]), "id": line["id"]})
        except (LoquentError, ValueError, TypeError, KeyError) as error:
            raise BadCheckpoint(f"{place} of this task ({type(error).__name__}: {error})") from error

    def _check(self, number: int, row: Row, annotation: Mapping[str, Any]) -> None:
        """Raise BadCheckpoint where a line of the annotations holds something else than a session writes."""
        place = f"{self.folder.annotations}:{number}"
        for name in ("suggested", "given"):
            if not isinstance(annotation.get(name), list):
                labels = json_files.shown(annotation.get(name))
                raise BadCheckpoint(f"{place}: {name} is {labels}; a list is right")
        try:
            self.form.filled(row, tuple(annotation["given"]))
        except (LoquentError, ValueError, TypeError, KeyError) as error:
            advice = f"neither {names.SAMPLES} nor {names.ANNOTATIONS} may be changed by hand"
            raise BadCheckpoint(f"{place}: {advice} ({type(error).__name__}: {error})") from error
        for name in ("corrected", "decisions", "weight"):
            value = annotation.get(name)
            if (
                not is_number(value)
                or annotation[name] < 0
                or (name != "weight" and not isinstance(value, int))
            ):
                raise BadCheckpoint(
                    f"{place}: {name} is {json_files.shown(value)}; a number of at least 0 is right"
                )


def _line(row: Row) -> dict[str, Any]:
    return {"id": row.id, "fields": plain(row.fields)}


def _lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with the numbers of their lines.

    A last line that a crash has cut off is left out.

    Raises:
        BadCheckpoint: another line is no object.
    """
    objects: list[tuple[int, dict[str, Any]]] = []
    try:
        for number, line in json_files.lines(path, torn_end=True):
            if not isinstance(line, dict):
                raise json_files.BadJson(f"it holds {json_files.shown(line)}, and an object is right", number)
            objects.append((number, line))
    except json_files.BadJson as error:
        raise BadCheckpoint(f"{path}:{error.line}: this line is not whole ({error})") from error
    return objects


def _rewrite(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    atomic.write_text(path, "".join(json.dumps(line) + "\n" for line in lines))
