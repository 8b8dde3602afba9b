"""The names of files and folders in a run's folder."""

from __future__ import annotations

from pathlib import PurePath

CONFIG, MACHINE, DATA = "config.yaml", "machine.json", "data.json"  # written when a run begins
EXTENDED = "extended.json"  # in a run that was extended: its number of updates
TUNING = "tuning.json"  # in a run whose settings were searched: what the search cost
METRICS, TIMINGS = "metrics.jsonl", "timings.jsonl"  # one line per update
EVALUATION_ROWS = "evaluation_rows.jsonl"  # one line per evaluation in training
REMARKS = "remarks.jsonl"  # only if there were remarks: one line per remark, with its update
METRICS_BEFORE = "metrics.before.jsonl"  # the log of a run that begins again because it had no checkpoint
SAMPLES, ANNOTATIONS, DRAFT = "samples.jsonl", "annotations.jsonl", "draft.json"  # in an annotation session
EVALUATION, EPISODES, REPORT = "evaluation.json", "episodes.jsonl", "report.html"  # written when a run ends
ROWS = "rows.jsonl"  # in the folder of a file of episodes: the rows that the task does not have
EVALUATIONS = "episodes"  # the folder of the episodes of evaluations in training
TENSORBOARD, LOCK = "tensorboard", ".lock"
SUITE, FAILURE = "bench.json", "failure.txt"  # in a run that belongs to a suite

CHECKPOINTS, BEST = "checkpoints", "best.json"  # the folder of checkpoints, and the note in it
POLICY, STATE, TENSORS, LOGS = "policy", "state.json", "state.safetensors", "logs.json"  # in a checkpoint

UPDATE = "update-"  # the prefix of a checkpoint's name, and of a file of episodes in `EVALUATIONS`
DIGITS = 15  # the most digits of an update


def of_update(update: int) -> str:
    """The name of the checkpoint of an update."""
    return f"{UPDATE}{update}"


def is_of_update(name: object) -> bool:
    """Whether a name has the form `update-N`."""
    digits = name.removeprefix(UPDATE) if isinstance(name, str) and name.startswith(UPDATE) else ""
    return digits.isascii() and digits.isdigit() and len(digits) <= DIGITS and str(int(digits)) == digits


def update_of(name: str) -> int:
    """The update in a name of the form `update-N`."""
    return int(name.removeprefix(UPDATE))


def is_inside(name: str) -> bool:
    """Whether a name that a file gives is the path of a file in a folder, and not of a place outside it."""
    path = PurePath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name
