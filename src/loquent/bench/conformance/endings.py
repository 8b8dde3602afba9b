"""The law of the last observation: it is the true last one, not the opening of the next episode.

An episode may return to its opening, such as a walk round a ring of rooms. Observations alone do not tell
this from a task that shows the next opening at the end; the state does. An episode has returned if a part of
its state that had changed is what it was at the opening, or if it goes on from its end as from its opening.
A task whose state shows neither is not called broken.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from loquent.bench.conformance.walks import Bench, Tally, Walk
from loquent.core.task import Task

Place = tuple[Any, ...]


def last_observation(bench: Bench, tally: Tally) -> None:
    """The observation at the end is the true last one, not the opening of the next episode."""
    tally.unit = "episodes of several turns"
    ended: dict[str | None, list[Walk]] = defaultdict(list)
    for walk in bench.complete():
        opening, *between, _ = (step.observation for step in (walk.steps if walk.moves else walk.steps * 2))
        if between and opening not in between:  # a task that repeats one observation shows no difference
            ended[walk.steps[-1].ended].append(walk)
    for walks in ended.values():
        always = all(walk.steps[-1].observation == walk.opening.observation for walk in walks)
        broken = always and not all(_returned(bench.task, walk) for walk in walks)
        for _ in walks:
            tally.add("at the end the observation is that of the opening again" if broken else None)


def _returned(task: Task, walk: Walk) -> bool:
    first, *later = (dict(_parts(step.state)) for step in walk.steps)
    missing = object()
    changed = [place for place in first if any(parts.get(place, missing) != first[place] for parts in later)]
    if not changed or any(later[-1].get(place, missing) == first[place] for place in changed):
        return True
    return _goes_on(task, walk)


def _goes_on(task: Task, walk: Walk) -> bool:
    """Whether the texts of an episode lead from its end to the same observations again."""
    state = walk.steps[-1].state
    try:
        for move in walk.moves[:-1]:
            if task.expert(state) != task.expert(move.before.state):
                return False
            outcome = task.play(state, task.read(state, move.text))
            if outcome.observation != move.after.observation:
                return False
            state = outcome.state
    except Exception:  # rules are undefined after the end, so nothing contradicts the return
        return True
    return True


def _parts(state: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The smallest parts of a state by their places; items of a tuple are counted from both ends."""
    if isinstance(state, Mapping):
        inner = dict(state)
    elif isinstance(state, tuple) and state:
        inner = {i: item for n, item in enumerate(state) for i in (n, n - len(state))}
    elif dataclasses.is_dataclass(state) and not isinstance(state, type):
        inner = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    else:
        yield place, state
        return
    for name, item in inner.items():
        yield from _parts(item, (*place, name))
