"""The laws of the task contract, one function each (the law of action sets is in `action_sets`).

The docstring of a function states its law; `tally.add(problem)` counts a case and keeps its problem.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from loquent.agents.baselines import Random
from loquent.bench.conformance.walks import LONGEST, MEGABYTE, Bench, NotChecked, Odd, Tally
from loquent.core.episode import from_json, to_json
from loquent.core.guards import json_files
from loquent.core.guards.json_files import SHORT
from loquent.core.live import Live
from loquent.core.rollout.loop import Game, play, replay
from loquent.core.task import CUT, Invalid, Observation, Step
from loquent.core.values import problem
from loquent.errors import EpisodeOver, WrongResult, kind_of

SENTENCE = 25  # characters of an instruction that no other sentence contains by chance
MOST_VALUES = 2_000  # rows per split whose values are checked; ids are checked in all rows


def rows(bench: Bench, tally: Tally) -> None:
    """Rows exist, are values and are equal on each call; no row id occurs twice, in one split or in two."""
    tally.unit = "rows"
    tally.add(
        None
        if any(len(rows) for rows in bench.rows.values())
        else f"no split has a row: {', '.join(bench.rows)}"
    )
    split_of: dict[str, str] = {}
    for split, rows in bench.rows.items():
        again = bench.watch("rows", bench.task.rows, split)
        tally.add(
            None
            if len(rows) == len(again) and all(a == b for a, b in zip(rows, again, strict=True))
            else f"rows({split!r}) differ from call to call"
        )
        for i, row in enumerate(rows):
            tally.add(problem(row, f"row {row.id}") if i < MOST_VALUES else None)
            if row.id in split_of:
                where = (
                    f"twice in the split {split!r}"
                    if split_of[row.id] == split
                    else f"in the splits {split_of[row.id]!r} and {split!r}"
                )
                tally.add(f"the row id {row.id!r} occurs {where}")
            split_of[row.id] = split


def values(bench: Bench, tally: Tally) -> None:
    """States, moves, legals and observations are made of values only."""
    tally.unit = "steps"
    for step in bench.steps():
        tally.add(
            problem(step.state, "state")
            or problem(step.observation, "observation")
            or problem(step.rewards, "rewards")
        )
    for move in bench.moves():
        tally.add(problem(bench.watch("read", bench.task.read, move.before.state, move.text), "move"))


def copies(bench: Bench, tally: Tally) -> None:
    """A step survives hash, copy, deepcopy and a pipe between processes; a copy plays on in the same way."""
    tally.unit = "copies"
    for walk in bench.walks:
        for step in walk.steps:
            for name, copied in (("copy", copy.copy), ("deepcopy", copy.deepcopy), ("a pipe", _piped)):
                tally.add(_copy_problem(step, name, copied))
        for move in walk.moves[:3]:
            tally.add(
                None
                if _same(bench.task.act(copy.deepcopy(move.before), move.text), move.after)
                else "an episode plays on differently from a deepcopy"
            )


def equality(bench: Bench, tally: Tally) -> None:
    """Equal step and equal text give an equal Step, whatever was played in between."""
    tally.unit = "moves"
    for walk in bench.walks:
        fresh = bench.watch("first", Live, bench.task, walk.live.row, walk.live.number, bench.seed)
        tally.add(
            None
            if _same(fresh.step, walk.opening)
            else "the same row and key open another episode the second time"
        )
        step = fresh.step
        for move in walk.moves:
            before = _twin(step)
            first, second = (bench.watch("read or play", bench.task.act, step, move.text) for _ in range(2))
            tally.add(
                None
                if _same(first, second) and _same(first, move.after)
                else f"the same step and the text {SHORT.repr(move.text)} gave another Step"
            )
            tally.add(None if before is None or _same(step, before) else "act changed the step it was given")
            step = first


def answers(bench: Bench, tally: Tally) -> None:
    """No text raises: markers, NUL, lone surrogates, numbers, the empty text, a megabyte."""
    tally.unit = "texts"
    for walk in bench.walks:
        if walk.failure:
            tally.add(f"the text {SHORT.repr(walk.failure[1])} raised {walk.error}")
        running = [step for step in walk.steps if step.ended is None]
        for i, step in enumerate(running[:10]):
            for text in (*bench.odd_texts(step), *([MEGABYTE] if i == 0 else [])):
                tally.add(_answer_problem(bench, step, text))


def observations(bench: Bench, tally: Tally) -> None:
    """Observations are text for a named seat, without the instruction; step.turn counts the answers."""
    tally.unit = "observations"
    instruction = bench.task.spec.instruction
    for walk in bench.walks:
        texts = "\n".join(move.text for move in walk.moves)
        # an observation may quote the answer of another seat, and so an instruction inside that answer
        forbidden = instruction if instruction not in texts else ""
        for turn, step in enumerate(walk.steps):
            tally.add(_observation_problem(step.observation, forbidden))
            tally.add(
                None if step.turn == turn else f"the step after {turn} answers says it is turn {step.turn}"
            )


def end(bench: Bench, tally: Tally) -> None:
    """Episodes end, by a named rule and within the turn limit; to act after the end raises EpisodeOver."""
    tally.unit = "episodes"
    limit = bench.task.spec.turn_limit
    for walk in bench.walks:
        last = walk.steps[-1]
        if walk.error:
            continue
        if limit is not None and len(walk.moves) > limit:
            tally.add(f"an episode ran {len(walk.moves)} turns, and spec.turn_limit is {limit}")
        if walk.endless:
            if limit is None or limit <= LONGEST:
                tally.add(f"an episode ran {LONGEST:,} turns without an end; set spec.turn_limit")
            continue
        named = (
            isinstance(last.ended, str)
            and last.ended
            and (last.ended != CUT or bench.task.spec.horizon == "cut")
        )
        tally.add(None if named else f"an episode ended with {last.ended!r}, which is not the name of a rule")
        try:
            bench.task.act(last, walk.moves[-1].text if walk.moves else "")
            tally.add("to act after the end raises nothing; it must raise EpisodeOver")
        except EpisodeOver:
            tally.add(None)


def returns(bench: Bench, tally: Tally) -> None:
    """The weighted return of every episode lies in spec.return_range."""
    tally.unit = "episodes"
    bounds = bench.task.spec.return_range
    if bounds is None:
        raise NotChecked("spec.return_range is not set")
    for walk in bench.complete():
        total = sum(bench.task.total(step.rewards) for step in walk.steps)
        rounding = 1e-9 * max(1.0, math.fsum(abs(x) for step in walk.steps for x in step.rewards.values()))
        inside = bounds[0] - rounding <= total <= bounds[1] + rounding
        tally.add(None if inside else f"an episode returned {total:g}, outside spec.return_range {bounds}")


def expert(bench: Bench, tally: Tally) -> None:
    """The expert never raises, gives one answer in equal states, and each of its texts is a move."""
    tally.unit = "answers"
    for step in bench.steps():
        if step.ended is not None:
            continue
        text = bench.watch("expert", bench.task.expert, step.state)
        if text is not None and not isinstance(text, str):
            tally.add(f"the expert gave {text!r}, which is not a text")
        elif text is not None:
            again = bench.watch("expert", bench.task.expert, step.state)
            tally.add(
                None
                if again == text
                else f"the expert gave {SHORT.repr(text)} and {SHORT.repr(again)} in one state"
            )
            move = bench.task.read(step.state, text)
            tally.add(
                f"the expert gave {SHORT.repr(text)}, which is not a move ({move.why})"
                if isinstance(move, Invalid)
                else None
            )
    if not tally.count:
        raise NotChecked("the task has no expert")


def replays(bench: Bench, tally: Tally) -> None:
    """An episode that is replayed equals its record, and the record reads back equal from JSON."""
    tally.unit = "episodes"
    for walk in bench.complete():
        episode = walk.live.episode()
        again = bench.watch("play", replay, bench.task, episode, walk.live.row)
        equal = again == episode and all(
            _same(a.observation, b.observation) for a, b in zip(again.turns, episode.turns, strict=True)
        )
        tally.add(None if equal else "an episode that is replayed differs from its record")
        tally.add(
            None
            if from_json(json_files.loads(json.dumps(to_json(episode), allow_nan=False))) == episode
            else "the record of an episode reads back differently from JSON"
        )


def independence(bench: Bench, tally: Tally) -> None:
    """An episode does not depend on other episodes: neither on how many are live, nor on their order."""
    tally.unit = "episodes"
    bench.complete()
    queue = [Game(row, number) for _, row, number in bench.games]
    for player in (Random(bench.task), Odd(bench.task)):
        together = bench.watch("play", play, bench.task, queue, player, seed=bench.seed)
        alone = bench.watch("play", play, bench.task, queue[::-1], player, seed=bench.seed, live=1)[::-1]
        for a, b in zip(together, alone, strict=True):
            tally.add(
                None
                if a == b
                else "an episode went differently when other episodes were played beside or before it"
            )


def results(bench: Bench, tally: Tally) -> None:
    """rows, first and play return objects of the right types; rewards and reasons have names of the spec."""
    tally.unit = "calls"
    tally.count = bench.calls
    for wrong in bench.broken_results:
        tally.add(wrong)


def randomness(bench: Bench, tally: Tally) -> None:
    """The global random generators of Python, numpy and torch are untouched."""
    tally.unit = "calls"
    tally.count = bench.calls
    if bench.touched_by:
        tally.add("a global random generator was touched")
        tally.add(
            f"it was touched by {', '.join(bench.touched_by)}; draw from the key that first gets instead"
        )


def _piped(value: Any) -> Any:
    return ForkingPickler.loads(ForkingPickler.dumps(value))  # what multiprocessing sends through its pipes


def _twin(step: Step) -> Step | None:
    """A copy that shares nothing with its original; None if it cannot be made, which `copies` reports."""
    try:
        twin: Step = _piped(step)
        return twin
    except Exception:
        return None


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b) and repr(a) == repr(b)  # repr tells 1 from 1.0 and True


def _copy_problem(step: Step, name: str, copied: Callable[[Step], Step]) -> str | None:
    try:
        twin = copied(step)
        return (
            None
            if twin == step and hash(twin) == hash(step)
            else f"a step is not equal to itself after {name}"
        )
    except WrongResult:
        raise
    except Exception as error:
        return f"a step does not survive {name}: {type(error).__name__}: {error}"


def _answer_problem(bench: Bench, step: Step, text: str) -> str | None:
    shown = f"the text {SHORT.repr(text)} ({len(text):,} characters)"
    try:
        after = bench.watch("read or play", bench.task.act, step, text)
    except WrongResult:
        raise
    except Exception as error:
        return f"{shown} raised {type(error).__name__}: {error}"[:300]
    return None if isinstance(after, Step) else f"{shown} gave {kind_of(after)}, not a Step"


def _observation_problem(observation: Observation, instruction: str) -> str | None:
    if not isinstance(observation, Observation) or not isinstance(observation.text, str):
        return f"an observation is {SHORT.repr(observation)}, not an Observation with a text"
    seat, stop = observation.seat, observation.stop
    if not isinstance(seat, str) or not seat or seat == "task":
        return f"an observation is for the seat {seat!r}; a seat must have a name other than 'task'"
    if not isinstance(stop, tuple) or not all(isinstance(text, str) and text for text in stop):
        return f"an observation stops at {stop!r}; stop must be a tuple of texts that are not empty"
    return (
        "an observation repeats spec.instruction; the format shows it once already"
        if instruction and _repeats(observation.text, instruction)
        else None
    )


def _repeats(text: str, instruction: str) -> bool:
    """Whether a text contains an instruction; a short one, such as one word, as a sentence of its own."""
    sentence = rf"(?:^|\n|[.!?:]\s*){re.escape(instruction)}(?:$|\n|(?<=[.!?:])\s)"
    return instruction in text and (len(instruction) >= SENTENCE or re.search(sentence, text) is not None)
