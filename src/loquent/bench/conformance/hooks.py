"""The law of hooks: what a task gives beside its rules has the form that callers read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from loquent.bench.conformance.walks import Bench, Tally
from loquent.core.guards.json_files import SHORT
from loquent.core.task import Step, Task


def hooks(bench: Bench, tally: Tally) -> None:
    """info, solution, coloured, finishing and measure give what they promise."""
    tally.unit = "calls"
    task = bench.task
    for step in bench.steps():
        info = bench.watch("info", task.info, step.state, step.ended)
        named = isinstance(info, Mapping) and all(isinstance(name, str) for name in info)
        tally.add(None if named else f"info gave {SHORT.repr(info)}, which is not a mapping from names")
        tally.add(_text_problem("coloured", bench.watch("coloured", task.render_ansi, step.observation)))
        if step.ended is not None:
            tally.add(_text_problem("solution", bench.watch("solution", task.solution, step.state)))
        else:
            tally.add(_finish_problem(bench, step, bench.watch("finishing", task.finishing, step.state)))
    ended = [(walk.live.row, walk.steps[-1].observation) for walk in bench.complete()]
    for name, value in bench.watch("measure", task.measure, ended).items():
        finite = isinstance(value, int | float) and math.isfinite(value)
        tally.add(None if finite else f"measure gave {name} = {value!r}, which is not a finite number")


def _text_problem(name: str, text: Any) -> str | None:
    fits = text is None or isinstance(text, str)
    return None if fits else f"{name} gave {SHORT.repr(text)}, which is neither a text nor None"


def _finish_problem(bench: Bench, step: Step, text: Any) -> str | None:
    if text is None:
        return None
    task: Task = bench.task
    ended = bench.watch("read or play", task.act, step, text).ended
    fails = ended is None or task.is_success(ended) is False
    return (
        f"finishing gave {SHORT.repr(text)}, which does not end the episode with success" if fails else None
    )
