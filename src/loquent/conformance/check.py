"""The laws of the task contract, run on any task: `check` gives the broken ones in words, `report` says what
was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loquent.conformance import laws
from loquent.conformance.walks import Bench, Looked, NotChecked
from loquent.core import registry
from loquent.core.task import Task
from loquent.errors import BadSetting

__all__ = ["LAWS", "Finding", "check", "findings", "report"]

LAWS: dict[str, Callable[[Bench, Looked], None]] = {
    law.__name__: law
    for law in (
        laws.rows,
        laws.values,
        laws.copies,
        laws.equality,
        laws.answers,
        laws.observations,
        laws.rewards,
        laws.end,
        laws.last_observation,
        laws.returns,
        laws.actions,
        laws.expert,
        laws.replays,
        laws.independence,
        laws.randomness,  # last: it tells of all calls before
    )
}


@dataclass(frozen=True)
class Finding:
    """What became of one law: the ways it is broken, or why it was not checked, or how much was looked at."""

    law: str
    says: str
    problems: tuple[str, ...] = ()
    looked: str = ""
    skipped: str = ""

    def __str__(self) -> str:
        if self.problems:
            return f"BROKEN       {self.law}: " + "; ".join(self.problems)
        if self.skipped:
            return f"not checked  {self.law}: {self.skipped}"
        return f"kept         {self.law}: {self.says} ({self.looked})"


def findings(task: Task | str, episodes: int = 20, seed: int = 0) -> list[Finding]:
    """Run every law on a task, over games of random, odd and (where there is one) expert players.

    Args:
        task: a task, the name of a registered one, or "module:Class"; by name it is built with its default
            options.

    Raises:
        BadSetting: the name names no task, or `episodes` is less than 1.
    """
    if episodes < 1:
        raise BadSetting(f"episodes = {episodes!r}: the number of episodes must be at least 1")
    if isinstance(task, str):
        made = registry.imported(task) if ":" in task else registry.find("task", task)
        if not (isinstance(made, type) and issubclass(made, Task)):
            raise BadSetting(f"{task!r} is no task: a class derived from loquent.core.task.Task is right")
        task = made()
    bench = Bench(task, episodes, seed)
    return [_run(name, law, bench) for name, law in LAWS.items()]


def check(task: Task | str, episodes: int = 20, seed: int = 0) -> list[str]:
    """The laws a task breaks, in words; empty when all that could be checked are kept.

    >>> check("wordle", episodes=3)
    []
    """
    return [problem for finding in findings(task, episodes, seed) for problem in finding.problems]


def report(task: Task | str, episodes: int = 20, seed: int = 0) -> list[str]:
    """One line per law: kept (and on how much), broken (and how), or not checked (and why)."""
    return [str(finding) for finding in findings(task, episodes, seed)]


def _run(name: str, law: Callable[[Bench, Looked], None], bench: Bench) -> Finding:
    says = (law.__doc__ or "").strip().rstrip(".")
    looked = Looked()
    try:
        law(bench, looked)
    except NotChecked as why:
        return Finding(name, says, tuple(looked.problems), skipped=str(why))
    except Exception as error:  # whatever a task under test raises is a finding, not our end
        looked.problems.append(f"{name}: {type(error).__name__}: {error}"[:300])
    if looked.problems:
        return Finding(name, says, tuple(looked.problems))
    if not looked.count:
        return Finding(name, says, skipped="there was nothing to look at")
    return Finding(name, says, looked=f"{looked.count:,} {looked.unit}")
