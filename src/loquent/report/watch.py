"""The watch for reward hacking: the return and its parts beside the values that are not rewarded.

A statement says in words whether they diverge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loquent.report.charts import Curve
from loquent.report.divergence import Change, Divergence
from loquent.report.groups import Group, Point
from loquent.report.kit import Text
from loquent.report.witnesses import Verdict, is_recorded, outside
from loquent.statistics.tables import ARROWS, Table, short

PROXY = "evaluation/return"
DRIFTS = ("kl/reference", "evaluation/perplexity", "rollout/words", "evaluation/watch/words")
LIMITS = "That is no proof: a reward may be gamed in a way that none of them measures. Read the samples."


def statement(found: Verdict) -> Text:
    """The verdict in words."""
    result, left_out = found.divergence, _left_out(found.partial)
    if result is None:
        return _paragraph("unknown", found.unknown + left_out)
    about = f" (means over {found.seeds} seeds)" if found.seeds > 1 else ""
    count = f"At {len(found.updates)} evaluations{about}"
    if not result.fell:
        looked = f"Looked at: {', '.join(result.witnesses)}."
        return _paragraph(
            "calm", f"{count} nothing measured outside the reward fell. {looked}{left_out} {LIMITS}"
        )
    worse = f"outside the reward got worse: {_moves(result.against or result.fell, found.updates)}."
    if not result.parted:
        course = "the return fell after they were at their best" if result.rose else "the return did not rise"
        return _paragraph(
            "calm",
            f"{count} {course}, so nothing shows that the reward is hacked. Values {worse}{left_out}",
        )
    better = (
        f"Got better: {_moves(result.gains, found.updates)}" if result.gains else "Nothing else got better"
    )
    head = "The reward is being hacked." if result.hacked else "The reward is bought at a price."
    kind = "alarm" if result.hacked else "price"
    return _paragraph(kind, f"**{head}** {count} {_course(found, result)}, and {worse} {better}.{left_out}")


def _course(found: Verdict, result: Divergence) -> str:
    rise = result.rise
    if not result.rose:
        return f"the return was saturated ({short(rise.last)} at the end)"
    update = found.updates[rise.since]
    return f"the return rose from {short(rise.earlier)} (update {update}) to {short(rise.last)}"


def changes(found: Verdict) -> list[Table]:
    """A table of how far the return rose and each witness fell; empty without values by row to compare."""
    result = found.divergence
    if result is None:
        return []
    rise = result.rise
    outcomes = [(rise, "rose" if result.rose else "saturated" if result.saturated else "")]
    outcomes += [
        (fall, ("hacked" if fall.deep and fall in result.against else "moved") if fall.moved else "")
        for fall in result.falls
    ]
    rows = [
        [
            change.key + ARROWS[True if change is rise else result.higher[change.key]],
            short(change.first),
            f"{short(change.earlier)} (update {found.updates[change.since]})",
            short(change.last),
            f"{short(change.difference)} ± {short(change.error)}",
            change.rows,
            f"{change.p:.2g}",
            outcome,
        ]
        for change, outcome in outcomes
    ]
    return [Table(["value", "first", "earlier", "last", "difference", "rows", "p", "result"], rows)]


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
    kinds |= dict.fromkeys(outside(group, keys), "outside the reward" if is_recorded(group) else "a metric")
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


def _left_out(partial: Mapping[str, Sequence[str]]) -> str:
    return "".join(
        f" Not looked at, because {reason}: {', '.join(keys)}." for reason, keys in partial.items()
    )


def _moves(changes: Sequence[Change], updates: Sequence[int]) -> str:
    """Each change from the evaluation that its test compares the last one with."""
    return "; ".join(
        f"{one.key} went from {short(one.earlier)} (update {updates[one.since]}) to {short(one.last)}"
        for one in changes
    )


def _paragraph(kind: str, text: str) -> Text:
    return Text(text, f"verdict {kind}")
