"""The laws, one function each: its docstring says the law, `looked.at(problem)` counts a case and keeps what
is wrong.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from loquent.agents.scripted import Random
from loquent.conformance.walks import LONGEST, MEGABYTE, Bench, Looked, NotChecked, Odd
from loquent.core.actions import MASK_LIMIT, ActionSet, Legal
from loquent.core.episode import from_json, to_json
from loquent.core.guards import json_files
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.task import CUT, Invalid, Observation, Step
from loquent.core.values import problem
from loquent.errors import EpisodeOver, kind_of
from loquent.rollout.loop import Game, play, replay

MOST_VALUES = 2_000  # rows whose values are looked at; ids are looked at in all
MOST_ACTIONS = 200  # indices looked at in a large action set
MOST_LEGALS = 10


def rows(bench: Bench, looked: Looked) -> None:
    """There are rows; they are values, the same each time.

    Ids are unique in a split and shared by no two splits.
    """
    looked.unit = "rows"
    looked.at(
        None
        if any(len(found) for found in bench.rows.values())
        else f"no split has a row: {', '.join(bench.rows)}"
    )
    home: dict[str, str] = {}
    for split, found in bench.rows.items():
        again = bench.watch("rows", bench.task.rows, split)
        looked.at(
            None
            if len(found) == len(again) and all(a == b for a, b in zip(found, again, strict=True))
            else f"rows({split!r}) differ from call to call"
        )
        for i, row in enumerate(found):
            looked.at(problem(row, f"row {row.id}") if i < MOST_VALUES else None)
            if row.id in home:
                where = (
                    f"twice in the split {split!r}"
                    if home[row.id] == split
                    else f"in the splits {home[row.id]!r} and {split!r}"
                )
                looked.at(f"the row id {row.id!r} stands {where}")
            home[row.id] = split


def values(bench: Bench, looked: Looked) -> None:
    """States, moves, legals and observations are made of values only."""
    looked.unit = "steps"
    for step in bench.steps():
        looked.at(
            problem(step.state, "state")
            or problem(step.observation, "observation")
            or problem(step.rewards, "rewards")
        )
    for move in bench.moves():
        looked.at(problem(bench.watch("read", bench.task.read, move.before.state, move.text), "move"))


def copies(bench: Bench, looked: Looked) -> None:
    """A step survives hash, copy, deepcopy and a pipe between our own processes, and plays on from a copy."""
    looked.unit = "copies"
    for walk in bench.walks:
        for step in walk.steps:
            for how, made in (("copy", copy.copy), ("deepcopy", copy.deepcopy), ("a pipe", _piped)):
                looked.at(_copied(step, how, made))
        for move in walk.moves[:3]:
            looked.at(
                None
                if _same(bench.task.act(copy.deepcopy(move.before), move.text), move.after)
                else "a game plays on differently from a deepcopy"
            )


def equality(bench: Bench, looked: Looked) -> None:
    """Equal step and equal text give an equal Step, whatever was played in between."""
    looked.unit = "moves"
    for walk in bench.walks:
        fresh = bench.watch("first", Live, bench.task, walk.live.row, walk.live.number, bench.seed)
        looked.at(
            None
            if _same(fresh.step, walk.opening)
            else "the same row and key open another game the second time"
        )
        step = fresh.step
        for move in walk.moves:
            was = _twin(step)
            first, second = (bench.watch("read or play", bench.task.act, step, move.text) for _ in range(2))
            looked.at(
                None
                if _same(first, second) and _same(first, move.after)
                else f"the same step and the text {_short(move.text)} gave another Step"
            )
            looked.at(None if was is None or _same(step, was) else "act changed the step it was given")
            step = first


def answers(bench: Bench, looked: Looked) -> None:
    """No text raises: markers, NUL, lone surrogates, numbers, nothing at all, a megabyte."""
    looked.unit = "texts"
    for walk in bench.walks:
        if walk.stuck:
            looked.at(f"the text {_short(walk.stuck[1])} raised {walk.error}")
        running = [step for step in walk.steps if step.ended is None]
        for i, step in enumerate(running[:10]):
            for text in (*bench.strange(step), *([MEGABYTE] if i == 0 else [])):
                looked.at(_answered(bench, step, text))


def observations(bench: Bench, looked: Looked) -> None:
    """Observations are text for a named seat, repeat no instruction, and turns are counted one by one."""
    looked.unit = "observations"
    for walk in bench.walks:
        said = "\n".join(move.text for move in walk.moves)
        shown_once = (
            bench.task.spec.instruction if bench.task.spec.instruction not in said else ""
        )  # a seat may be told what another said
        for turn, step in enumerate(walk.steps):
            looked.at(_ill_told(step.observation, shown_once))
            looked.at(
                None if step.turn == turn else f"the step after {turn} answers says it is turn {step.turn}"
            )


def rewards(bench: Bench, looked: Looked) -> None:
    """Rewards have names from spec.rewards and are finite numbers."""
    looked.unit = "outcomes"
    known = bench.task.spec.rewards
    for walk in bench.walks:
        for step, text in [
            *((move.before, move.text) for move in walk.moves),
            *([walk.stuck] if walk.stuck else []),
        ]:
            outcome = bench.task.play(step.state, bench.task.read(step.state, text))
            looked.at(None)
            for name, value in outcome.rewards.items():
                finite = isinstance(value, int | float) and math.isfinite(value)
                looked.at(
                    None
                    if name in known
                    else f"the reward {name!r} is not named in spec.rewards ({', '.join(known) or 'none'})"
                )
                looked.at(None if finite else f"the reward {name!r} = {value!r} is not a finite number")


def end(bench: Bench, looked: Looked) -> None:
    """Games end, by a named rule and within the turn limit; to act after the end raises EpisodeOver."""
    looked.unit = "games"
    limit = bench.task.spec.turn_limit
    for walk in bench.walks:
        last = walk.steps[-1]
        if walk.error:
            continue
        if limit is not None and len(walk.moves) > limit:
            looked.at(f"a game ran {len(walk.moves)} turns, and spec.turn_limit is {limit}")
        if walk.endless:
            looked.at(f"a game ran {LONGEST:,} turns without an end; set spec.turn_limit")
            continue
        named = (
            isinstance(last.ended, str)
            and last.ended
            and (last.ended != CUT or bench.task.spec.horizon == "cut")
        )
        looked.at(None if named else f"a game ended with {last.ended!r}, which is no name of a rule")
        try:
            bench.task.act(last, walk.moves[-1].text if walk.moves else "")
            looked.at("to act after the end raises nothing; EpisodeOver is right")
        except EpisodeOver:
            looked.at(None)


def last_observation(bench: Bench, looked: Looked) -> None:
    """The observation at the end is the true last one, not the opening of the next game."""
    looked.unit = "games of several turns"
    for walk in bench.whole():
        opening, *between, last = (
            (step.observation for step in walk.steps) if walk.moves else (walk.opening.observation,) * 2
        )
        if between and opening not in between:  # a world that always says the same cannot be told apart
            looked.at("at the end the observation is that of the opening again" if last == opening else None)


def returns(bench: Bench, looked: Looked) -> None:
    """The weighted return of every game lies in spec.return_range."""
    looked.unit = "games"
    bounds = bench.task.spec.return_range
    if bounds is None:
        raise NotChecked("spec.return_range is not set")
    for walk in bench.whole():
        total = sum(bench.task.total(step.rewards) for step in walk.steps)
        inside = bounds[0] - 1e-9 <= total <= bounds[1] + 1e-9
        looked.at(None if inside else f"a game returned {total:g}, outside spec.return_range {bounds}")


def actions(bench: Bench, looked: Looked) -> None:
    """Action texts and numbers are a bijection; contains, draw and mask agree.

    A legal action reads as a move.
    """
    looked.unit = "actions"
    found = bench.task.actions
    if found is None:
        raise NotChecked("the task takes free text")
    looked.at(
        None
        if math.prod(found.parts) >= len(found)
        else f"the parts {found.parts} do not cover {len(found):,} actions"
    )
    seen: dict[Legal, Step] = {step.observation.legal: step for step in bench.steps() if step.ended is None}
    for legal, step in itertools.islice(seen.items(), MOST_LEGALS):
        _bijection(found, legal, looked)
        _drawn(bench, found, legal, step, looked)


def expert(bench: Bench, looked: Looked) -> None:
    """The expert never raises, and what it says is a move."""
    looked.unit = "answers"
    for step in bench.steps():
        if step.ended is not None:
            continue
        said = bench.watch("expert", bench.task.expert, step.state)
        if said is not None and not isinstance(said, str):
            looked.at(f"the expert said {said!r}, which is no text")
        elif said is not None:
            move = bench.task.read(step.state, said)
            looked.at(
                f"the expert said {_short(said)}, which is no move ({move.why})"
                if isinstance(move, Invalid)
                else None
            )
    if not looked.count:
        raise NotChecked("the task has no expert")


def replays(bench: Bench, looked: Looked) -> None:
    """A record played again equals the record, and reads back equal from JSON."""
    looked.unit = "episodes"
    for walk in bench.whole():
        episode = walk.live.episode()
        again = bench.watch("play", replay, bench.task, episode, walk.live.row)
        equal = again == episode and all(
            _same(a.observation, b.observation) for a, b in zip(again.turns, episode.turns, strict=True)
        )
        looked.at(None if equal else "a record played again differs from the record")
        looked.at(
            None
            if from_json(json_files.loads(json.dumps(to_json(episode), allow_nan=False))) == episode
            else "a record reads back differently from JSON"
        )


def independence(bench: Bench, looked: Looked) -> None:
    """A game does not depend on other games: not on how many are live, nor on their order."""
    looked.unit = "games"
    bench.whole()
    queue = [Game(row, number) for _, row, number in bench.games]
    for player in (Random(bench.task), Odd(bench.task)):
        together = bench.watch("play", play, bench.task, queue, player, seed=bench.seed)
        alone = bench.watch("play", play, bench.task, queue[::-1], player, seed=bench.seed, live=1)[::-1]
        for a, b in zip(together, alone, strict=True):
            looked.at(
                None if a == b else "a game went differently when other games were played beside or before it"
            )


def randomness(bench: Bench, looked: Looked) -> None:
    """The global random generators of Python, numpy and torch are untouched."""
    looked.unit = "calls"
    looked.count = bench.calls
    if bench.touched_by:
        looked.at("a global random generator was touched")
        looked.at(
            f"it was touched by {', '.join(bench.touched_by)}; draw from the key that first is given instead"
        )


def _piped(value: Any) -> Any:
    return ForkingPickler.loads(ForkingPickler.dumps(value))  # what multiprocessing sends through its pipes


def _twin(step: Step) -> Step | None:
    """A copy that shares nothing with its original; None where there is none, of which `copies` tells."""
    try:
        twin: Step = _piped(step)
        return twin
    except Exception:
        return None


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b) and repr(a) == repr(b)  # repr tells 1 from 1.0 and True


def _copied(step: Step, how: str, made: Any) -> str | None:
    try:
        twin = made(step)
        return (
            None
            if twin == step and hash(twin) == hash(step)
            else f"a step is not equal to itself after {how}"
        )
    except Exception as error:
        return f"a step does not survive {how}: {type(error).__name__}: {error}"


def _answered(bench: Bench, step: Step, text: str) -> str | None:
    try:
        after = bench.watch("read or play", bench.task.act, step, text)
    except Exception as error:
        return f"the text {_short(text)} raised {type(error).__name__}: {error}"[:300]
    return None if isinstance(after, Step) else f"the text {_short(text)} gave {kind_of(after)}, not a Step"


def _ill_told(told: Observation, instruction: str) -> str | None:
    if not isinstance(told, Observation) or not isinstance(told.text, str):
        return f"an observation is {_short(told)}, not an Observation with a text"
    if not isinstance(told.seat, str) or not told.seat or told.seat == "task":
        return f"an observation is for the seat {told.seat!r}; a name other than 'task' is right"
    if not isinstance(told.stop, tuple) or not all(isinstance(text, str) and text for text in told.stop):
        return f"an observation stops at {told.stop!r}; a tuple of texts is right"
    return (
        "an observation repeats spec.instruction, which the format shows once"
        if instruction and instruction in told.text
        else None
    )


def _bijection(found: ActionSet, legal: Legal, looked: Looked) -> None:
    size = len(found)
    indices = (
        range(size)
        if size <= MOST_ACTIONS
        else sorted({*np.linspace(0, size - 1, MOST_ACTIONS).astype(int).tolist()})
    )
    for i in indices:
        try:
            text = found.text(i, legal)
        except LookupError:  # a slot that is empty now
            looked.at(f"action {i} is legal and has no text" if found.contains(legal, i) else None)
            continue
        looked.at(
            None
            if found.index(text, legal) == i
            else f"action {i} reads {_short(text)}, which is the text of {found.index(text, legal)}"
        )
    for text in ("", " ", "\0", "\ud800", "9" * 5000, "no such action", "\u0663"):
        i_or_none = found.index(text, legal)
        looked.at(
            None
            if i_or_none is None or found.text(i_or_none, legal) == text
            else f"the text {_short(text)} is taken for action {i_or_none}"
        )
    for outside in (-1, size):
        looked.at(
            f"action {outside} is held legal, and there are {size:,}"
            if found.contains(legal, outside)
            else None
        )


def _drawn(bench: Bench, found: ActionSet, legal: Legal, step: Step, looked: Looked) -> None:
    size = len(found)
    if size <= MASK_LIMIT:
        mask = found.mask(legal)
        looked.at(
            None
            if mask.shape == (size,) and mask.dtype == np.bool_
            else f"a mask is {mask.dtype}{list(mask.shape)}; bool[{size}] is right"
        )
        indices = (
            range(size)
            if size <= MOST_ACTIONS * 10
            else np.linspace(0, size - 1, MOST_ACTIONS).astype(int).tolist()
        )
        differs = next((i for i in indices if bool(mask[i]) != found.contains(legal, i)), None)
        looked.at(None if differs is None else f"mask and contains disagree about action {differs}")
        if not mask.any():
            return
    for n in range(20):
        key = Key(bench.seed, ("check", "draw", n))
        i = bench.watch("actions.draw", found.draw, legal, key.generator())
        looked.at(None if found.contains(legal, i) else f"draw gave action {i}, which is not legal")
        looked.at(
            None if found.draw(legal, key.generator()) == i else "draw gave two actions from equal generators"
        )
        move = bench.task.read(step.state, found.text(i, legal))
        looked.at(
            f"the legal action {_short(found.text(i, legal))} is no move ({move.why})"
            if isinstance(move, Invalid)
            else None
        )


def _short(text: Any) -> str:
    shown = ascii(text)
    return (
        shown
        if len(shown) <= 60
        else f"{shown[:40]}... ({len(text):,} characters)"
        if isinstance(text, str)
        else shown[:60]
    )
