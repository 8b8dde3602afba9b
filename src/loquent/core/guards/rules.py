"""Checks of what the author of a task writes: its spec, and what its rules return.

A result of the wrong type raises WrongResult. The argument `what` is the beginning of the message, such as
the task, the rule and "returned".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.errors import BrokenTask, WrongResult, kind_of


def check(what: str, result: Any, kind: type, observation: type, *, ends: bool = False) -> None:
    """Check that a result of `first` or `play` is of its kind and has an observation with a text.

    Args:
        ends: whether the kind has `ended`, which is None or a text.
    """
    if not isinstance(result, kind):
        advice = "; is its `return` missing?" if result is None else ""
        raise WrongResult(
            f"{what} {kind_of(result)}; it must return an {kind.__name__}(state, observation){advice}"
        )
    own: Any = result
    if not isinstance(own.observation, observation):
        found = kind_of(own.observation)
        raise WrongResult(f"{what} an observation that is {found}; it must be an Observation(text)")
    seen: Any = own.observation
    text = seen.text
    if not isinstance(text, str):
        raise WrongResult(
            f"{what} an observation with the text {text!r:.80}, {kind_of(text)}; it must be a str"
        )
    if ends and not isinstance(ended := own.ended, str | None):
        raise WrongResult(
            f"{what} ended = {ended!r:.80}, {kind_of(ended)}; it must be None or the name of a rule"
        )


def check_rewards(task: Any, rewards: Any) -> None:
    """Check that rewards of `play` are finite numbers under names that the task's spec has."""
    known = task.spec.rewards
    if not isinstance(rewards, dict | Mapping):  # a Record is a dict, which is seen sooner
        raise WrongResult(
            f"{task.identity}: play returned rewards that are {kind_of(rewards)}; they must be a mapping "
            f"from names to numbers, such as Record({next(iter(known), 'name')}=1.0)"
        )
    for name, value in rewards.items():  # at every step: the message is made where it is needed alone
        try:
            fits = name in known and math.isfinite(value)
        except (TypeError, ValueError, OverflowError):  # no number, or one beyond all floats
            fits = False
        if not fits:
            raise WrongResult(
                f"{task.identity}: play returned the reward {name} = {value!r}; a reward must be a finite "
                f"number with one of these names: {', '.join(known) or 'none'}"
            )


def check_rows(what: str, rows: Any, kind: type) -> None:
    """Check that the rows of a split are a sequence; of a list or tuple the first item is checked too."""
    listed = type(rows) is list or type(rows) is tuple
    if not listed and (isinstance(rows, str | bytes | Mapping) or not _is_sequence(rows)):
        advice = "; is its `return` missing?" if rows is None else ""
        raise WrongResult(f"{what} {kind_of(rows)}; it must return a sequence of Row, such as a list{advice}")
    if listed and rows and not isinstance(rows[0], kind):
        raise WrongResult(
            f"{what} a sequence whose first item is {kind_of(rows[0])}; every item must be a Row(id, fields)"
        )


def check_reason(task: str, why: str, known: Sequence[str]) -> None:
    """Check that a task's spec has the reason of an `Invalid`."""
    if why not in known:
        raise WrongResult(f"{task}: read returned the reason {why!r}; spec.invalid allows only {list(known)}")


def check_success(what: str, success: Any, cut: str, unreached: str) -> None:
    """Check the endings that count as success; BrokenTask if they are no names, or one cannot be.

    Args:
        cut: the ending at the horizon, which is no success.
        unreached: the ending at the turn limit if the task has no limit, else "".
    """
    if not isinstance(success, tuple) or not all(
        isinstance(name, str) and name and name != cut for name in success
    ):
        allowed = f"a tuple of names of endings, such as ('solved',), without {cut!r}"
        raise BrokenTask(
            f"{what}: success must be {allowed}, got {success!r}; "
            "name the rules with which `play` ends an episode"
        )
    if unreached and unreached in success:
        raise BrokenTask(
            f"{what}: success names {unreached!r}, but the task has no turn_limit; "
            "set turn_limit, or leave the name out"
        )


def rule_error(rule: str, error: Exception, argument: Any, *, on: str = "", text: str = "") -> BrokenTask:
    """The error for a rule that raised on an argument; `text` is what `read` got before `play`."""
    what = f"{rule} raised {type(error).__name__} ({error}) on {on}{argument!r:.200}"
    if argument is None:
        what += f"; read returned None for {text!r:.80}; it must return a move or Invalid(why, text)"
    return BrokenTask(what)


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")
