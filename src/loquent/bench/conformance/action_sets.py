"""The law of action sets: texts, numbers, masks and draws agree."""

from __future__ import annotations

import itertools
import math

import numpy as np

from loquent.bench.conformance.walks import Bench, NotChecked, Tally, evenly
from loquent.core.actions import MASK_LIMIT, ActionSet, Legal
from loquent.core.guards.json_files import SHORT
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Step

MOST_ACTIONS = 200  # indices checked in a large action set
MOST_LEGALS = 10


def actions(bench: Bench, tally: Tally) -> None:
    """Action texts and numbers are a bijection; contains, draw and mask agree; a legal action is a move."""
    tally.unit = "actions"
    action_set = bench.task.actions
    if action_set is None:
        raise NotChecked("the task takes free text")
    tally.add(
        None
        if math.prod(action_set.parts) >= len(action_set)
        else f"the parts {action_set.parts} do not cover {len(action_set):,} actions"
    )
    steps: dict[Legal, Step] = {
        step.observation.legal: step
        for walk in bench.walks
        for step in walk.steps
        if step.ended is None
        # another seat may answer in free text, and then its observations have no legal actions
        and (step.observation.seat == walk.live.learning or step.observation.legal is not None)
    }
    for legal, step in itertools.islice(steps.items(), MOST_LEGALS):
        _check_bijection(action_set, legal, tally)
        _check_mask(action_set, legal, tally)
        _check_draws(bench, action_set, legal, step, tally)


def _check_bijection(action_set: ActionSet, legal: Legal, tally: Tally) -> None:
    size = len(action_set)
    for i in evenly(size, MOST_ACTIONS):
        try:
            text = action_set.text(i, legal)
        except LookupError:  # a slot that is empty now
            tally.add(f"action {i} is legal and has no text" if action_set.contains(legal, i) else None)
            continue
        index = action_set.index(text, legal)
        tally.add(
            None if index == i else f"action {i} reads {SHORT.repr(text)}, which is the text of {index}"
        )
    for text in ("", " ", "\0", "\ud800", "9" * 5000, "no such action", "\u0663"):
        index = action_set.index(text, legal)
        tally.add(
            None
            if index is None or action_set.text(index, legal) == text
            else f"the text {SHORT.repr(text)} is taken for action {index}"
        )
    for outside in (-1, size):
        tally.add(
            f"contains calls action {outside} legal, but there are {size:,} actions"
            if action_set.contains(legal, outside)
            else None
        )


def _check_mask(action_set: ActionSet, legal: Legal, tally: Tally) -> None:
    size = len(action_set)
    if size > MASK_LIMIT:
        return
    mask = action_set.mask(legal)
    tally.add(
        None
        if mask.shape == (size,) and mask.dtype == np.bool_
        else f"a mask is {mask.dtype}{list(mask.shape)}; it must be bool[{size}]"
    )
    indices = evenly(size, MOST_ACTIONS * 10)
    differs = next((i for i in indices if bool(mask[i]) != action_set.contains(legal, i)), None)
    tally.add(None if differs is None else f"mask and contains disagree about action {differs}")


def _check_draws(bench: Bench, action_set: ActionSet, legal: Legal, step: Step, tally: Tally) -> None:
    if len(action_set) <= MASK_LIMIT and not action_set.mask(legal).any():
        return
    for n in range(20):
        key = Key(bench.seed, ("check", "draw", n))
        i = bench.watch("actions.draw", action_set.draw, legal, key.generator())
        tally.add(None if action_set.contains(legal, i) else f"draw gave action {i}, which is not legal")
        tally.add(
            None
            if action_set.draw(legal, key.generator()) == i
            else "draw gave two actions from equal generators"
        )
        text = action_set.text(i, legal)
        move = bench.task.read(step.state, text)
        tally.add(
            f"the legal action {SHORT.repr(text)} is not a move ({move.why})"
            if isinstance(move, Invalid)
            else None
        )
