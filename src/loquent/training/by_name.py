"""Tasks and agents by their names and options on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.core import episode, registry
from loquent.core.agent import make
from loquent.core.options import COMMAND_LINE, Node, fill, from_values, parse
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.files import names
from loquent.files.run_folder import RunFolder
from loquent.models.decoding_settings import Decoding

AGENT = "agent."  # the prefix of an agent's option on a command line
NEEDS_TASK = "--task TASK"


def task(name: str, options: Sequence[str]) -> Task:
    """The task of this name, or of "module:Class", with options as `key=value` or `task.key=value`.

    Raises:
        UnknownName: no task has this name.
        BadSetting: an option is unknown, or its value is outside its range.
    """
    kind = registry.resolve("task", name)
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise BadSetting(f"{name!r} is no task; name a class derived from loquent.core.task.Task")
    settings = Node(parse_options(options, "task."), COMMAND_LINE, None)
    built: Task = kind(fill(kind.Options, settings, f"task {name}"))
    return built


def split(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of the task, and those of the agent: `agent.key=value`."""
    agents = [text for text in options if text.strip().startswith(AGENT)]
    return [text for text in options if text not in agents], agents


def by_owner(options: Sequence[str], *owners: str) -> dict[str, list[str]]:
    """Options by owner: `owner.key=value` under the owner, and all others, of the task, under ""."""
    owner_of = {
        text: next((owner for owner in owners if text.strip().startswith(f"{owner}.")), "")
        for text in options
    }
    return {owner: [text for text in options if owner_of[text] == owner] for owner in ("", *owners)}


def agent(
    name: str, played: Task, options: Sequence[str] = (), prefix: str = AGENT, *, allow_imports: bool = False
) -> Any:
    """The agent of this name, made for a task.

    Args:
        name: a registered name, "module:Class", the folder of a run or of a model, or a file of episodes.
        options: the options of the agent, as `agent.key=value`.
        prefix: the prefix of these options.
        allow_imports: import the code that a run's recipe names, wherever the run is stored. By default
            `loquent.files.trust` decides.

    Raises:
        UnknownName: no agent has this name.
        BadSetting: an option is unknown, or its value is outside its range.
    """
    path = Path(name)
    if name == "replay":
        raise BadSetting(f"to replay episodes name their file: --agent data/{names.EPISODES}")
    if (
        name
        and name not in registry.names("agent")
        and ":" not in name
        and (path.is_dir() or path.suffix == ".jsonl")
    ):
        if options:
            what = f"{options[0]}: {name} is a folder or a file, which has no options"
            raise BadSetting(f"{what}; leave the option out")
        if path.is_dir():
            return model(name, allow_imports=allow_imports)[0]
        return registry.find("agent", "replay")(tuple(episode.read(path)))
    return make(
        name,
        played,
        {key: node.plain() for key, node in parse_options(options, prefix).items()},
        COMMAND_LINE,
    )


def require_run(who: str | Path) -> None:
    """Raise BadSetting if `who` is an agent, a file of episodes or a model's folder, and so needs a task."""
    path, name = Path(who), str(who)
    model = any((path / file).is_file() for file in ("config.json", "adapter_config.json"))
    if model and not RunFolder(path).is_run:
        from loquent.models.export_note import NOTE, read_note

        task = read_note(path).get("task")
        kind = task.get("kind") if isinstance(task, dict) else task
        advice = (
            f"--task {kind}, and the task's options in {path / NOTE} as --option KEY=VALUE"
            if kind
            else NEEDS_TASK
        )
        raise BadSetting(f"{who} is a model's folder, and no task is named; give {advice}")
    if name and not path.exists() and (name in registry.names("agent") or registry.is_import_name(name)):
        raise BadSetting(
            f"{who} is an agent, and no task is named; give {NEEDS_TASK}. Known: "
            f"{', '.join(registry.names('task'))}"
        )
    if path.is_file() and path.suffix == ".jsonl":
        raise BadSetting(
            f"{who} is a file of episodes, and no task is named; give {NEEDS_TASK}, on which they were played"
        )


def parse_options(options: Sequence[str], prefix: str) -> dict[str, Node]:
    """Options of the form `key=value`, with the prefix or without it, by key.

    Raises:
        BadSetting: an option has another form.
    """
    nodes: dict[str, Node] = {}
    for text in options:
        path, equals, value = text.partition("=")
        key = path.strip().removeprefix(prefix)
        if not equals or not key.isidentifier():
            raise BadSetting(f"the option {text!r} is not of the form key=value")
        nodes[key] = parse(value, COMMAND_LINE, numbered=False)
    return nodes


def model(name: str, *, allow_imports: bool = False, **decoding: Any) -> tuple[Any, Any]:
    """The agent of a run, of one of its checkpoints, or of a language model, and its language model.

    A run and its checkpoints act as in the run's evaluations; any other model samples.

    Args:
        name: the folder of a run, of a checkpoint or of a model, or a Hugging Face name.
        decoding: fields of the decoding settings to replace, such as `max_new_tokens=5`.
    """
    from loquent.training.policies import policy_folder
    from loquent.training.run import load_run

    folder = RunFolder.around(Path(name))
    if folder is not None:
        run = load_run(folder.path, allow_imports=allow_imports)
        recipe = run.recipe
        evaluation = from_values(Decoding, {**vars(recipe.evaluation), **decoding}, "evaluation")
        checkpoint = policy_folder(name).parent
        return run.acting(replace(recipe, evaluation=evaluation), checkpoint)
    from loquent.agents.language_model import LanguageModelAgent
    from loquent.training.start import folder_format, load_language

    language = load_language(name, "auto", "float32")
    settings = from_values(Decoding, decoding, "evaluation")
    format = folder_format(name, language)
    return LanguageModelAgent(language.module, format, settings, name=Path(name).name), language
