"""The arguments of an environment: the task by name and its options, the view by name, and checks that name what is wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from loquent import registry
from loquent.errors import BadSetting, kind_of, nearest
from loquent.fill import Node, fill
from loquent.seeding import whole_number
from loquent.task import Task
from loquent.values import frozen

RESET_OPTIONS = ("split", "sample", "index", "id", "number")
TEXT, VECTOR = "text", "vector"  # views that every task has
DICTIONARY = "dict"  # the one that is shown in the index form by tasks that have it


def made(task: Task | str, options: Mapping[str, Any]) -> Task:
    """The task itself, or the one of that name built with its options.

    Raises:
        BadSetting: an option is unknown, or of a wrong type. UnknownName: no task is named so.
    """
    if isinstance(task, Task):
        if options:
            raise BadSetting(f"the option {next(iter(options))!r} is unknown; a task that is built already takes none")
        return task
    if not isinstance(task, str):
        raise BadSetting(f"task = {task!r:.80} is {kind_of(task)}; a task or the name of one is right")
    kind = registry.named("task", task)
    known = [field.name for field in dataclasses.fields(kind.Options)]
    for name in options:
        if name not in known:
            near = nearest(name, known)
            hint = f"nearest: {near}. " if near else ""
            raise BadSetting(f"{name} is no option of the task {task}; {hint}All of them: {', '.join(known) or 'none'}")
    given = {name: Node(frozen(value), "option", None) for name, value in options.items()}
    built: Task = kind(fill(kind.Options, Node(given, "option", None), f"task {task}"))
    return built


def check_names(**names: Any) -> None:
    """That these are texts."""
    for name, value in names.items():
        if not isinstance(value, str):
            raise BadSetting(f"{name} = {value!r:.80} is {kind_of(value)}; a name is right")


def check_lengths(**lengths: Any) -> None:
    """That these are whole numbers of at least 1."""
    for name, value in lengths.items():
        whole_number(value, f"{name} = {value!r:.80}: a whole number of at least 1 is right", low=1)


def check_players(terms: Any, agents: Any, weights: Any) -> None:
    """That terms score, agents answer and weights are numbers."""
    if not isinstance(terms, Sequence) or not all(hasattr(term, "score") and hasattr(term, "name") for term in terms):
        raise BadSetting(f"terms = {terms!r:.80}: a sequence of reward terms is right, as in [rewards.Term(name, metric)]")
    for term in terms:
        if getattr(term, "together", False):
            from loquent.rewards.counting import FIXED  # its room brings metrics, and few environments have terms

            why = "its score of an episode depends on those scored with it, and an environment scores each alone"
            raise BadSetting(f"the term {term.name!r}: {why}; {FIXED}")
        if getattr(getattr(term, "counting", None), "for_learners", False):
            why = "normalization and potential belong to a learner's own loop (loquent train); leave them out here"
            raise BadSetting(f"the term {term.name!r}: an environment gives each episode the reward that rewards.apply gives it alone; {why}")
    if agents is not None and not (isinstance(agents, Mapping) and all(hasattr(agent, "answer") for agent in agents.values())):
        raise BadSetting(f"agents = {agents!r:.80}: a mapping from seats to agents is right, as in {{'judge': agent}}")
    numbers = weights.values() if isinstance(weights, Mapping) else [None]
    if weights is not None and not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise BadSetting(f"weights = {weights!r:.80}: a mapping from names of rewards to finite numbers is right")


def reset_options(given: Any) -> dict[str, Any]:
    """What the options of a reset ask for, without those that are None: names known, the split a name, the number a whole one.

    Raises:
        BadSetting: something else is given.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadSetting(f"options = {given!r:.80} is {kind_of(given)}; a mapping with some of {', '.join(RESET_OPTIONS)} is right")
    if unknown := [name for name in given if name not in RESET_OPTIONS]:
        raise BadSetting(f"reset has no option {unknown[0]!r}; {', '.join(RESET_OPTIONS)} are right")
    asked = {name: value for name, value in given.items() if value is not None}
    if "split" in asked:
        check_names(split=asked["split"])
    if "number" in asked:
        number = asked["number"]
        asked["number"] = whole_number(number, f"number = {number!r:.80}: the number of a game, a whole one of at least 0, is right")
    return asked


def view_of(task: Task, view: Any, featurizer: Any, form: str) -> tuple[Any, Any] | None:
    """The pair (space, function from the observation to an array) that `view` stands for; None where the observation is its text.

    Raises:
        BadSetting: no view is named so, it is no such pair, or a featurizer is given that nothing uses.
    """
    if featurizer is not None and view != VECTOR:
        raise BadSetting(f"featurizer = {featurizer!r:.80} belongs to view='{VECTOR}'; this view is {view!r:.80}")
    if view is None and form == "index" and DICTIONARY in task.views:
        view = DICTIONARY
    if view is None or view == TEXT:
        return None
    found = view
    if isinstance(view, str):
        found = registry.imported("loquent.features:view")(task, featurizer) if view == VECTOR else _named(task, view)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], gym.Space) and callable(found[1])):
        raise BadSetting(f"view = {found!r:.80}: a pair (space, function from the observation to an array) is right")
    return found


def _named(task: Task, view: str) -> Any:
    if ":" in view:
        return registry.imported(view)
    known = [name for name in task.views if name != "ansi"]
    if view not in known:
        raise BadSetting(f"view = {view!r}: {task.identity} has the views {', '.join((TEXT, VECTOR, *known))}; 'module:NAME' of a pair is right too")
    return registry.imported(task.views[view])(task)
