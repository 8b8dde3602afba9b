"""Over-optimisation of a reward model: proxy and gold reward against the root of KL(policy || reference).

Gao, Schulman and Hilton 2022 (arXiv:2210.10760): a known gold reward labels the preferences, a proxy learns
from them, and a policy learns from the proxy. The proxy goes on rising where the gold reward falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loquent.core.episode import Episode
from loquent.errors import LoquentError
from loquent.files import evaluation_rows
from loquent.report import groups
from loquent.report.charts import COLOURS, Curve, alone
from loquent.report.divergence import ERROR, FEWEST_ROWS, Divergence
from loquent.report.runs import ReportedRun
from loquent.report.witnesses import rows_by_key
from loquent.rewards.compose import episode_texts
from loquent.statistics.falls import complete_rows, row_means


@dataclass(frozen=True)
class Point:
    """An evaluation: the update, KL in nats per episode, and the means of proxy and gold."""

    update: int
    kl: float
    proxy: float
    gold: float


@dataclass(frozen=True)
class Warned:
    """The first evaluation at which the watch speaks, and the share of its gain that gold has lost there.

    `lost` is None if gold has gained nothing.
    """

    update: int
    lost: float | None


def preferences(
    pairs: Iterable[tuple[Episode, Episode]], gold: Callable[[str], float]
) -> list[dict[str, str]]:
    """Judgements, as `loquent study` reads them, of two answers to each prompt by a gold reward.

    Args:
        pairs: two episodes of one row each.
        gold: the gold reward of an answer.
    """
    lines = []
    for first, second in pairs:
        (prompt, a), (_, b) = episode_texts(first), episode_texts(second)
        preferred = "first" if gold(a) > gold(b) else "second" if gold(b) > gold(a) else "tie"
        names = {"item": first.row, "rater": "gold", "first": "a", "second": "b", "preferred": preferred}
        lines.append(names | {"prompt": prompt, "first_text": a, "second_text": b})
    return lines


def course(folder: Path, gold: str) -> list[Point]:
    """The evaluations of a run.

    KL is the sum of log policy - log reference over the tokens of an answer, as the next update measures it
    when it collects answers of the same policy; an evaluation without a next update is left out.

    Args:
        gold: the key of the gold reward in evaluations.
    """
    lines = {int(line["update"]): line for line in ReportedRun(folder).metrics}
    points = []
    for update, line in sorted(lines.items()):
        after = lines.get(update + 1, {})
        if f"evaluation/{gold}" in line and "kl/reference" in after:
            kl = float(after["kl/reference"]) * float(after["rollout/tokens"])
            points.append(
                Point(update, kl, float(line["evaluation/return"]), float(line[f"evaluation/{gold}"]))
            )
    return points


def first_warning(folder: Path, gold: str) -> Warned | None:
    """When the watch for reward hacking first says that gold fell while the proxy rose; None if never.

    It is asked after each evaluation of a run, with the evaluations so far, which share its error.

    Args:
        gold: the key of the gold reward in evaluations.

    Raises:
        LoquentError: fewer than 8 rows have a return or a gold reward at each evaluation.
    """
    updates, columns = rows_by_key([evaluation_rows.load(folder)])
    whole = [complete_rows(columns[key]) for key in ("return", gold) if key in columns]
    if len(whole) < 2 or min(map(sum, whole)) < FEWEST_ROWS:
        raise LoquentError(f"{folder}: fewer than {FEWEST_ROWS} rows have a return and {gold} in training")
    means = row_means(columns[gold][:, whole[1]])
    for count in range(2, len(updates) + 1):
        seen = {gold: columns[gold][:count]}
        error = ERROR / (len(updates) - 1)
        if Divergence(columns["return"][:count], seen, {gold: True}, error=error).parted:
            best, gain = means[:count].max(), means[:count].max() - means[0]
            return Warned(updates[count - 1], float((best - means[count - 1]) / gain) if gain else None)
    return None


def figure(runs: Mapping[str, Sequence[Point]], found: Mapping[str, Warned | None]) -> str:
    """Proxy (dashed) and gold of some runs against the square root of KL, as SVG."""
    lines, notes = [], []
    for colour, (name, points) in enumerate(runs.items()):
        across = [math.sqrt(max(0.0, point.kl)) for point in points]
        for label, values in (("gold", [p.gold for p in points]), ("proxy", [p.proxy for p in points])):
            drawn = [groups.Point(x, y, y, y, 1) for x, y in zip(across, values, strict=True)]
            stroke = COLOURS if label == "proxy" else 0
            lines.append(Curve(f"{label}, {name}", colour % COLOURS + stroke, drawn))
        warning = found.get(name)
        if warning is not None:
            seen = [x for x, point in zip(across, points, strict=True) if point.update <= warning.update]
            notes.append((seen[-1], f"the watch speaks, {name}"))
    axis = "square root of KL(policy || reference), nats per answer"
    return alone("Gold reward and proxy", "mean score of held-out answers", axis, lines, notes)


def as_json(points: Sequence[Point], found: Warned | None) -> dict[str, Any]:
    """The course of a run and its warning as JSON values."""
    return {"points": [asdict(point) for point in points], "warned": None if found is None else asdict(found)}
