"""The law of splits: no row is in two of them, by its fields or as an agent meets it.

Two rows are the same for an agent if they open with the same observation, and the expert meets the same
observations and rewards in both. So rows with one opening and different secrets, as in a game of guessing,
are different. Openings are compared where the row decides them: they do not depend on the key of the episode,
and rows of one split open differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.bench.conformance.walks import Bench, NotChecked, Tally, evenly
from loquent.core.seeding import Key
from loquent.core.task import Row, Step, Task

MOST_OPENINGS = 1000  # rows per split whose openings are compared
MOST_EPISODES = 100  # episodes of the expert per split
MOST_TURNS = 100  # of such an episode
KEYS = ("first key of the check", "second key of the check")
Contents = Mapping[str, Sequence[tuple[Row, Any]]]
"""The rows of each split, each with what is compared."""


def splits(bench: Bench, tally: Tally) -> None:
    """No row is in two splits, by its fields or by what an agent meets in it."""
    tally.unit = "rows"
    if why := bench.task.spec.shared_rows:
        raise NotChecked(f"the splits share rows ({why}), so results are not about new rows")
    rows = {split: own for split, own in bench.rows.items() if len(own)}
    if len(rows) < 2:
        raise NotChecked("fewer than two splits have rows")
    fields = {split: [(row, row.fields) for row in own if row.fields] for split, own in rows.items()}
    _compare(fields, "has the fields of", tally)
    if not tally.problems:
        _compare(_meetings(bench, rows), "is for an agent the same as", tally)


def _compare(contents: Contents, what: str, tally: Tally) -> None:
    """Tell of each split how many of its rows are in an earlier split too."""
    earlier: dict[Any, Row] = {}
    for split, own in contents.items():
        repeated = [(row, earlier[content]) for row, content in own if content in earlier]
        tally.count += len(own)
        if repeated:
            row, other = repeated[0]
            tally.add(
                f"{len(repeated):,} of {len(own):,} rows of the split {split!r} are in an earlier split too: "
                f"{row.id!r} {what} {other.id!r}; results on them measure memory. Give each split its own "
                "rows, or say in spec.shared_rows why the splits share rows"
            )
        for row, content in own:
            earlier.setdefault(content, row)


def _meetings(bench: Bench, rows: Mapping[str, Sequence[Row]]) -> Contents:
    """Rows with what an agent meets in them: the opening; the episode where two splits have the opening."""
    openings = {split: bench.watch("first", _openings, bench, own) for split, own in rows.items()}
    splits_with: dict[str, set[str]] = defaultdict(set)
    for split, own in openings.items():
        for _, step in own:
            splits_with[_text(step.observation)].add(split)
    meetings: dict[str, list[tuple[Row, str]]] = {}
    for split, own in openings.items():
        texts = [(row, step, _text(step.observation)) for row, step in own]
        shared = [(row, step) for row, step, text in texts if len(splits_with[text]) > 1]
        played = [shared[i] for i in evenly(len(shared), MOST_EPISODES)]
        meetings[split] = [(row, text) for row, _, text in texts if len(splits_with[text]) == 1]
        meetings[split] += [
            (row, bench.watch("expert or play", _episode, bench.task, step)) for row, step in played
        ]
    return meetings


def _openings(bench: Bench, rows: Sequence[Row]) -> list[tuple[Row, Step]]:
    """Rows with their openings, where the row decides them."""
    opened = []
    for row in (rows[i] for i in evenly(len(rows), MOST_OPENINGS)):
        one, two = (bench.task.start(row, Key(bench.seed, (key,))) for key in KEYS)
        if _text(one) == _text(two):
            opened.append((row, one))
    return opened if len({_text(step) for _, step in opened}) > 1 else []


def _episode(task: Task, step: Step) -> str:
    """What the expert meets and earns; with the state where there is no expert or where it fails."""
    met: list[Any] = [step.observation]
    opening = _text((step.state, step.observation))
    try:
        while step.ended is None and len(met) < MOST_TURNS:
            text = task.expert(step.state)
            if not isinstance(text, str):
                return opening
            step = task.act(step, text)
            met.append((text, step.observation, step.rewards, step.ended))
        met.append(task.solution(step.state))
    except Exception:  # the other laws report it
        return opening
    fails = step.ended is None or task.is_success(step.ended) is False
    return opening if fails else _text(met)


def _text(value: Any) -> str:
    """A value as text, without the key that it holds."""
    text = repr(value)
    for key in KEYS:
        text = text.replace(key, "")
    return text
