"""What is compared: a run, a checkpoint, a model's folder, recorded episodes, an agent or an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loquent.core.agent import Agent, make
from loquent.core.options import COMMAND_LINE, parse
from loquent.core.task import Task
from loquent.errors import BadSetting, require
from loquent.files.run_folder import RunFolder
from loquent.training import by_name, recipes
from loquent.training.policies import policy_folder
from loquent.training.recipes import Recipe
from loquent.training.run import Run, load_run

if TYPE_CHECKING:
    from loquent.pretrained import LanguageModel

Who = str | Path | Run | Agent
Loaded = tuple[Agent, "LanguageModel | None"]
ENDPOINT = "'{kind: http, base_url: http://127.0.0.1:8000/v1, model: NAME}'"


@dataclass(frozen=True)
class Player:
    """A player with its label; `load` gives its agent, and the language model that it plays with, if any."""

    label: str
    load: Callable[[], Loaded]


def players(
    whos: Sequence[Who], recipe: Recipe, task: Task, *, allow_imports: bool = False, evaluation: bool = False
) -> list[Player]:
    """The players with these names; models are loaded later, one at a time.

    A run and its checkpoints act as in the evaluations of the run. A model's folder decodes as the recipe's
    `evaluation` says, in the format of its export, or else in the recipe's.

    Args:
        whos: folders of runs, checkpoints and models; agents by name, or as `{kind: NAME, OPTION: VALUE}`.
        evaluation: runs decode as the recipe's `evaluation` says, too.

    Raises:
        UnknownName: there is no such agent. BadCheckpoint: a folder has no policy.
        BadSetting: an option of an agent is refused, a run chooses among the actions of another task, or two
            players have one label.
    """
    found = [_player(who, recipe, task, allow_imports, evaluation) for who in whos]
    for label in (labels := [player.label for player in found]):
        if labels.count(label) > 1:
            raise BadSetting(f"{label} is named twice; name two different players")
    return found


def find_recipe(whos: Sequence[Who], name: str | None, allow_imports: bool) -> Recipe:
    """The recipe of this name or of this run; by default that of the first run among the players.

    Raises:
        BadSetting: no recipe is named, and no player is a run.
    """
    paths = [Path(who) for who in map(_named, [name] if name else whos) if isinstance(who, str)]
    folders = (RunFolder.around(path) for path in paths if path.is_dir())
    run = next((folder for folder in folders if folder is not None), None)
    if run is not None:
        return load_run(run.path, allow_imports=allow_imports).recipe
    if name is None:
        raise BadSetting(
            "no recipe says on which rows, rewards and metrics to compare, because no player is a run; give "
            "--recipe RECIPE: the name of a recipe, a YAML file, or the folder of a run"
        )
    return recipes.load(name, imports="all" if allow_imports else "trusted")


def _named(who: Who) -> str | Agent:
    """The name or the folder of a player as a text; an agent as it is."""
    require(who, str | Path | Run | Agent, "player", "a folder, the name of an agent, a run or an agent")
    return str(who.folder) if isinstance(who, Run) else str(who) if isinstance(who, Path) else who


def _player(given: Who, recipe: Recipe, task: Task, allow_imports: bool, evaluation: bool) -> Player:
    who = _named(given)
    if not isinstance(who, str):
        return _made(who)
    if who.startswith("{"):
        chosen = parse(who, COMMAND_LINE)
        if not isinstance(chosen.value, dict):
            raise BadSetting(f"{who!r:.100} is not a mapping with the kind of an agent; write {ENDPOINT}")
        return _made(make(chosen.plain(), task, place=who[:100]))
    path = Path(who)
    if not path.is_dir():
        agent = by_name.agent(who, task, allow_imports=allow_imports)
        return Player(who, lambda: (agent, None))
    policy, folder = policy_folder(path), RunFolder.around(path)
    if folder is None:
        return Player(who, lambda: _model(policy, recipe))
    run = load_run(folder.path, allow_imports=allow_imports)
    own = replace(run.recipe, evaluation=recipe.evaluation) if evaluation else run.recipe
    return Player(who, lambda: _of_run(run, own, policy, task))


def _made(agent: Agent) -> Player:
    return Player(agent.name, lambda: (agent, None))


def _of_run(run: Run, recipe: Recipe, policy: Path, task: Task) -> Loaded:
    agent, language = run.acting(recipe, policy.parent)
    if language is None and task.spec.id != run.task().spec.id:
        raise BadSetting(
            f"{run.folder} chooses among the actions of {run.task().identity}, and {task.identity} has "
            "others; compare it with runs of its own task"
        )
    return agent, language


def _model(folder: Path, recipe: Recipe) -> Loaded:
    from loquent.agents.language_model import LanguageModelAgent
    from loquent.training.start import folder_format, load_language

    language = load_language(str(folder), recipe.model.device, recipe.model.dtype)
    format = folder_format(folder, language, recipe.model.format, recipe.model.thinking)
    return LanguageModelAgent(language.module, format, recipe.evaluation, name=folder.name), language
