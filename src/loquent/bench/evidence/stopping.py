"""Where runs with early stopping ended, and which checkpoint they kept, from the files that a run keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loquent.errors import BadCheckpoint
from loquent.files import names
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.statistics.tables import number
from loquent.training.recipes import Recipe

HEADS = (
    "run",
    "watched",
    "kept update",
    "its value",
    "last update",
    "its value",
    "ended by",
    "learning rate",
)
RATES = ("learning_rate", "sb3/learning_rate")


@dataclass(frozen=True)
class Stopped:
    """The end of a run whose recipe has `training.stop_metric`.

    Attributes:
        metric: the value that is watched in evaluations.
        kept: the update of the checkpoint that the final evaluation read.
        last: the last update that was made.
        limit: the setting that ended the run; empty if the rule of early stopping did.
        course: the update and the watched value of each evaluation.
        rate: the learning rate of the last update by the largest one; None if it is not logged. A course that
            is flat where the rate has fallen says little about the model.
    """

    metric: str
    kept: int
    last: int
    limit: str
    course: tuple[tuple[int, float | None], ...]
    rate: float | None

    @property
    def early(self) -> bool:
        """Whether the rule of early stopping ended the run."""
        return not self.limit

    def as_json(self) -> dict[str, Any]:
        """All fields by name, and `early`."""
        return {**asdict(self), "early": self.early}

    def cells(self, run: str) -> list[str]:
        """The cells of a table with `HEADS`."""
        values = dict(self.course)
        best, end = (values.get(update) for update in (self.kept, self.course[-1][0]))
        return [
            run,
            self.metric,
            str(self.kept),
            "–" if best is None else number(best),
            str(self.last),
            "–" if end is None else number(end),
            self.limit or "the rule",
            "–" if self.rate is None else f"{self.rate:.0%} of its largest",
        ]


def read(folder: RunFolder, recipe: Recipe, evaluation: Mapping[str, Any]) -> Stopped | None:
    """Where a finished run stopped; None without early stopping, or if the run's log cannot be read."""
    settings, kept = recipe.training, evaluation.get("checkpoint")
    if not settings.stop_metric or not names.is_of_update(kept):
        return None
    try:
        lines = list(read_log(folder.logs.metrics, torn_end=True))
    except (BadCheckpoint, OSError):
        return None
    key = f"evaluation/{settings.stop_metric}"
    course = tuple((int(line["update"]), line[key]) for line in lines if key in line)
    if not course:
        return None
    last = int(lines[-1]["update"])
    limit = f"training.updates = {settings.last_update}" if last >= settings.last_update else ""
    if not limit and settings.is_over(last, int(lines[-1].get("episodes", 0))):
        limit = f"training.most_episodes = {settings.most_episodes}"
    return Stopped(settings.stop_metric, names.update_of(str(kept)), last, limit, course, _rate(lines))


def _rate(lines: Sequence[Mapping[str, Any]]) -> float | None:
    """The last learning rate by the largest one."""
    key = next((key for key in RATES if key in lines[-1]), "")
    rates = [float(line[key]) for line in lines if line.get(key) is not None] if key else []
    return rates[-1] / max(rates) if rates and max(rates) > 0 else None
