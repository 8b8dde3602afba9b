"""The metrics of a recipe: building them, the values each one gives, and which direction is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from loquent.core.metric import (
    EVERYTHING,
    Context,
    LeaveOut,
    Measured,
    Metric,
    Range,
    Samples,
    range_of,
    traits,
)
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.errors import BadSetting
from loquent.metrics.making import make

HELD_OUT = ("supervised/held_out_loss", "supervised/held_out_perplexity")  # of learners that imitate
WATCHED = (
    "choose `success`, `return`, reward/NAME, score/NAME of the task, a value of a metric with a direction, "
    f"or in supervised learning {' or '.join(HELD_OUT)}"
)


class Renamed:
    """A metric under a name of the recipe, which is put before its keys.

    So two metrics of one kind give different keys.
    """

    def __init__(self, name: str, metric: Metric) -> None:
        self.name, self.metric = name, metric
        self.version, self.higher_is_better = metric.version, metric.higher_is_better
        own = traits(metric)
        by_key = {
            trait: {f"{name}/{key}": value for key, value in getattr(own, trait).items()}
            for trait in ("directions", "ranges", "penalties")
        }
        keys = {
            trait: tuple(f"{name}/{key}" for key in getattr(own, trait)) for trait in ("keys", "corpus_only")
        }
        vars(self).update({**vars(own), **by_key, **keys})

    def __call__(self, samples: Samples) -> Measured:
        """The scores of the metric, under the new keys."""
        measured = self.metric(samples)
        columns = {f"{self.name}/{key}": scores for key, scores in measured.samples.items()}
        leave_out = measured.leave_out
        return Measured(
            columns,
            self._renamed(measured.corpus),
            measured.unjudged,
            None if leave_out is None else partial(self._without, leave_out),
        )

    def _without(self, leave_out: LeaveOut, numbers: Sequence[int]) -> dict[str, float]:
        return self._renamed(leave_out(numbers))

    def _renamed(self, scores: Mapping[str, float]) -> dict[str, float]:
        return {f"{self.name}/{key}": value for key, value in scores.items()}


def build_metrics(settings: Record, context: Context) -> list[Metric]:
    """The metrics of a recipe, built with their options.

    A metric whose name differs from its `of:` gets the name before its keys.

    Raises:
        BadSetting: two metrics would give values under one key.
    """
    metrics: list[Metric] = []
    keys: set[str] = set()
    for name, setting in settings.items():
        options = dict(setting) if isinstance(setting, Mapping) else {}
        of = options.pop("of", name)
        metric = make(of, context, options)
        metrics.append(metric if of == name else Renamed(name, metric))
        own = set(traits(metrics[-1]).keys)
        if twice := sorted(keys & own):
            raise same_key(twice[0])
        keys |= own
    return metrics


def higher_is_better(key: str, metrics: Sequence[Metric], weights: Record) -> bool:
    """Whether a higher evaluated value is better: by its metric or, for a reward, by the sign of its weight.

    Raises:
        BadSetting: the value has no direction, so it cannot be watched.
    """
    owner = next((metric for metric in metrics if _gives(metric, key)), None)
    if owner is not None:
        up: bool | None = traits(owner).directions.get(key, owner.higher_is_better)
        if up is None:
            what = f"{key!r} cannot be watched: its metric {owner.name} says neither up nor down"
            raise BadSetting(f"{what}; {WATCHED}")
        return up
    if key in HELD_OUT:
        return False
    if key in ("return", outcomes.SUCCESS) or key.startswith("score/"):
        return True
    weight = weights.get(key.removeprefix("reward/"), 0.0) if key.startswith("reward/") else 0.0
    if not weight:
        what = f"{key!r} cannot be watched: it is neither a value of a metric nor a reward with a weight"
        raise BadSetting(f"{what}, so it has no direction; {WATCHED}")
    return bool(weight > 0)


def is_measured(key: str, metrics: Sequence[Metric], weights: Record, spec: TaskSpec) -> bool:
    """Whether an evaluation surely gives a value; false where only an evaluation shows it.

    Raises:
        BadSetting: the value is the success, and the task has no such notion.
    """
    if key == outcomes.SUCCESS and not spec.success:
        what = f"training.stop_metric = {key!r} is not measured: the task declares no ending as success"
        raise BadSetting(f"{what}; {WATCHED}")
    declared = any(key in traits(metric).keys for metric in metrics)
    return declared or key in ("return", outcomes.SUCCESS) or key.removeprefix("reward/") in weights


def _gives(metric: Metric, key: str) -> bool:
    """Whether a value belongs to a metric: by the metric's keys, or else by its name."""
    keys = traits(metric).keys
    return key in keys if keys else key == metric.name or key.startswith(f"{metric.name}/")


def same_key(key: str) -> BadSetting:
    """The error of two metrics with one key."""
    return BadSetting(
        f"metrics: two of them give {key!r}; give one another name: metrics={{NAME: {{of: METRIC}}}} "
        "writes NAME before its keys"
    )


def owners(settings: Record, metrics: Sequence[Metric], keys: Iterable[str]) -> dict[str, str]:
    """The metric of each evaluated value, by its name in `metrics:`.

    Values of the task and of rewards have no owner.
    """
    named = list(zip(settings, metrics, strict=True))
    return {key: name for key in keys for name, metric in named if _gives(metric, key)}


def ranges(metrics: Sequence[Metric], spec: TaskSpec, keys: Iterable[str]) -> dict[str, Range]:
    """The least and the greatest possible value of metrics and of the task's own scores, by key."""
    found = {}
    for key in keys:
        owner = next((metric for metric in metrics if _gives(metric, key)), None)
        if owner is not None:
            found[key] = range_of(owner, key)
        elif key.startswith("score/"):
            found[key] = spec.ranges.get(key, spec.ranges.get("score", EVERYTHING))
    return found


def directions(metrics: Sequence[Metric], weights: Record, keys: Iterable[str]) -> dict[str, bool | None]:
    """Whether a higher value is better, for each evaluated value; None for a value without direction."""
    return {key: _direction(key, metrics, weights) for key in keys}


def _direction(key: str, metrics: Sequence[Metric], weights: Record) -> bool | None:
    try:
        return higher_is_better(key, metrics, weights)
    except BadSetting:
        return None
