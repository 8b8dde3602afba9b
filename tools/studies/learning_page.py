"""The tables and curves of docs/learners.md, from the lines of `learning_study.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "learners.md"
HEAD = (
    "| learner | mean reward | least gain, in standard errors | KL | updates | tokens | seconds an update |"
)
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b1fa2", "#8d6e00", "#455a64")
LEFT, TOP, WIDE, HIGH = 44, 14, 420, 220
Record = Mapping[str, Any]


def write_page(records: Sequence[Record]) -> None:
    """Write a table into the page and a drawing beside it, for each shape and task."""
    page = PAGE.read_text(encoding="utf-8")
    for number, record in enumerate(records, 1):
        name = f"{record['shape']}-{record['task']}"
        mark = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        source = f"<!-- table: learning.jsonl {number} learners -->\n"
        text = f"{source}{table(record['learners'])}\n\n"
        page = mark.sub(lambda found, text=text: found.group(1) + text + found.group(2), page)
        file = DOCS / "results" / f"learning-{name}.svg"
        file.write_text(drawing(record["task"], learners(record)), encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


def learners(record: Record) -> dict[str, Record]:
    """The learners of a record, without the start."""
    return {name: found for name, found in record["learners"].items() if name != "start"}


def table(found: Record) -> str:
    """The start, and a row for each learner."""
    start = found["start"]
    rows = [f"| start | {start['reward']:.3f} ± {start['error']:.3f} | | | | | |"]
    rows += [
        f"| {name} | {line['reward']:.3f} ± {line['deviation']:.3f} | {line['least_gain_in_errors']:.1f} | "
        f"{line['kl']:.2f} | {line['updates']} | {line['tokens']:,} | {line['processor_seconds']:.2f} |"
        for name, line in found.items()
        if name != "start"
    ]
    return "\n".join([HEAD, "|" + "---|" * 7, *rows])


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
