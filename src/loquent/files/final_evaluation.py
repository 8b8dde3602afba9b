"""The evaluation at the end of a run: its file, which has a seal, and its episodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.settings import setting
from loquent.core.values import EMPTY
from loquent.errors import BadCheckpoint
from loquent.files import manifest, names
from loquent.files.run_records import FileRecord, Fingerprint, check

FILES = "files"  # the key of the records of files: of the episodes
SAMPLES = "samples"  # the key of the scores per episode
REWARDED = "rewarded"  # the key of the keys of metrics that a reward pays for
RANGES = "ranges"  # the key of the least and the greatest possible values
NO_ROWS = (
    "on an unknown number of rows (an earlier version wrote this evaluation; its errors count episodes on "
    "one row as independent, so evaluate again before you rely on them)"
)
NOT_RECORDED = "not recorded"  # the decoding of evaluations of earlier versions


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The fields of `evaluation.json` that are read; earlier versions did not write those with a default."""

    task: str
    split: str
    n: int
    values: Mapping[str, float | None]
    errors: Mapping[str, float | None]
    episodes: int = setting(0, low=0)
    rows: int = setting(0, low=0)
    decoding: str = ""
    higher_is_better: Mapping[str, bool | None] = EMPTY
    owners: Mapping[str, str] = EMPTY
    ranges: Mapping[str, tuple[float | None, float | None]] = EMPTY
    rewarded: tuple[str, ...] = ()
    samples: Mapping[str, tuple[float | None, ...]] = EMPTY
    files: Mapping[str, Fingerprint] = EMPTY

    def __post_init__(self) -> None:
        for key, column in self.samples.items():
            if len(column) != self.n:
                raise ValueError(f"samples.{key:.80} must have one score for each of the {self.n} episodes")


def seal_evaluation(
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
    return manifest.add_seal({**evaluation, **scores, FILES: {names.EPISODES: episodes.as_json()}})


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
    files = _read(folder)[1].files
    if names.EPISODES in files:
        check(folder / names.EPISODES, files[names.EPISODES], grows=False)


def read(folder: Path) -> dict[str, Any]:
    """The evaluation, checked against its seal, without the scores per episode.

    Raises:
        BadCheckpoint: it is torn.
        Damaged: it has changed, or has no seal.
    """
    evaluation, _ = _read(folder)
    return {name: value for name, value in evaluation.items() if name not in (FILES, SAMPLES)}


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
    return {key: list(column) for key, column in _read(folder)[1].samples.items()}


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


def _read(folder: Path) -> tuple[dict[str, Any], Evaluation]:
    """The content of the file, and its fields that are read."""
    path = folder / names.EVALUATION
    advice = f"delete it, and `loquent resume {folder}` evaluates again"
    content = manifest.remove_seal(json_files.load_object(path, advice, nan="null"), path, advice)
    try:
        return content, schema.read(Evaluation, content, extra=True)
    except ValueError as error:
        raise BadCheckpoint(f"{path} is torn: {error}; {advice}") from None
