"""The functions of the public face: `task`, `play`, `train`, `evaluate`, `check`, `load_run`.

Nothing heavy is imported before a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.core.agent import Agent
from loquent.core.episode import Episode
from loquent.core.task import Task

if TYPE_CHECKING:
    from loquent.training.evaluate import Evaluation
    from loquent.training.run import Run


def task(name: str, **options: Any) -> Task:
    """A registered task by name, or "module:Class" of one's own, built with its options.

    >>> loquent.task("wordle").identity
    'wordle-v1'

    Raises:
        UnknownName: no task is named so. BadSetting: an option is unknown or out of range.
    """
    from loquent.core import registry
    from loquent.core.options import from_values
    from loquent.core.task import Task
    from loquent.errors import BadSetting

    made = registry.resolve("task", name)
    if not (isinstance(made, type) and issubclass(made, Task)):
        raise BadSetting(f"{name!r} is no task: a class derived from loquent.core.task.Task is right")
    built: Task = made(from_values(made.Options, options, f"task {name}"))
    return built


def play(
    task: Task | str,
    agents: Agent | str | Mapping[str, Agent],
    *,
    episodes: int = 1,
    split: str = "train",
    seed: int = 0,
    learning: str = "agent",
) -> list[Episode]:
    """Play `episodes` games, one row after the other, and return them.

    Args:
        agents: an agent, the name of a registered one, or a mapping from seat to agent.
    """
    from loquent.core.agent import make
    from loquent.rollout.loop import games
    from loquent.rollout.loop import play as run
    from loquent.training.evaluate import held_out

    world = _task(task)
    player = make(agents, world) if isinstance(agents, str) else agents
    queue = [game for i, rows in enumerate(held_out(world, split, episodes)) for game in games(rows, first=i)]
    return run(world, queue, player, seed=seed, split=split, learning=learning)


def train(
    recipe: str | Path | Any,
    out: str | Path,
    overrides: Sequence[str] = (),
    *,
    profile: str | None = None,
    progress: bool = True,
    allow_imports: bool = False,
) -> Run:
    """Train a recipe (a name, a YAML file or a `Recipe`) into the folder `out`, and write `out/report.html`,
    as `loquent train` does.

    Args:
        overrides: single settings as `key.path=value`.
        allow_imports: import code that a YAML file names wherever the file lies; otherwise as
            `loquent.core.guards.trust` says.

    Raises:
        NotTrusted: a YAML file outside the current folder names code.
    """
    from loquent.recipes import Imports, Recipe, load
    from loquent.report import write_report
    from loquent.training.train import train as run

    imports: Imports = "all" if allow_imports else "trusted"
    whole = (
        recipe.replace(*overrides)
        if isinstance(recipe, Recipe)
        else load(recipe, overrides, profile=profile, imports=imports)
    )
    finished = run(whole, out, progress=progress)
    write_report([finished.folder], finished.files.report)
    return finished


def evaluate(
    run: str | Path | Run,
    *,
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
    allow_imports: bool = False,
) -> Evaluation:
    """Evaluate a run's model on held-out rows with the recipe's metrics.

    Every mean comes with its standard error.

    For `allow_imports` see `load_run`.
    """
    from loquent.training.run import Run

    found = run if isinstance(run, Run) else load_run(run, allow_imports=allow_imports)
    return found.evaluate(split=split, episodes=episodes, seed=seed)


def check(task: Task | str, *, episodes: int = 20) -> list[str]:
    """The laws of the task contract that a task breaks, in words; empty when it keeps them all."""
    from loquent.conformance.check import check as run

    return run(_task(task), episodes=episodes)


def load_run(folder: str | Path, *, allow_imports: bool = False) -> Run:
    """The run in a folder: its recipe, what it logged, its model.

    Args:
        allow_imports: import code that the run's recipe names wherever the run lies; otherwise its recipe,
            task and agent raise NotTrusted where it names code, lies outside the current folder and was not
            trained by this user.
    """
    from loquent.training.run import load_run as run

    return run(folder, allow_imports=allow_imports)


def _task(task_: Task | str) -> Task:
    return task(task_) if isinstance(task_, str) else task_
