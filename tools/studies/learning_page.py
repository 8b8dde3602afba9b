"""The curves of docs/learners.md, from the lines of `learning_study.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b1fa2", "#8d6e00", "#455a64")
LEFT, TOP, WIDE, HIGH = 44, 14, 420, 220
Record = Mapping[str, Any]


def draw_all(records: Sequence[Record]) -> None:
    """Write a drawing for each shape and task."""
    for record in records:
        file = DOCS / "results" / f"learning-{record['shape']}-{record['task']}.svg"
        file.write_text(drawing(record["task"], learners(record)), encoding="utf-8")


def learners(record: Record) -> dict[str, Record]:
    """The learners of a record, without the start."""
    return {name: found for name, found in record["learners"].items() if name != "start"}


def drawing(task: str, found: Mapping[str, Record]) -> str:
    """The mean reward over seeds by update, as SVG."""
    last = max(update for line in found.values() for update, _ in line["runs"][0]["curve"])

    def place(update: float, reward: float) -> str:
        return f"{LEFT + WIDE * update / last:.1f},{TOP + HIGH * (1 - reward):.1f}"

    parts = [
        f'<text x="{LEFT - 8}" y="{TOP + HIGH * (1 - tick) + 4:.0f}" text-anchor="end">{tick:g}</text>'
        f'<path d="M{place(0, tick)} L{place(last, tick)}" stroke="#ddd"/>'
        for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    parts += [
        f'<text x="{LEFT + WIDE * tick / last:.0f}" y="{TOP + HIGH + 18}" text-anchor="middle">{tick}</text>'
        for tick in range(0, last + 1, 10)
    ]
    for number, ((name, line), colour) in enumerate(zip(found.items(), COLOURS, strict=False)):
        curves = [dict(map(tuple, run["curve"])) for run in line["runs"]]
        points = " ".join(place(update, fmean(curve[update] for curve in curves)) for update in curves[0])
        y = TOP + 16 * number + 8
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + WIDE + 12}" y="{y}" fill="{colour}">{name}</text>')
    title = f"Reward on validation prompts by update, {task}, mean of three seeds"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + 70} {TOP + HIGH + 26}" '
        f'role="img" font-family="sans-serif" font-size="12"><title>{title}</title>{"".join(parts)}</svg>\n'
    )
