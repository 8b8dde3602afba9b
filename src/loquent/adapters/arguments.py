"""The arguments of an environment: the task with its options, the view, and checks of the other arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from loquent.core import registry
from loquent.core.agent import Agent
from loquent.core.options import from_values
from loquent.core.seeding import as_integer
from loquent.core.task import Task
from loquent.errors import BadSetting, naming

RESET_OPTIONS = ("split", "sample", "index", "id", "number")
FORMS = ("text", "index", "token")
TEXT, VECTOR = "text", "vector"  # views that every task has
DICTIONARY = "dict"  # the default view of the index form, where the task has it


def build_task(task: Task | str | None, options: Mapping[str, Any]) -> Task:
    """The task itself, or the registered task of this name, built with the options.

    Raises:
        BadSetting: an option is unknown or has a wrong type.
        UnknownName: no task has this name.
    """
    if isinstance(task, Task):
        if options:
            what = f"the option {next(iter(options))!r} is unknown; a Task object takes none"
            raise BadSetting(f"{what}: set options when you build it, or pass the task's name")
        return task
    if task is None:
        raise BadSetting(
            "the argument task is missing; give a Task, a registered name (loquent list tasks) or "
            '"module:Class", as in gymnasium.make("loquent/Task-v0", task="wordle")'
        )
    if not isinstance(task, str):
        raise BadSetting(f"{naming('task', task)}; it must be a Task or the name of one")
    kind = registry.resolve("task", task)
    built: Task = kind(from_values(kind.Options, options, f"task {task}"))
    return built


def check_names(**names: Any) -> None:
    """Raise BadSetting unless all values are strings."""
    for name, value in names.items():
        if not isinstance(value, str):
            raise BadSetting(f"{naming(name, value)}; it must be a name")


def check_lengths(**lengths: Any) -> None:
    """Raise BadSetting unless all values are integers of at least 1."""
    for name, value in lengths.items():
        as_integer(value, f"{name} = {value!r:.80}: must be an integer of at least 1", low=1)


def check_form(task: Task, form: Any) -> None:
    """Raise BadSetting unless the form exists and the task has it."""
    if form not in FORMS:
        raise BadSetting(f"form = {form!r} must be one of {', '.join(FORMS)}")
    if form == "index" and task.actions is None:
        what = f"{task.identity} takes free text, so it has no index form"
        raise BadSetting(f"{what}; use form='text' or form='token'")


def check_players(terms: Any, agents: Any, weights: Any) -> None:
    """Raise BadSetting unless terms can score, agents can answer and weights are finite numbers."""
    if not isinstance(terms, Sequence):
        raise _not_terms(terms)
    if terms:
        _check_terms(terms)
    if agents is not None and not (
        isinstance(agents, Mapping) and all(isinstance(agent, Agent) for agent in agents.values())
    ):
        raise BadSetting(
            f"agents = {agents!r:.80}: must be a mapping from seats to agents, as in {{'judge': agent}}"
        )
    numbers = weights.values() if isinstance(weights, Mapping) else [None]
    if weights is not None and not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise BadSetting(
            f"weights = {weights!r:.80}: must be a mapping from names of rewards to finite numbers"
        )


def _check_terms(terms: Sequence[Any]) -> None:
    """Raise BadSetting unless each term can score one episode alone."""
    from loquent.rewards.counting import FIXED  # imports metrics, which few environments need
    from loquent.rewards.terms import Term, TokenTerm

    for term in terms:
        if isinstance(term, TokenTerm):
            continue
        if not isinstance(term, Term):
            raise _not_terms(terms)
        if term.together:
            what = f"the term {term.name!r}: its score of an episode depends on the episodes scored with it"
            raise BadSetting(f"{what}, and an environment scores each alone; {FIXED}")
        if term.counting.for_learners:
            what = (
                f"the term {term.name!r}: normalization and potential work only in training (loquent train)"
            )
            raise BadSetting(f"{what}, because an environment scores each episode alone; leave them out here")


def _not_terms(terms: Any) -> BadSetting:
    what = f"terms = {terms!r:.80}: must be a sequence of reward terms"
    return BadSetting(f"{what}, as in [rewards.Term(name, metric)]")


def reset_options(options: Any) -> dict[str, Any]:
    """The checked options of a reset, without those that are None.

    Raises:
        BadSetting: it is not a mapping, a name is unknown, `split` is not a string, or `number` is not an
            integer of at least 0.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        what = f"{naming('options', options)}"
        raise BadSetting(f"{what}; it must be a mapping with some of {', '.join(RESET_OPTIONS)}")
    if unknown := [name for name in options if name not in RESET_OPTIONS]:
        raise BadSetting(f"reset has no option {unknown[0]!r}; options: {', '.join(RESET_OPTIONS)}")
    checked = {name: value for name, value in options.items() if value is not None}
    if "split" in checked:
        check_names(split=checked["split"])
    if "number" in checked:
        number = checked["number"]
        problem = f"number = {number!r:.80}: the number of an episode must be an integer of at least 0"
        checked["number"] = as_integer(number, problem)
    return checked


def view_of(task: Task, view: Any, featurizer: Any, form: str) -> tuple[Any, Any] | None:
    """The pair (space, function from an observation to an array) of a view; None for the view "text".

    Raises:
        BadSetting: no view has this name, it is not such a pair, or a featurizer is given for another view
            than "vector".
    """
    if featurizer is not None and view != VECTOR:
        what = f"featurizer = {featurizer!r:.80} belongs to view='{VECTOR}', and the view is {view!r:.80}"
        raise BadSetting(f"{what}; set view='{VECTOR}' or leave out featurizer")
    if view is None and form == "index" and DICTIONARY in task.views:
        view = DICTIONARY
    if view is None or view == TEXT:
        return None
    pair = view
    if isinstance(view, str):
        pair = (
            registry.import_name("loquent.data.features:view")(task, featurizer)
            if view == VECTOR
            else _named(task, view)
        )
    if not (
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], gym.Space) and callable(pair[1])
    ):
        raise BadSetting(
            f"view = {pair!r:.80}: must be a pair (space, function from an observation to an array)"
        )
    return pair


def _named(task: Task, view: str) -> Any:
    if ":" in view:
        return registry.import_name(view)
    known = [name for name in task.views if name != "ansi"]
    if view not in known:
        what = f"view = {view!r}: {task.identity} has the views {', '.join((TEXT, VECTOR, *known))}"
        raise BadSetting(f"{what}; choose one, or name a pair as 'module:NAME'")
    return registry.import_name(task.views[view])(task)
