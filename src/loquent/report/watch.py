"""The watch for reward hacking: the return and its parts beside what is measured outside them, and a plain
word where they part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.values import EMPTY
from loquent.report.charts import Curve, safe, short
from loquent.report.divergence import FEWEST, Fall, diverging, width
from loquent.report.quantities import Quantity, quantity
from loquent.report.runs import Group, Point

PROXY = "evaluation/return"
DRIFTS = ("kl/reference", "evaluation/perplexity", "rollout/words", "evaluation/watch/words")
MORE = (
    "training.evaluate_every says after how many updates they are made, training.evaluate_first that "
    "one is made before the first update"
)
TELLS = "That is no proof: a reward may be gamed in a way that none of them sees. Read the samples."


def rewarded(config: Mapping[str, Any]) -> bool:
    """Whether a run has rewards of its own to watch."""
    return bool(config.get("rewards"))


def outside(config: Mapping[str, Any], keys: Sequence[str], owners: Mapping[str, str] = EMPTY) -> list[str]:
    """The keys of `evaluation/` that metrics give which are no part of the reward: neither the return, nor a
    reward, nor a rewarded score.

    Args:
        owners: which metric of the recipe gives a key, as `evaluation.json` says; a key that it does not name
            is found by its beginning.
    """
    rewards: Mapping[str, Any] = config.get("rewards") or {}
    metrics: Mapping[str, Any] = config.get("metrics") or {}
    inside = [_rewarded(name, given) for name, given in rewards.items()]
    found = []
    for key in keys:
        bare = key.removeprefix("evaluation/")
        owner = owners.get(bare) or _owner(bare, metrics)
        if not key.startswith("evaluation/") or owner not in metrics:
            continue
        options = dict(metrics[owner] or {})
        of = options.pop("of", owner)
        own = quantity("metric", of, options, bare if of == owner else bare.removeprefix(f"{owner}/"))
        if not any(own.part_of(one) for one in inside):
            found.append(key)
    return found


def _owner(key: str, metrics: Mapping[str, Any]) -> str:
    """The metric whose name a key begins with, the longest.

    A variant of its own (`meteor-exact-stem`) stands behind a hyphen.
    """
    family = key.split("/")[0]
    return max(
        (name for name in metrics if family == name or family.startswith(f"{name}-")), key=len, default=""
    )


def _owners(group: Group) -> dict[str, str]:
    return {key: name for run in group.runs for key, name in run.evaluation.get("owners", {}).items()}


def _rewarded(name: str, given: Any) -> Quantity:
    """What a reward rewards."""
    options = dict(given) if isinstance(given, Mapping) else {}
    beside = {
        key: options.pop(key, None)
        for key in ("weight", "of", "key", "clip", "normalization", "place", "potential")
    }
    return quantity("reward", beside["of"] or name, options, beside["key"] or "")


def history(group: Group, key: str) -> dict[float, float]:
    """A value by update, where all seeds that ever had it have it."""
    points = group.curve(key)
    most = max((point.n for point in points), default=0)
    return {point.update: point.mean for point in points if point.n == most}


@dataclass(frozen=True)
class Seen:
    """What fell and what rose while the return rose, of the values that were looked at, and at how many
    evaluations.

    `partial`: values that were not looked at, because some evaluations have none (all answers are empty,
        say).
    """

    fell: list[Fall]
    rose: list[Fall]
    judged: list[str]
    evaluations: int
    partial: list[str]

    @property
    def gamed(self) -> bool:
        """Whether the reward is called gamed; else it is bought at a price, where anything fell."""
        return any(fall.deep for fall in self.fell) or (bool(self.fell) and not self.rose)


def seen(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> Seen:
    """What the rule of `divergence` finds in a group's evaluations."""
    beside = outside(group.runs[0].config, keys, _owners(group))
    judged = [key for key in beside if higher.get(key.removeprefix("evaluation/")) is not None]
    proxy = history(group, PROXY)
    columns = {key: history(group, key) for key in judged}
    columns = {key: column for key, column in columns.items() if column.keys() >= proxy.keys()}
    updates = sorted(proxy)
    values = {key: [column[update] for update in updates] for key, column in columns.items()}
    up = {key: bool(higher[key.removeprefix("evaluation/")]) for key in columns}
    returns = [proxy[update] for update in updates]
    fell = diverging(updates, returns, values, up)
    rose = diverging(updates, returns, values, {key: not better for key, better in up.items()})
    partial = [
        key
        for key in beside
        if key not in columns and higher.get(key.removeprefix("evaluation/"), True) is not None
    ]
    return Seen(
        fell,
        [one for one in rose if one.key not in {fall.key for fall in fell}],
        list(columns),
        len(updates),
        partial,
    )


