"""The public functions of the package: `task`, `play`, `train`, `evaluate`, `compare`, `check`,
`load_run`.

Heavy libraries such as torch are imported when a function needs them, not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loquent.core.agent import Agent
from loquent.core.episode import Episode
from loquent.core.task import Task
from loquent.errors import naming_extras, require

if TYPE_CHECKING:
    from loquent.bench.comparison.comparison import Comparison
    from loquent.training.evaluate import Evaluation
    from loquent.training.run import Run


@naming_extras("loquent.task")
def task(name: str, **options: Any) -> Task:
    """A registered task by name, or your own as "module:Class", built with its options.

    >>> loquent.task("wordle").identity
    'wordle-v1'

    Raises:
        UnknownName: no task has this name.
        BadSetting: an option is unknown or out of range.
    """
    from loquent.core import registry
    from loquent.core.options import from_values
    from loquent.core.task import Task
    from loquent.errors import BadSetting

    require(name, str, "task", "the name of a task, such as 'wordle', or 'module:Class'")
    cls = registry.resolve("task", name)
    if not (isinstance(cls, type) and issubclass(cls, Task)):
        raise BadSetting(f"{name!r} is not a task; name a class derived from loquent.core.task.Task")
    built: Task = cls(from_values(cls.Options, options, f"task {name}"))
    return built


@naming_extras("loquent.play")
def play(
    task: Task | str,
    agents: Agent | str | Mapping[str, Agent | str],
    *,
    episodes: int = 1,
    split: str = "train",
    seed: int = 0,
    learning: str = "agent",
) -> list[Episode]:
    """Play `episodes` episodes on the rows of a split, in their order, and return them.

    Args:
        task: a task or the name of one.
        agents: an agent, the name of a registered agent, or a mapping from seats to these.
        seed: the seed of all random streams.
        learning: the seat whose turns receive the rewards.

    Raises:
        BadSetting: the task or an agent is something else. UnknownName: no such split, agent or seat.
    """
    from loquent.core.rollout.loop import games
    from loquent.core.rollout.loop import play as run
    from loquent.data.pools import held_out
    from loquent.errors import UnknownName

    require(learning, str, "learning", "the name of a seat")
    built = _task(task)
    player = _players(agents, built)
    queue = [game for i, rows in enumerate(held_out(built, split, episodes)) for game in games(rows, first=i)]
    played = run(built, queue, player, seed=seed, split=split, learning=learning)
    seats = {turn.seat for episode in played for turn in episode.turns} - {"task"}
    if seats and learning not in seats:
        raise UnknownName("seat", str(learning), sorted(seats))
    return played


@naming_extras("loquent.train")
def train(
    recipe: str | Path | Any,
    out: str | Path,
    overrides: Sequence[str] = (),
    *,
    profile: str | None = None,
    progress: bool = True,
    allow_imports: bool = False,
) -> Run:
    """Train a recipe into the folder `out` and write `out/report.html`, like `loquent train`.

    Args:
        recipe: the name of a recipe, a YAML file, or a `Recipe`.
        overrides: single settings as `key.path=value`.
        profile: the name of a profile of the recipe, such as "smoke".
        progress: whether to show a progress bar.
        allow_imports: whether to import code that a YAML file names, wherever the file lies. Otherwise the
            file must be trusted; see `loquent.files.trust`.

    Raises:
        NotTrusted: a YAML file outside the current folder names code.
    """
    from loquent.report import write_report
    from loquent.training.recipes import Imports, Recipe, load
    from loquent.training.recipes.overrides import check_list
    from loquent.training.train import train as run

    require(out, str | Path, "out", "the path of a folder for the run")
    check_list(overrides)
    imports: Imports = "all" if allow_imports else "trusted"
    loaded = (
        recipe.replace(*overrides)
        if isinstance(recipe, Recipe)
        else load(recipe, overrides, profile=profile, imports=imports)
    )
    finished = run(loaded, out, progress=progress)
    write_report([finished.folder], finished.files.report)
    return finished


@naming_extras("loquent.evaluate")
def evaluate(
    run: str | Path | Run | Agent,
    *,
    task: Task | str | None = None,
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
    allow_imports: bool = False,
) -> Evaluation:
    """Evaluate a run's model on held-out rows with the metrics of its recipe, or any agent on a task.

    >>> loquent.evaluate("expert", task="wordle", episodes=2).n
    2

    Every mean has its standard error, clustered by row: an episode on a row that was played before is no
    independent evidence.

    Args:
        run: a run, or the folder of one; with `task` also an agent, the name of one, or a model's folder.
        task: the task, or the name of one; by default the task of the run.
        episodes: the number of episodes to play.
        seed: the seed of all random streams.
        allow_imports: as for `load_run`.
    """
    from loquent.training import by_name

    if task is not None:
        from loquent.training.evaluate import evaluate_agent

        built = _task(task)
        player = _evaluated(run, built, allow_imports)
        return evaluate_agent(built, player, split=split, episodes=episodes, seed=seed)
    from loquent.training.run import Run

    if isinstance(run, str | Path):
        by_name.require_run(run)
    else:
        require(run, Run, "run", "a run, or the path of the folder of a run; an agent needs task=TASK")
    loaded = run if isinstance(run, Run) else load_run(cast(str | Path, run), allow_imports=allow_imports)
    return loaded.evaluate(split=split, episodes=episodes, seed=seed)


@naming_extras("loquent.compare")
def compare(
    *players: str | Path | Run | Agent,
    recipe: str | Path | None = None,
    overrides: Sequence[str] = (),
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
    allow_imports: bool = False,
) -> Comparison:
    """Compare players on the same rows of a recipe: its task, rewards and metrics, like `loquent compare`.

    >>> loquent.compare("random", "expert", recipe="wordle_ppo", episodes=4).tests
    3

    Args:
        players: runs, the folders of runs, checkpoints or models, agents, or names of these. The others are
            compared with the first.
        recipe: the name of a recipe, a YAML file, or a run. By default that of the first run.
        overrides: `key.path=value` for the sections `evaluation`, `metrics`, `rewards` and `task`.
        episodes: the number of episodes of each player.
        seed: the seed of all random streams.
        allow_imports: as for `load_run`.

    Raises:
        BadSetting: there is no recipe, or a setting is refused. UnknownName: there is no such agent.
    """
    from loquent.bench.comparison.contrasts import compare as run

    require(recipe, str | Path | None, "recipe", "the name of a recipe, or the path of a YAML file or a run")
    return run(
        *players,
        recipe=None if recipe is None else str(recipe),
        overrides=overrides,
        split=split,
        episodes=episodes,
        seed=seed,
        allow_imports=allow_imports,
    )


@naming_extras("loquent.check")
def check(task: Task | str, *, episodes: int = 20) -> list[str]:
    """The laws of the task contract that a task breaks, in words; an empty list when it keeps all laws."""
    from loquent.bench.conformance.check import check as run

    return run(_task(task), episodes=episodes)


@naming_extras("loquent.load_run")
def load_run(folder: str | Path, *, allow_imports: bool = False) -> Run:
    """The run in a folder: its recipe, its logged metrics and its model.

    Args:
        allow_imports: whether to import code that the run's recipe names, wherever the run lies. Otherwise
            the run must lie under the current folder or have been trained by this user, or its recipe, task
            and agent raise NotTrusted.
    """
    from loquent.training.run import load_run as run

    require(folder, str | Path, "run", "a run, or the path of the folder of a run")
    return run(folder, allow_imports=allow_imports)


def _task(task_: Task | str) -> Task:
    return task_ if isinstance(task_, Task) else task(task_)


def _evaluated(who: Any, built: Task, allow_imports: bool) -> Any:
    """The agent of a run, of a name or of a folder, or the agent itself."""
    from loquent.training import by_name

    if isinstance(who, str | Path):
        return by_name.agent(str(who), built, allow_imports=allow_imports)
    if isinstance(who, Agent):
        return who
    from loquent.training.run import Run

    require(who, Run, "run", "a run, an agent, the name of an agent, or the path of a folder")
    return who.agent()


def _players(agents: Any, built: Task) -> Any:
    """The agents, with names replaced by new agents of these names."""
    from loquent.core.agent import make

    def player(agent: Any) -> Any:
        require(agent, Agent | str, "agents", "an Agent, the name of one, or a mapping from seats to these")
        return make(agent, built) if isinstance(agent, str) else agent

    if isinstance(agents, Mapping):
        return {seat: player(agent) for seat, agent in agents.items()}
    return player(agents)
