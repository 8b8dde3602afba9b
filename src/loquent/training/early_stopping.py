"""Early stopping: the best watched value, and the number of evaluations since the last improvement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.metric import Metric, traits
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.errors import BadSetting, nearest
from loquent.files import saved_state
from loquent.training.metrics import higher_is_better, is_measured
from loquent.training.recipes.sections import TrainingSettings


class EarlyStopping:
    """Watches `training.stop_metric`; without this setting it never stops a run.

    `is_measured` is false if only an evaluation shows whether it measures the watched value.

    Raises:
        BadSetting: the watched value has no direction, or the task has no such value.
    """

    def __init__(
        self, settings: TrainingSettings, metrics: Sequence[Metric], weights: Record, spec: TaskSpec
    ) -> None:
        self.settings = settings
        self._sign = 1.0
        self.is_measured = not settings.stop_metric or is_measured(
            settings.stop_metric, metrics, weights, spec
        )
        if settings.stop_metric:
            self._sign = 1.0 if _is_higher_better(settings.stop_metric, metrics, weights) else -1.0
        self.waited = 0  # evaluations since the last improvement
        self.best: float | None = None  # larger is better: the negated value if lower is better
        self.best_update: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether the run ends now."""
        return bool(self.settings.stop_metric) and self.waited >= self.settings.patience

    def reason(self, updates: int) -> str:
        """Why the run stopped before its last update, and which checkpoint stays; "" if it did not."""
        if not self.stopped or updates >= self.settings.last_update:
            return ""
        name, waited = self.settings.stop_metric, self.waited
        evaluations = "1 evaluation" if waited == 1 else f"{waited} evaluations"
        best = "had no finite value" if self.best is None else f"was {self._sign * self.best:.4g} at its best"
        stays = updates if self.best_update is None else self.best_update
        return (
            f"early stopping after update {updates} of {self.settings.last_update}: {name} {best}, and did "
            f"not improve in {evaluations} (training.patience); the checkpoint of update {stays} stays and "
            "is evaluated at the end"
        )

    def improves(self, values: Mapping[str, float], update: int) -> bool:
        """Take the values of an evaluation after an update; True if the watched one is the best so far.

        A value that is not finite is never the best.

        Raises:
            BadSetting: the watched value was not measured.
        """
        name = self.settings.stop_metric
        if not name:
            return False
        self.check(values)
        value = self._sign * values[name]
        best = -math.inf if self.best is None else self.best
        if not math.isfinite(value) or value <= best:
            self.waited += 1
            return False
        enough = self.best is None or value > best + self.settings.margin * abs(best)
        self.waited = 0 if enough else self.waited + 1
        self.best, self.best_update = value, update
        return True

    def check(self, values: Mapping[str, float]) -> None:
        """Raise BadSetting if an evaluation, which gave these values, does not measure the watched one."""
        name = self.settings.stop_metric
        if name not in values:
            near = nearest(name, values) or next(iter(values))
            what = f"training.stop_metric = {name!r} is not measured in evaluation (nearest: {near})"
            raise BadSetting(f"{what}; name a measured value, or add its metric to metrics:")

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"waited": self.waited, "best": self.best, "best_update": self.best_update}

    def restore(self, state: Mapping[str, Any], updates: int) -> None:
        """Restore `state` after `updates` updates; BadCheckpoint names a value outside its range."""
        self.waited = saved_state.count(state, "waited", most=updates)
        self.best = None if saved_state.field(state, "best") is None else saved_state.number(state, "best")
        has_best = saved_state.field(state, "best_update") is not None
        self.best_update = saved_state.count(state, "best_update", most=updates) if has_best else None


def _is_higher_better(name: str, metrics: Sequence[Metric], weights: Record) -> bool:
    try:
        return higher_is_better(name, metrics, weights)
    except BadSetting as error:
        keys = [key for metric in metrics for key in traits(metric).keys] + ["return"]
        near = nearest(name, keys)
        raise BadSetting(f"training.stop_metric: {error}" + (f". Nearest: {near}" if near else "")) from error