def statement(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> str:
    """What the rule of `divergence` says of a group, in words, as markup."""
    if not all(run.evaluation for run in group.runs):
        return _said(
            "unknown", "The run is not at its end, where it tells of each value which way is better."
        )
    found = seen(group, keys, higher)
    count = found.evaluations
    partial = (
        " Not looked at, because some evaluations have no value of it: "
        f"{', '.join(map(_bare, found.partial))}."
        if found.partial
        else ""
    )
    if not found.judged:
        why = (
            "no metric outside the reward was evaluated in training"
            if count
            else "nothing was evaluated in training"
        )
        return _said(
            "unknown",
            f"The reward cannot be watched: {why}; metrics: and training.evaluate_every make it so.{partial}",
        )
    names = ", ".join(map(_bare, found.judged))
    if count < FEWEST:
        return _said(
            "unknown",
            f"{count} evaluations are too few to tell whether the reward and {names} part; {FEWEST} "
            f"are enough: {MORE}.{partial}",
        )
    if not found.fell:
        return _said(
            "calm",
            f"At {count} evaluations nothing measured outside the reward fell while the return rose. "
            f"Looked at: {names}.{partial} {TELLS}",
        )
    head = "The reward is being gamed." if found.gamed else "The reward is bought at a price."
    first = max(
        found.fell, key=lambda one: (one.deep, abs(one.now - one.best) / max(abs(one.best), abs(one.now)))
    )
    how = (
        f"(means of {width(count)} evaluations, up to update {first.since:g} and up to update "
        f"{first.until:g})"
    )
    if first.alone:
        how = (
            f"(from the first evaluation, at update {first.since:g}, to the mean of {width(count)} up to "
            f"update {first.until:g})"
        )
    risen = (
        f"The return rose from {short(first.proxy_before)} to {short(first.proxy_now)} {how}, and "
        f"outside it got worse: {_moved(found.fell)}."
    )
    won = (
        f" Got better with it: {_moved(found.rose)}."
        if found.rose
        else " Nothing measured outside it got better."
    )
    return _said("alarm" if found.gamed else "price", f"<strong>{head}</strong> {risen}{won}{partial}")


def beside(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> list[Curve]:
    """The return, its parts and the held-out values, each on its own range from 0 to 1, turned so that up is
    better.
    """
    parts = [key for key in keys if key.startswith("rollout/weighted/")]
    held_out = outside(group.runs[0].config, keys, _owners(group))
    names = [
        PROXY,
        *parts,
        *(key for key in held_out if higher.get(key.removeprefix("evaluation/")) is not None),
    ]
    lines: list[Curve] = []
    for key in names:
        up = higher.get(key.removeprefix("evaluation/")) is not False
        points = _scaled(group.curve(key), up)
        if points:
            lines.append(
                Curve(key.removeprefix("evaluation/") + ("" if up else " (turned)"), len(lines), points)
            )
    return lines


def table(
    group: Group,
    keys: Sequence[str],
    higher: Mapping[str, bool | None],
    make: Callable[[Sequence[str], Sequence[Sequence[str]]], str],
) -> str:
    """First and last value of each part of the reward, of what is outside it, and of the drifts, as
    numbers.
    """
    kinds = dict.fromkeys(outside(group.runs[0].config, keys, _owners(group)), "outside the reward")
    kinds = {
        PROXY: "reward",
        **{key: "part of the reward" for key in keys if key.startswith("rollout/weighted/")},
        **kinds,
    }
    kinds |= {key: "drift" for key in DRIFTS if key in keys and key not in kinds}
    rows = []
    for key, kind in kinds.items():
        points = group.curve(key)
        if points:
            up = higher.get(key.removeprefix("evaluation/")) if key.startswith("evaluation/") else None
            arrow = {True: " ↑", False: " ↓", None: ""}[up]
            first, last = points[0], points[-1]
            rows.append(
                [
                    safe(key) + arrow,
                    kind,
                    short(first.mean),
                    short(last.mean),
                    f"{first.update:g} to {last.update:g}",
                ]
            )
    return make(["value", "what it is", "first", "last", "updates"], rows)


def _scaled(points: Sequence[Point], up: bool) -> list[Point]:
    """The means of a curve on its own range; turned where less is better.

    0.5 throughout where it never changes.
    """
    if not points:
        return []
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    places = [(point.mean - low) / (high - low) if high > low else 0.5 for point in points]
    places = places if up else [1 - place for place in places]
    return [Point(point.update, place, place, place, 1) for point, place in zip(points, places, strict=True)]


def _bare(key: str) -> str:
    return safe(key.removeprefix("evaluation/"))


def _moved(found: Sequence[Fall]) -> str:
    return "; ".join(f"{_bare(one.key)} went from {short(one.best)} to {short(one.now)}" for one in found)


def _said(kind: str, text: str) -> str:
    return f'<p class="verdict {kind}">{text}</p>'
