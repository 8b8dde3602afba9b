"""The identity of a run, which must be the same when it is resumed.

It consists of the recipe, the machine and the rows of the evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.task import Task
from loquent.core.values import digest
from loquent.errors import AnotherRun
from loquent.recipes.sections import TrainingSettings
from loquent.training.evaluate import held_out


def held_out_rows(task: Task, settings: TrainingSettings) -> dict[str, str]:
    """A digest of the rows of each evaluation, by split."""
    rows = {settings.final_split: held_out(task, settings.final_split, settings.final_episodes)}
    if settings.evaluate_every:
        watched = held_out(task, settings.evaluate_split, settings.evaluate_episodes, settings.only)
        rows[settings.evaluate_split] = rows.get(settings.evaluate_split, []) + watched
    values = {
        split: tuple((row.id, row.fields) for chunk in chunks for row in chunk)
        for split, chunks in rows.items()
    }
    return {split: digest(value, 16) for split, value in values.items()}


def compare(saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Compare the identity in a saved state with the current one.

    Raises:
        AnotherRun: a part differs; names the part and both values.
    """
    for name, value in now.items():
        if saved.get(name) != value:
            raise AnotherRun(_difference("rows of" if name == "rows" else name, saved.get(name), value))


def _difference(name: str, saved: Any, now: Any) -> str:
    if isinstance(now, Mapping) and isinstance(saved, Mapping):
        part = next((part for part in now if saved.get(part) != now[part]), name)
        name, saved, now = (
            (f"{name} {part}" if name == "rows of" else part),
            saved.get(part),
            now.get(part, now),
        )
    hint = "; set OMP_NUM_THREADS" if name == "threads" else ""
    what = f"its {name} was {saved!r} and is {now!r} now"
    return f"{what}; both must be equal, because a resumed run gives the same results, bit for bit{hint}"
