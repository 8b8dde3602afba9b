"""The watch for reward hacking: the return and its parts beside the values that are not rewarded.

A statement says in words whether they diverge.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.files import final_evaluation
from loquent.files.final_evaluation import REWARDED
from loquent.report.charts import Curve
from loquent.report.divergence import FEWEST, Fall, diverging, find_falls, improving, width
from loquent.report.groups import Group, Point
from loquent.report.kit import Text
from loquent.statistics.tables import ARROWS, Table, short

PROXY = "evaluation/return"
GOLD = "gold"  # the name of a metric of a recipe that stands for what is wanted
DRIFTS = ("kl/reference", "evaluation/perplexity", "rollout/words", "evaluation/watch/words")
MORE = (
    "training.evaluate_every sets the number of updates between evaluations, training.evaluate_first adds "
    "one before the first update"
)
LIMITS = "That is no proof: a reward may be gamed in a way that none of them measures. Read the samples."


def rewarded(config: Mapping[str, Any]) -> bool:
    """Whether a run has rewards of its own to watch."""
    return bool(config.get("rewards"))


def outside(group: Group, keys: Sequence[str]) -> list[str]:
    """The keys of `evaluation/` that come from metrics and are not known to be part of the reward.

    The return, rewards, and scores that the evaluations record as rewarded are left out.

    Args:
        group: the runs. A key whose metric their evaluations do not record belongs to the metric whose name
            it begins with.
        keys: logged keys.
    """
    metrics: Mapping[str, Any] = group.runs[0].config.get("metrics") or {}
    owners = {key: name for run in group.runs for key, name in run.evaluation.get("owners", {}).items()}
    inside = {key for run in group.runs for key in run.evaluation.get(REWARDED, ())}
    bare = {key: _bare(key) for key in keys if key.startswith("evaluation/")}
    return [
        key
        for key, name in bare.items()
        if name not in inside and (owners.get(name) or _owner(name, metrics)) in metrics
    ]


def _known(group: Group) -> bool:
    """Whether all evaluations record what is rewarded; earlier versions of Loquent did not."""
    return all(REWARDED in run.evaluation for run in group.runs)


def _top(group: Group) -> float | None:
    """The greatest possible return; None if it is open or unknown."""
    top = min(final_evaluation.range_of(run.evaluation, "return")[1] for run in group.runs)
    return top if math.isfinite(top) else None


def _owner(key: str, metrics: Mapping[str, Any]) -> str:
    """The metric with the longest name that a key begins with.

    A variant of a metric (`meteor-exact-stem`) has a hyphen after the name.
    """
    family = key.split("/")[0]
    return max(
        (name for name in metrics if family == name or family.startswith(f"{name}-")), key=len, default=""
    )


def history(group: Group, key: str) -> dict[float, float]:
    """A value by update, at the updates at which all seeds that ever logged it have it."""
    points = group.curve(key)
    most = max((point.n for point in points), default=0)
    return {point.update: point.mean for point in points if point.n == most}


@dataclass(frozen=True)
class Verdict:
    """The values that fell and rose while the return rose or was saturated, among those that were judged.

    `partial` has the values that were not judged because some evaluations do not have them, for example
    because all answers are empty.
    """

    fell: list[Fall]
    rose: list[Fall]
    judged: list[str]
    evaluations: int
    partial: list[str]

    @property
    def gamed(self) -> bool:
        """Whether the reward is called gamed; otherwise, if a value fell, it is bought at a price."""
        return any(fall.deep for fall in self.fell) or (bool(self.fell) and not self.rose)


def verdict(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> Verdict:
    """The result of the rule of `divergence` for the evaluations of a group."""
    directions = {key: higher.get(key.removeprefix("evaluation/")) for key in keys}
    outside_keys = outside(group, keys)
    proxy = history(group, PROXY)
    columns = {key: history(group, key) for key in outside_keys if directions[key] is not None}
    columns = {key: column for key, column in columns.items() if column.keys() >= proxy.keys()}
    updates = sorted(proxy)
    returns = [proxy[update] for update in updates]
    values = {key: [column[update] for update in updates] for key, column in columns.items()}
    up = {key: bool(directions[key]) for key in columns}
    gold = {key for key in columns if _owner(key.removeprefix("evaluation/"), {GOLD: None})}
    fell, rose = falls_and_rises(updates, returns, values, up, _top(group), gold)
    partial = [
        key
        for key in outside_keys
        if key not in columns and higher.get(key.removeprefix("evaluation/"), True) is not None
    ]
    return Verdict(fell, rose, list(columns), len(updates), partial)


def falls_and_rises(
    updates: Sequence[float],
    returns: Sequence[float],
    values: Mapping[str, Sequence[float]],
    up: Mapping[str, bool],
    top: float | None,
    gold: Collection[str] = (),
) -> tuple[list[Fall], list[Fall]]:
    """The values that fell while the return rose or was saturated, and, if any, those that got better.

    Args:
        updates: the update of each evaluation.
        returns: the return at each evaluation.
        values: the values outside the reward, by key.
        up: by key, whether more is better.
        top: the greatest possible return; None if it is unknown.
        gold: the keys of values that stand for what is wanted, which have a rule of their own.
    """
    others = {key: column for key, column in values.items() if key not in gold}
    wanted = {key: column for key, column in values.items() if key in gold}
    fell = diverging(updates, returns, others, up, top=top) + find_falls(
        updates, returns, wanted, up, top=top
    )
    rose = improving(updates, returns, values, up, top=top) if fell else []
    fallen = {fall.key for fall in fell}
    return fell, [rise for rise in rose if rise.key not in fallen]


def statement(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> Text:
    """The verdict on a group in words."""
    if not all(run.evaluation for run in group.runs):
        return _paragraph(
            "unknown", "The run has not ended, and only its end tells for each value which way is better."
        )
    if not _known(group):
        return _paragraph(
            "unknown",
            "An earlier version of Loquent wrote the evaluation at the end, which does not record which "
            "values are rewarded. Delete `evaluation.json`, and `loquent resume` evaluates again.",
        )
    result = verdict(group, keys, higher)
    count = result.evaluations
    names, left_out = _names(result.judged), _names(result.partial)
    partial = f" Not looked at, because some evaluations have no value of it: {left_out}." if left_out else ""
    if not result.judged:
        missing = "no metric outside the reward was evaluated" if count else "nothing was evaluated"
        return _paragraph(
            "unknown",
            f"The reward cannot be watched: {missing} in training; set metrics and training.evaluate_every "
            f"in the recipe.{partial}",
        )
    if count < FEWEST:
        return _paragraph(
            "unknown",
            f"{count} evaluations are too few to tell whether the reward and {names} diverge; {FEWEST} "
            f"are enough: {MORE}.{partial}",
        )
    if not result.fell:
        return _paragraph(
            "calm",
            f"At {count} evaluations nothing measured outside the reward fell while the return rose or was "
            f"saturated. Looked at: {names}.{partial} {LIMITS}",
        )
    head = "The reward is being gamed." if result.gamed else "The reward is bought at a price."
    kind = "alarm" if result.gamed else "price"
    return _paragraph(kind, f"**{head}** {_changes(result)}{partial}")


def _changes(result: Verdict) -> str:
    """The changes of the return and of the values that fell and rose, in words."""
    worst = max(
        result.fell,
        key=lambda fall: (fall.deep, abs(fall.now - fall.best) / max(abs(fall.best), abs(fall.now))),
    )
    window = width(result.evaluations)
    span = (
        f"(from the first evaluation, at update {worst.since:g}, to the mean of {window} up to update "
        f"{worst.until:g})"
        if worst.alone
        else f"(means of {window} evaluations, up to update {worst.since:g} and up to update {worst.until:g})"
    )
    better = (
        f" Got better with it: {_moves(result.rose)}."
        if result.rose
        else " Nothing measured outside it got better."
    )
    course = (
        f"The return was saturated, {short(worst.proxy_before)} and {short(worst.proxy_now)} {span}"
        if worst.saturated
        else f"The return rose from {short(worst.proxy_before)} to {short(worst.proxy_now)} {span}"
    )
    return f"{course}, and outside it got worse: {_moves(result.fell)}.{better}"


def beside(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> list[Curve]:
    """The return, its parts and the values outside the reward, each scaled to its range from 0 to 1.

    A value of which less is better is turned over, so that up is better in all curves.
    """
    parts = [key for key in keys if key.startswith("rollout/weighted/")]
    held_out = [
        key for key in outside(group, keys) if higher.get(key.removeprefix("evaluation/")) is not None
    ]
    lines: list[Curve] = []
    for key in (PROXY, *parts, *held_out):
        name = key.removeprefix("evaluation/")
        up = higher.get(name) is not False
        points = _scaled(group.curve(key), up)
        if points:
            lines.append(Curve(name + ("" if up else " (turned)"), len(lines), points, group.progress))
    return lines


def table(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> Table:
    """The first and last value of each part of the reward, of each value outside it, and of the drifts.

    Args:
        group: the runs.
        keys: their logged keys.
        higher: by key, whether more is better.
    """
    kinds = {PROXY: "reward"}
    kinds |= {key: "part of the reward" for key in keys if key.startswith("rollout/weighted/")}
    kinds |= dict.fromkeys(outside(group, keys), "outside the reward" if _known(group) else "a metric")
    kinds |= {key: "drift" for key in DRIFTS if key in keys and key not in kinds}
    rows = []
    for key, kind in kinds.items():
        points = group.curve(key)
        if points:
            up = higher.get(key.removeprefix("evaluation/")) if key.startswith("evaluation/") else None
            first, last = points[0], points[-1]
            span = f"{first.update:g} to {last.update:g}"
            rows.append([key + ARROWS[up], kind, short(first.mean), short(last.mean), span])
    return Table(["value", "what it is", "first", "last", "updates"], rows)


def _scaled(points: Sequence[Point], up: bool) -> list[Point]:
    """The means of a curve on its own range from 0 to 1, turned over unless `up`.

    A curve that never changes is 0.5 throughout.
    """
    if not points:
        return []
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    places = [(point.mean - low) / (high - low) if high > low else 0.5 for point in points]
    places = places if up else [1 - place for place in places]
    return [Point(point.update, place, place, place, 1) for point, place in zip(points, places, strict=True)]


def _bare(key: str) -> str:
    return key.removeprefix("evaluation/")


def _names(keys: Sequence[str]) -> str:
    return ", ".join(map(_bare, keys))


def _moves(changes: Sequence[Fall]) -> str:
    return "; ".join(
        f"{_bare(change.key)} went from {short(change.best)} to {short(change.now)}" for change in changes
    )


def _paragraph(kind: str, text: str) -> Text:
    return Text(text, f"verdict {kind}")
