"""Lists of claims with their verdicts, made from the verdicts of a suite's record.

A verdict is about other rows too where its test is over seeds and rows. A record without values by row says
nothing of other rows: its verdicts are "on these rows".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.bench.evidence.texts import p_text, tests_text
from loquent.bench.evidence.verdicts import BOTH, HOLDS
from tools.pages.templates import fill

EFFECT = "difference {difference.mean:.3f}"
INTERVAL = " [{difference.low:.3f}, {difference.high:.3f}] over {over}"
ERROR = " ± {difference.error:.3f} (standard error over {over})"
SIZE = "{episodes.0} episodes on {rows.0} rows"
ON_ROWS = "on these rows"


def lines(records: list[Mapping[str, Any]]) -> str:
    """A line for each claim, and below it one for each of its comparisons."""
    return "".join(f"- {_claim(record)}\n{''.join(map(_step, _steps(record)))}" for record in records)


def _steps(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*record["steps"], *filter(None, [record.get("ends")])]


def _claim(record: Mapping[str, Any]) -> str:
    effect = record.get("ends") or record["steps"][0]
    quote = f' The paper: "{record["quote"]}" ({record["place"]}).' if record.get("quote") else ""
    return f"{record['claim']} (`{record['column']}`): {_effect(effect)}; **{_decision(record)}**.{quote}"


def _decision(record: Mapping[str, Any]) -> str:
    """A verdict, what it is about, its p alone and corrected, and what it would be alone."""
    verdict, alone = record["verdict"], record["uncorrected"]
    if record.get("on_these_rows"):
        verdict += f" about the methods (one seed); {ON_ROWS}: {record['on_these_rows']}"
    elif any(step["over"] != BOTH for step in record["steps"]):
        verdict += f" {ON_ROWS}"
    if record["p"] is None:
        return f"{verdict} (no test)"
    p, corrected = (p_text(record[name]) for name in ("p", "p_corrected"))
    found = f"p {'' if p.startswith('below') else '= '}{p}, of {tests_text(record['tests'])} {corrected}"
    if alone != (record.get("on_these_rows") or record["verdict"]):
        found += f", uncorrected it {'' if alone == HOLDS else 'is '}{alone}"
    return f"{verdict} ({found})"


def _step(step: Mapping[str, Any]) -> str:
    paper = f"; paper: {' → '.join(step['paper'])}" if step.get("paper") else ""
    size = f"n = {step['difference']['n']}; {fill(SIZE, step)}"
    alone = "uncorrected" if step["over"] == BOTH else f"{ON_ROWS}, uncorrected"
    return (
        f"    - {step['low']} → {step['high']}: {_effect(step)} ({size}); {alone}: {step['verdict']}{paper}\n"
    )


def _effect(step: Mapping[str, Any]) -> str:
    return fill(EFFECT + (INTERVAL if step["difference"]["low"] is not None else ERROR), step)
