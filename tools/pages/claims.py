"""Lists of claims with their verdicts, made from the verdicts of a suite's record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.pages.templates import fill

EFFECT = "difference {difference.mean:.3f}(? [{difference.low:.3f}, {difference.high:.3f}] over {over}?)"
ERROR = " ± {difference.error:.3f} (standard error over seeds)"
SIZE = "{episodes.0} episodes on {rows.0} rows"


def lines(records: list[Mapping[str, Any]]) -> str:
    """A line for each claim, and below it one for each of its comparisons."""
    return "".join(f"- {_claim(record)}\n{''.join(map(_step, _steps(record)))}" for record in records)


def _steps(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*record["steps"], *filter(None, [record.get("ends")])]


def _claim(record: Mapping[str, Any]) -> str:
    effect = record.get("ends") or record["steps"][0]
    decided = (
        f"{record['verdict']} (p = {_p(record['p'])}, of {record['tests']} tests {_p(record['p_corrected'])}"
    )
    if record["uncorrected"] != record["verdict"]:
        decided += f", uncorrected it {record['uncorrected']}"
    quote = f' The paper: "{record["quote"]}" ({record["place"]}).' if record.get("quote") else ""
    return f"{record['claim']} (`{record['column']}`): {_effect(effect)}; **{decided})**.{quote}"


def _step(step: Mapping[str, Any]) -> str:
    paper = f"; paper: {' → '.join(step['paper'])}" if step.get("paper") else ""
    size = f"n = {step['difference']['n']}; {fill(SIZE, step)}"
    decided = f"{_effect(step)} ({size}); uncorrected: {step['verdict']}{paper}"
    return f"    - {step['low']} → {step['high']}: {decided}\n"


def _effect(step: Mapping[str, Any]) -> str:
    return fill(EFFECT + ("" if step["difference"]["low"] is not None else ERROR), step)


def _p(value: float) -> str:
    return "below 0.0001" if value < 0.0001 else f"{value:.2g}"
