"""The results of a search: its trials with their values, the best one, and what the search cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.search import halving
from loquent.bench.search.journal import Journal, Plan
from loquent.bench.search.space import Dimension
from loquent.core.values import plain
from loquent.files.run_folder import Tuning
from loquent.statistics.tables import ARROWS, Table
from loquent.training.recipes import Recipe


@dataclass(frozen=True)
class Results:
    """A search that has ended."""

    folder: Path
    plan: Plan
    recipe: Recipe
    space: Sequence[Dimension]
    journal: Journal
    tuning: Tuning

    @property
    def rungs(self) -> list[dict[int, float | None]]:
        """The values of each rung, by trial."""
        return [self.journal.rung(number) for number in range(len(self.plan.rungs))]

    @property
    def best(self) -> int | None:
        """The best trial; None if all failed."""
        return next(iter(self.ties), None)

    @property
    def ties(self) -> list[int]:
        """The trials whose value equals that of the best one, which is the first of them."""
        return halving.leaders(self.rungs, self.plan.higher)

    def last_rung(self, trial: int) -> int:
        """The last rung in which a trial has a value."""
        return max(number for number, values in enumerate(self.rungs) if values.get(trial) is not None)

    def state(self, trial: int) -> str:
        """What became of a trial, in a few words."""
        for number, values in enumerate(self.rungs):
            if trial not in values:
                return f"ended at update {self.plan.rungs[number - 1]}"
            if values[trial] is None:
                return f"failed: {self.journal.results[trial, number].why}"
        if trial == self.best:
            return "the best"
        return "ties with the best" if trial in self.ties else "trained to the end"

    def table(self) -> Table:
        """All trials, the best first: settings, values after each rung, and what became of them."""
        paths = [dimension.path for dimension in self.space]
        values = [f"{self.plan.metric} at {updates}{ARROWS[self.plan.higher]}" for updates in self.plan.rungs]
        rows = [
            [
                f"trial {trial}",
                *(setting_text(self.journal.proposals[trial][path]) for path in paths),
                *(own.get(trial) for own in self.rungs),
                self.state(trial),
            ]
            for trial in self.order
        ]
        return Table(["", *paths, *values, ""], rows)

    @property
    def order(self) -> list[int]:
        """The trials: those of later rungs first, in each the best first, then those that failed."""
        order: dict[int, None] = {}
        for values in reversed(self.rungs):
            order |= dict.fromkeys(halving.ranking(values, self.plan.higher))
        return [*order, *(trial for trial in self.rungs[0] if trial not in order)]

    def as_json(self) -> dict[str, Any]:
        """The results as JSON values."""
        return {
            "out": str(self.folder),
            "metric": self.plan.metric,
            "best": None if self.best is None else self._trial(self.best),
            "ties": self.ties,
            "trials": [self._trial(trial) for trial in self.rungs[0]],
            "tuning": plain(self.tuning),
        }

    def _trial(self, trial: int) -> Mapping[str, Any]:
        values = [own[trial] for own in self.rungs if trial in own]
        settings = plain(self.journal.proposals[trial])
        return {"trial": trial, "settings": settings, "values": values, "state": self.state(trial)}


def setting_text(value: Any) -> str:
    """A setting as it can be typed in a short form."""
    return f"{value:.4g}" if isinstance(value, float) else str(plain(value))
