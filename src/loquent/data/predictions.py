"""Predictions to score with their references and prompts, from files of JSON lines or of plain text.

A file that ends in .jsonl, .json or .ndjson (and .gz) holds one object per line: predictions have `text`,
references have `references`, a list of texts. Both may have `prompt`, `id` and other fields, which become
fields of the row. A field in several files must have the same value in all. Any other file is plain text, one
text per line. Line n of every file belongs to sample n. In a plain file of references an empty line means no
reference; in JSON lines [""] means one empty reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loquent.core.guards.json_files import show
from loquent.core.metric import Samples
from loquent.core.task import Row
from loquent.core.values import Record, freeze
from loquent.data import readers
from loquent.errors import BadRow

LINES = (".jsonl", ".json", ".ndjson")
OTHERS = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".zip", ".npz", ".safetensors")
Sample = tuple[int, dict[str, Any]]  # (line, fields)


def read(predictions: Path, references: Sequence[Path] = ()) -> Samples:
    """The samples of a file of predictions and any number of files of references, which add up.

    Raises:
        BadRow: a file is missing, a folder, empty, not UTF-8 or of another format. A line is not a JSON
            object, lacks `text` or `references`, or has another type there. Files differ in length or
            contradict each other. Names file and line.
    """
    samples = list(_predictions(predictions))
    by_file = [list(_references(path)) for path in references]
    for path, other in zip(references, by_file, strict=True):
        _check_length(predictions, samples, path, other)
    merged = [
        _merge(predictions, sample, list(zip(references, own, strict=True)))
        for sample, *own in zip(samples, *by_file, strict=True)
    ]
    line_of: dict[str, int] = {}
    for number, (line, fields) in enumerate(merged, 1):
        fields.setdefault("id", str(number))
        if line_of.setdefault(fields["id"], line) != line:
            why = (
                f"the id {fields['id']!r} is that of line {line_of[fields['id']]} too; each id must "
                "occur once"
            )
            raise BadRow(why, file=predictions, line=line)
    return Samples(
        tuple(fields["text"] for _, fields in merged),
        tuple(fields.get("references", ()) for _, fields in merged),
        tuple(fields.get("prompt", "") for _, fields in merged),
        tuple(
            Row(
                fields["id"],
                Record({name: value for name, value in fields.items() if name not in ("id", "text")}),
            )
            for _, fields in merged
        ),
    )


def _predictions(path: Path) -> Iterator[Sample]:
    for line, fields in _records(path):
        if "text" not in fields:
            why = (
                "the field `text` is missing; it must hold the prediction; fields here: "
                f"{', '.join(fields) or 'none'}"
            )
            raise BadRow(why, file=path, line=line)
        yield line, fields


def _references(path: Path) -> Iterator[Sample]:
    plain = not _is_jsonl(path)
    for line, fields in _records(path):
        if plain:
            fields = {"references": (fields["text"],) if fields["text"] else ()}
        elif "references" not in fields:
            why = (
                "the field `references` is missing; it must hold a list of texts; fields here: "
                f"{', '.join(fields) or 'none'}"
            )
            raise BadRow(why, file=path, line=line)
        else:
            fields.pop("text", None)  # a source or another system's answer, not the prediction
        yield line, fields


def _records(path: Path) -> Iterator[Sample]:
    """The records of a file, with checked and frozen values."""
    if path.is_dir():
        raise BadRow(
            "this is a folder; it must be a file of JSON lines, or of plain text with one text per line",
            file=path,
        )
    if not path.exists():
        raise BadRow("there is no such file; name a file of JSON lines or of plain text", file=path)
    if path.name.lower().removesuffix(".gz").endswith(OTHERS):
        why = (
            f"files that end in {path.suffix} cannot be read; use JSON lines ({', '.join(LINES)}) or "
            "plain text, one text per line"
        )
        raise BadRow(why, file=path)
    for line, record in (readers.jsonl if _is_jsonl(path) else readers.text_lines)(path):
        fields = {name: freeze(value) for name, value in record.items()}
        problem = _problem(fields)
        if problem:
            raise BadRow(problem, file=path, line=line)
        if isinstance(fields.get("id"), int):
            fields["id"] = str(fields["id"])
        yield line, fields


def _is_jsonl(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(LINES)


def _problem(fields: dict[str, Any]) -> str | None:
    """The error in the fields `text`, `prompt`, `id` or `references`; None if there is none."""
    for name in ("text", "prompt"):
        if name in fields and not isinstance(fields[name], str):
            return f"`{name}` holds {show(fields[name])}; it must hold a text"
    if "id" in fields and (isinstance(fields["id"], bool) or not isinstance(fields["id"], str | int)):
        return f"`id` holds {show(fields['id'])}; it must hold a text or an integer"
    references = fields.get("references", ())
    if not isinstance(references, tuple) or not all(isinstance(reference, str) for reference in references):
        return f"`references` holds {show(references)}; it must hold a list of texts"
    for text in (fields.get("text", ""), fields.get("prompt", ""), *references):
        surrogate = (
            next((char for char in text if "\ud800" <= char <= "\udfff"), None)
            if not text.isascii()
            else None
        )
        if surrogate:
            return (
                f"a text holds the lone surrogate \\u{ord(surrogate):04x}; a text must hold characters only"
            )
    return None


def _check_length(predictions: Path, samples: list[Sample], path: Path, references: list[Sample]) -> None:
    if len(samples) == len(references):
        return
    files = [(predictions, samples), (path, references)]
    (short, fewer), (long, more) = sorted(files, key=lambda item: len(item[1]))
    blank = " (its last line is empty)" if not any(more[-1][1].values()) else ""
    why = (
        f"the file ends after {len(fewer)} samples, and {long} holds {len(more)}{blank}; both must hold "
        "the same number"
    )
    raise BadRow(why, file=short, line=len(fewer))


def _merge(predictions: Path, sample: Sample, others: list[tuple[Path, Sample]]) -> Sample:
    """A sample from all files: references are joined; other fields of the same name must be equal."""
    line, fields = sample
    merged: dict[str, Any] = dict(fields)
    place = dict.fromkeys(fields, f"{predictions}:{line}")
    joined: tuple[str, ...] = ()
    for path, (at, more) in others:
        joined += more["references"]
        for name, value in more.items():
            if name != "references" and merged.setdefault(name, value) != value:
                why = (
                    f"`{name}` is {show(value)}, and {show(merged[name])} in {place[name]}; both must "
                    "be equal"
                )
                raise BadRow(why, file=path, line=at)
            place.setdefault(name, f"{path}:{at}")
    if others:
        if fields.get("references", joined) != joined:
            places = ", ".join(f"{path}:{at}" for path, (at, _) in others)
            raise BadRow(
                f"`references` differ from those of {places}; remove them here, or make them equal",
                file=predictions,
                line=line,
            )
        merged["references"] = joined
    return line, merged
