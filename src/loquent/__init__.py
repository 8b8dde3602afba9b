"""Loquent: reinforcement learning meets language. Write a task once, play it with any agent.

The face: `task`, `play`, `train`, `evaluate`, `check`, `load_run`. Nothing heavy is imported before it is called.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from loquent.adapters import register

if TYPE_CHECKING:
    from loquent.agent import Agent
    from loquent.episode import Episode
    from loquent.evaluate import Evaluation
    from loquent.run import Run
    from loquent.task import Task

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is first loaded: on shared cores spinning threads starve each other
__version__ = "0.1.0"
__all__ = ["check", "evaluate", "load_run", "play", "task", "train"]


def task(name: str, **options: Any) -> Task:
    """A registered task by name, or "module:Class" of one's own, built with its options.

    >>> loquent.task("wordle").identity
    'wordle-v1'

    Raises:
        UnknownName: no task is named so. BadSetting: an option is unknown or out of range.
    """
    from loquent import registry
    from loquent.fill import Node, fill
    from loquent.values import frozen

    made = registry.named("task", name)
    given = Node({key: Node(frozen(value), "option", None) for key, value in options.items()}, "option", None)
    built: Task = made(fill(made.Options, given, f"task {name}"))
    return built


def play(
    task: Task | str, agents: Agent | str | Mapping[str, Agent], *, episodes: int = 1, split: str = "train", seed: int = 0, learning: str = "agent"
) -> list[Episode]:
    """Play `episodes` games, one row after the other, and return them.

    Args:
        agents: an agent, the name of a registered one, or a mapping from seat to agent.
    """
    from loquent.agent import make
    from loquent.evaluate import held_out
    from loquent.play import games
    from loquent.play import play as run

    world = _task(task)
    player = make(agents, world) if isinstance(agents, str) else agents
    queue = [game for i, rows in enumerate(held_out(world, split, episodes)) for game in games(rows, first=i)]
    return run(world, queue, player, seed=seed, split=split, learning=learning)


def train(recipe: str | Path | Any, out: str | Path, overrides: Sequence[str] = (), *, profile: str | None = None, progress: bool = True) -> Run:
    """Train a recipe (a name, a YAML file or a `Recipe`) into the folder `out`; `key.path=value` overrides single settings."""
    from loquent.recipe import Recipe, load
    from loquent.train import train as run

    whole = recipe.replace(*overrides) if isinstance(recipe, Recipe) else load(recipe, overrides, profile=profile)
    return run(whole, out, progress=progress)


def evaluate(run: str | Path | Run, *, split: str = "test", episodes: int = 200, seed: int = 0) -> Evaluation:
    """Evaluate a run's model on held-out rows with the recipe's metrics; every mean comes with its standard error."""
    from loquent.run import Run

    found = run if isinstance(run, Run) else load_run(run)
    return found.evaluate(split=split, episodes=episodes, seed=seed)


def check(task: Task | str, *, episodes: int = 20) -> list[str]:
    """The laws of the task contract that a task breaks, in words; empty when it keeps them all."""
    from loquent.check import check as run

    return run(_task(task), episodes=episodes)


def load_run(folder: str | Path) -> Run:
    """The run in a folder: its recipe, what it logged, its model."""
    from loquent.run import load_run as run

    return run(folder)


def _task(task_: Task | str) -> Task:
    return task(task_) if isinstance(task_, str) else task_


class _Face(ModuleType):
    """Keeps the functions above under their names when a submodule of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


class _WhenGymnasiumComes(MetaPathFinder):
    """Registers the environments after gymnasium is imported: to import it here would make `loquent --help` four times slower."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


sys.modules[__name__].__class__ = _Face
if "gymnasium" in sys.modules:
    register()
else:
    sys.meta_path.insert(0, _WhenGymnasiumComes())
