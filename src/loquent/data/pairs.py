"""Texts to be scored: predictions, their references and prompts, out of files of JSON lines or of one text a line.

A file that ends in .jsonl, .json or .ndjson (and .gz) holds one object a line: predictions have `text`, references `references`, a list
of texts. Both may have `prompt`, `id` and other fields, which become the row's; a name that stands in both must hold the same there.
Any other file is plain text, one text a line. Samples meet by their place. In a plain file of references an empty line stands for no
reference; an empty reference can be said in JSON lines: [""].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.data import readers
from loquent.errors import BadRow
from loquent.task import Row
from loquent.values import Record, frozen

LINES = (".jsonl", ".json", ".ndjson")
OTHERS = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".zip", ".npz", ".safetensors")
Numbered = list[tuple[int, dict[str, Any]]]  # (line, what stands there)


@dataclass(frozen=True)
class Pairs:
    """What a metric is called with; one entry per sample in each."""

    predictions: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    prompts: tuple[str, ...]
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def chosen(self, numbers: Sequence[int]) -> Pairs:
        """The samples of these numbers, in this order; one may stand there several times."""
        return Pairs(
            tuple(self.predictions[i] for i in numbers),
            tuple(self.references[i] for i in numbers),
            tuple(self.prompts[i] for i in numbers),
            tuple(self.rows[i] for i in numbers),
        )


def read(predictions: Path, references: Sequence[Path] = ()) -> Pairs:
    """The samples of one file of predictions and of any number of files of references, each of which adds to those of every sample.

    Raises:
        BadRow: a file is missing, a folder, empty, not UTF-8 or of another form; a line is no JSON object, lacks `text` or `references` or
            holds something else there; files differ in length or contradict each other. Names file and line.
    """
    said = list(_predictions(predictions))
    others = [list(_references(path)) for path in references]
    for path, held in zip(references, others, strict=True):
        _same_length(predictions, said, path, held)
    merged = [_merged(predictions, one, list(zip(references, own, strict=True))) for one, *own in zip(said, *others, strict=True)]
    seen: dict[str, int] = {}
    for number, (line, fields) in enumerate(merged, 1):
        fields.setdefault("id", str(number))
        if seen.setdefault(fields["id"], line) != line:
            raise BadRow(f"the id {fields['id']!r} stands in line {seen[fields['id']]} too", file=predictions, line=line)
    return Pairs(
        tuple(fields["text"] for _, fields in merged),
        tuple(fields.get("references", ()) for _, fields in merged),
        tuple(fields.get("prompt", "") for _, fields in merged),
        tuple(Row(fields["id"], Record({name: value for name, value in fields.items() if name not in ("id", "text")})) for _, fields in merged),
    )


def _predictions(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, fields in _records(path):
        if "text" not in fields:
            raise BadRow(f"`text` is missing, which holds the prediction; here are: {', '.join(fields) or 'none'}", file=path, line=line)
        yield line, fields


def _references(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    plain = not _is_jsonl(path)
    for line, fields in _records(path):
        if plain:
            fields = {"references": (fields["text"],) if fields["text"] else ()}
        elif "references" not in fields:
            raise BadRow(f"`references` is missing, a list of texts; here are: {', '.join(fields) or 'none'}", file=path, line=line)
        else:
            fields.pop("text", None)  # a source or another system's answer; predictions alone say what is judged
        yield line, fields


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, checked and made values."""
    if path.is_dir():
        raise BadRow("this is a folder; a file of JSON lines or of texts, one a line, is right", file=path)
    if not path.exists():
        raise BadRow("there is no such file", file=path)
    if path.name.lower().removesuffix(".gz").endswith(OTHERS):
        raise BadRow(f"{path.suffix} is read by no one here; JSON lines ({', '.join(LINES)}) or plain text, one a line, are right", file=path)
    for line, fields in (readers.jsonl if _is_jsonl(path) else readers.text_lines)(path):
        try:
            made = {name: frozen(value) for name, value in fields.items()}
        except RecursionError:
            raise BadRow("this line is nested too deeply", file=path, line=line) from None
        problem = _problem(made)
        if problem:
            raise BadRow(problem, file=path, line=line)
        if isinstance(made.get("id"), int):
            made["id"] = str(made["id"])
        yield line, made


def _is_jsonl(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(LINES)


def _problem(fields: dict[str, Any]) -> str | None:
    """What is wrong with the fields that have a meaning here."""
    for name in ("text", "prompt"):
        if name in fields and not isinstance(fields[name], str):
            return f"`{name}` holds {readers.short(fields[name])}; a text is right"
    if "id" in fields and (isinstance(fields["id"], bool) or not isinstance(fields["id"], str | int)):
        return f"`id` holds {readers.short(fields['id'])}; a text or a whole number is right"
    references = fields.get("references", ())
    if not isinstance(references, tuple) or not all(isinstance(one, str) for one in references):
        return f"`references` holds {readers.short(references)}; a list of texts is right"
    for text in (fields.get("text", ""), fields.get("prompt", ""), *references):
        half = next((char for char in text if "\ud800" <= char <= "\udfff"), None) if not text.isascii() else None
        if half:
            return f"a text holds \\u{ord(half):04x}, one half of a surrogate pair, which is no character"
    return None


def _same_length(predictions: Path, said: Numbered, path: Path, held: Numbered) -> None:
    if len(said) == len(held):
        return
    short, count = (path, len(held)) if len(held) < len(said) else (predictions, len(said))
    long, more, last = (predictions, len(said), said[-1]) if len(held) < len(said) else (path, len(held), held[-1])
    blank = " (its last line is empty)" if not any(last[1].values()) else ""
    raise BadRow(f"the file ends after {count} samples, and {long} holds {more}{blank}; both must hold as many", file=short, line=count)


def _merged(predictions: Path, said: tuple[int, dict[str, Any]], others: list[tuple[Path, tuple[int, dict[str, Any]]]]) -> tuple[int, dict[str, Any]]:
    """One sample out of all files: references are joined, what else stands twice must be equal."""
    line, fields = said
    whole: dict[str, Any] = dict(fields)
    place = dict.fromkeys(fields, f"{predictions}:{line}")
    joined: tuple[str, ...] = ()
    for path, (at, more) in others:
        joined += more["references"]
        for name, value in more.items():
            if name != "references" and whole.setdefault(name, value) != value:
                raise BadRow(f"`{name}` is {readers.short(value)}, and {readers.short(whole[name])} in {place[name]}", file=path, line=at)
            place.setdefault(name, f"{path}:{at}")
    if others:
        if fields.get("references", joined) != joined:
            raise BadRow(f"`references` are not those of {', '.join(f'{path}:{at}' for path, (at, _) in others)}", file=predictions, line=line)
        whole["references"] = joined
    return line, whole
