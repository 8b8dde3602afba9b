"""The evaluation at the end of a run: its file, which has a seal, and its episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint
from loquent.files import manifest, names
from loquent.files.records import FileRecord, check, is_record

FILES = "files"  # the key of the records of files: of the episodes
SAMPLES = "samples"  # the key of the scores per episode
REWARDED = "rewarded"  # the key of the keys of metrics that a reward pays for
RANGES = "ranges"  # the key of the least and the greatest possible values
NO_ROWS = (
    "on an unknown number of rows (an earlier version wrote this evaluation; its errors count episodes on "
    "one row as independent, so evaluate again before you rely on them)"
)
NOT_RECORDED = "not recorded"  # the decoding of evaluations of earlier versions
MOST = 1.7976931348623157e308  # the largest finite float


def sealed(
    folder: Path, evaluation: Mapping[str, Any], samples: Mapping[str, Sequence[float | None]]
) -> dict[str, Any]:
    """The content of `evaluation.json`: the evaluation, scores, the record of its episodes, and a seal.

    The file of the episodes must exist.

    Args:
        samples: by key, one score per episode.
    """
    episodes = FileRecord()
    episodes.read_on(folder / names.EPISODES)
    scores = {SAMPLES: {key: list(column) for key, column in samples.items()}} if samples else {}
    return manifest.sealed({**evaluation, **scores, FILES: {names.EPISODES: episodes.as_json()}})


def exists(folder: Path) -> bool:
    """Whether the run has ended, so that its evaluation exists.

    A broken link or a folder in place of the file counts too: reading it is an error.
    """
    path = folder / names.EVALUATION
    return path.exists() or path.is_symlink()


def check_episodes(folder: Path) -> None:
    """Compare the episodes with their record; an annotation session has no episodes.

    Raises:
        Damaged: the file is missing, or a line is missing, added or changed; names the file and the line.
    """
    files = _opened(folder).get(FILES, {})
    if not isinstance(files, dict) or not all(map(is_record, files.values())):
        raise _torn(folder, FILES, files)
    if names.EPISODES in files:
        check(folder / names.EPISODES, files[names.EPISODES], grows=False)


def read(folder: Path) -> dict[str, Any]:
    """The evaluation, checked against its seal, without the scores per episode.

    Raises:
        BadCheckpoint: it is torn.
        Damaged: it has changed, or has no seal.
    """
    evaluation = _opened(folder)
    evaluation.pop(FILES, None)
    evaluation.pop(SAMPLES, None)
    for name, kind in {"values": dict, "errors": dict, "task": str, "split": str, "n": int}.items():
        if not isinstance(evaluation.get(name), kind):
            raise _torn(folder, name, evaluation.get(name))
    for name in ("episodes", "rows"):  # earlier versions did not write them
        count = evaluation.get(name, 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise _torn(folder, name, count)
    if not isinstance(evaluation.get("decoding", ""), str):
        raise _torn(folder, "decoding", evaluation["decoding"])
    for name in ("values", "errors"):
        for key, value in evaluation[name].items():
            if not (value is None or is_number(value)):
                raise _torn(folder, f"{name}.{key:.80}", value, "it must be a finite number or null; ")
    checks: dict[str, Callable[[Any], bool]] = {
        "higher_is_better": lambda up: isinstance(up, bool | None),
        "owners": lambda name: isinstance(name, str),
        RANGES: _is_range,
    }
    for name, check_value in checks.items():
        section = evaluation.get(name, {})
        if not isinstance(section, dict) or not all(map(check_value, section.values())):
            raise _torn(folder, name, section)
    inside = evaluation.get(REWARDED, [])
    if not isinstance(inside, list) or not all(isinstance(key, str) for key in inside):
        raise _torn(folder, REWARDED, inside)
    return evaluation


def ranges_as_json(ranges: Mapping[str, tuple[float, float]]) -> dict[str, list[float | None]]:
    """Ranges by key as JSON: an open end is null, and a range with two open ends is left out."""
    finite = {key: [end if math.isfinite(end) else None for end in ends] for key, ends in ranges.items()}
    return {key: ends for key, ends in finite.items() if ends != [None, None]}


def range_of(evaluation: Mapping[str, Any], key: str) -> tuple[float, float]:
    """The recorded range of a value; infinite where it is open, or unknown as in earlier versions."""
    low, high = evaluation.get(RANGES, {}).get(key, (None, None))
    return -math.inf if low is None else low, math.inf if high is None else high


def samples(folder: Path) -> dict[str, list[float | None]]:
    """One score per episode by key, in the order of the episodes; None where a metric does not apply.

    Metrics whose value is no mean over episodes have none, and so have evaluations of earlier versions.

    Raises:
        BadCheckpoint: the evaluation is torn.
        Damaged: it has changed, or has no seal.
    """
    evaluation = _opened(folder)
    columns, count = evaluation.get(SAMPLES, {}), evaluation.get("n")
    if not isinstance(columns, dict):
        raise _torn(folder, SAMPLES, columns)
    for key, column in columns.items():
        good = isinstance(column, list) and len(column) == count
        if not good or not all(score is None or is_number(score) for score in column):
            allowed = f"it must have a finite number or null for each of the {count} episodes; "
            raise _torn(folder, f"{SAMPLES}.{key:.80}", column, allowed)
    return dict(columns)


def decoding(evaluation: Mapping[str, Any]) -> str:
    """How the agent chose its answers, such as "argmax"; earlier versions of Loquent did not say it."""
    return str(evaluation.get("decoding") or NOT_RECORDED)


def decoding_note(lines: Iterable[tuple[str, str]]) -> str:
    """The decodings of evaluation behind a table, in a sentence; it says so where they differ.

    Args:
        lines: the label and the decoding of each line of the table.
    """
    labels: dict[str, list[str]] = {}
    for label, text in lines:
        labels.setdefault(text, []).append(label)
    if len(labels) < 2:
        return "".join(f"Decoding of evaluation: {text}." for text in labels)
    texts = "; ".join(f"{text} ({', '.join(dict.fromkeys(own))})" for text, own in labels.items())
    return f"These lines mix decodings of evaluation, so they differ in more than what was trained: {texts}."


def size(evaluation: Mapping[str, Any]) -> str:
    """The number of episodes and rows of an evaluation, such as "200 episodes on 50 rows".

    Evaluations of earlier versions do not have the number of rows; the text warns of their errors.
    """
    counts = [("episode", evaluation["n"]), ("row", evaluation.get("rows"))]
    texts = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts if count is not None]
    return " on ".join(texts) + ("" if "rows" in evaluation else f" {NO_ROWS}")


def heading(evaluation: Mapping[str, Any]) -> str:
    """The task, the split, the size and the decoding of an evaluation, on one line."""
    place = f"{evaluation['task']}, {evaluation['split']}, {size(evaluation)}"
    return f"{place}; decoding: {decoding(evaluation)}"


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that is finite as a float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _is_range(ends: Any) -> bool:
    is_pair = isinstance(ends, list) and len(ends) == 2
    return is_pair and all(end is None or is_number(end) for end in ends)


def _opened(folder: Path) -> dict[str, Any]:
    path, advice = folder / names.EVALUATION, _advice(folder)
    return manifest.opened(json_files.load_object(path, advice, nan="null"), path, advice)


def _torn(folder: Path, name: str, value: Any, allowed: str = "") -> BadCheckpoint:
    place, text = folder / names.EVALUATION, json_files.shown(value)
    return BadCheckpoint(f"{place} is torn: {name} is {text}; {allowed}{_advice(folder)}")


def _advice(folder: Path) -> str:
    return f"delete it, and `loquent resume {folder}` evaluates again"
