"""The laws of the task contract, run on any task: `check` lists the problems, `report` has a line per law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loquent.bench.conformance import action_sets, laws
from loquent.bench.conformance.endings import last_observation
from loquent.bench.conformance.hooks import hooks
from loquent.bench.conformance.splits import splits
from loquent.bench.conformance.walks import Bench, NotChecked, Tally
from loquent.core import registry
from loquent.core.seeding import as_integer
from loquent.core.task import Task
from loquent.errors import BadRow, BadSetting, BrokenTask, MissingExtra

__all__ = ["LAWS", "Finding", "check", "findings", "report"]

LAWS: dict[str, Callable[[Bench, Tally], None]] = {
    law.__name__: law
    for law in (
        laws.rows,
        splits,
        laws.values,
        laws.copies,
        laws.equality,
        laws.answers,
        laws.observations,
        laws.end,
        last_observation,
        laws.returns,
        action_sets.actions,
        laws.expert,
        hooks,
        laws.replays,
        laws.independence,
        laws.results,  # the last two laws, because they report on the calls of all others
        laws.randomness,
    )
}


@dataclass(frozen=True)
class Finding:
    """The result of one law: its problems, the reason it was skipped, or how many cases were checked."""

    law: str
    says: str
    problems: tuple[str, ...] = ()
    looked: str = ""
    skipped: str = ""

    def __str__(self) -> str:
        if self.problems:
            own = (problem.removeprefix(f"{self.law}: ") for problem in self.problems)
            return f"BROKEN       {self.law}: " + "; ".join(own)
        if self.skipped:
            return f"not checked  {self.law}: {self.skipped}"
        return f"kept         {self.law}: {self.says} ({self.looked})"


def findings(task: Task | str, episodes: int = 20, seed: int = 0) -> list[Finding]:
    """Run every law on a task, over episodes of random, odd and (if the task has one) expert agents.

    Args:
        task: a task, the name of a registered task, or "module:Class". A task named by a text is built with
            its default options.
        episodes: the number of episodes to play, at least 1.
        seed: the seed of the rows and of the agents.

    Raises:
        BadSetting: `task` is not the name of a task, `episodes` is less than 1, or a setting has no rows.
        BadRow, MissingExtra: the rows cannot be read.
    """
    episodes = as_integer(episodes, f"episodes must be an integer of at least 1, got {episodes!r:.80}", low=1)
    if isinstance(task, str):
        task_class = registry.import_name(task) if ":" in task else registry.find("task", task)
        if not (isinstance(task_class, type) and issubclass(task_class, Task)):
            raise BadSetting(f"{task!r} is not a task; name a subclass of loquent.core.task.Task")
        task = task_class()
    bench = Bench(task, episodes, seed)
    try:
        _ = bench.rows
    except (BadSetting, BadRow, MissingExtra):  # the rows cannot be read, which is no fault of the rules
        raise
    except Exception:  # the laws report it
        pass
    return [_run(name, law, bench) for name, law in LAWS.items()]


def check(task: Task | str, episodes: int = 20, seed: int = 0) -> list[str]:
    """The problems of a task with the laws of the contract; empty if no law is broken.

    >>> check("wordle", episodes=3)
    []
    """
    return [problem for finding in findings(task, episodes, seed) for problem in finding.problems]


def report(task: Task | str, episodes: int = 20, seed: int = 0) -> list[str]:
    """One line per law: kept (with the number of cases), BROKEN (how), or not checked (why)."""
    return [str(finding) for finding in findings(task, episodes, seed)]


def _run(name: str, law: Callable[[Bench, Tally], None], bench: Bench) -> Finding:
    statement = " ".join((law.__doc__ or "").split()).rstrip(".")
    tally = Tally()
    try:
        law(bench, tally)
    except NotChecked as reason:
        return Finding(name, statement, tuple(tally.problems), skipped=str(reason))
    except BrokenTask as error:  # the law of results reports it
        bench.broken_results.append(str(error))
        why = "a method of the task broke its contract; see results"
        return Finding(name, statement, tuple(tally.problems), skipped=why)
    except Exception as error:  # an error of the task under test is a finding, and the other laws still run
        tally.problems.append(f"{name}: {type(error).__name__}: {error}"[:300])
    if tally.problems:
        return Finding(name, statement, tuple(tally.problems))
    if not tally.count:
        return Finding(name, statement, skipped="there was no case to check")
    return Finding(name, statement, looked=f"{tally.count:,} {tally.unit}")
