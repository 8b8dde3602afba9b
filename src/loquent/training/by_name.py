"""From what stands on a command line to tasks and agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loquent.core import episode, registry
from loquent.core.agent import make
from loquent.core.options import COMMAND_LINE, Node, fill, parse
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.files import names
from loquent.files.run_folder import RunFolder

AGENT = "agent."  # what stands before an agent's option on a command line


def task(name: str, options: Sequence[str]) -> Task:
    """The task of that name, or of one's own as "module:Class", with options given as `key=value` or
    `task.key=value`.

    Raises:
        UnknownName: no such task. BadSetting: no such option, or a value outside its range.
    """
    made = find("task", name)
    if not (isinstance(made, type) and issubclass(made, Task)):
        raise BadSetting(f"{name!r} is no task: a class derived from loquent.core.task.Task is right")
    built: Task = made(fill(made.Options, Node(given(options, "task."), COMMAND_LINE, None), f"task {name}"))
    return built


def split(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of the task, and those of the agent: `agent.key=value`."""
    agents = [text for text in options if text.strip().startswith(AGENT)]
    return [text for text in options if text not in agents], agents


def owned(options: Sequence[str], *owners: str) -> dict[str, list[str]]:
    """Options by whose they are: `owner.key=value` of the owners, all others of the task, under ""."""
    owner_of = {
        text: next((owner for owner in owners if text.strip().startswith(f"{owner}.")), "")
        for text in options
    }
    return {owner: [text for text in options if owner_of[text] == owner] for owner in ("", *owners)}


def agent(
    name: str, played: Task, options: Sequence[str] = (), prefix: str = AGENT, *, allow_imports: bool = False
) -> Any:
    """The agent of that name (or "module:Class"), made for a task.

    Of a run's folder, a model's folder or a file of episodes.

    Args:
        options: the agent's, as `agent.key=value`.
        prefix: what stands before its options, where that is not "agent.".
        allow_imports: import code that a run's recipe names wherever the run lies; otherwise as
            `loquent.core.guards.trust` says.

    Raises:
        UnknownName: no such agent. BadSetting: no such option, or a value outside its range.
    """
    path = Path(name)
    if name == "replay":
        raise BadSetting(f"to replay episodes name their file: --agent data/{names.EPISODES}")
    if name not in registry.names("agent") and ":" not in name and (path.is_dir() or path.suffix == ".jsonl"):
        if options:
            raise BadSetting(f"{options[0]}: {name} is a folder or a file, which has no options")
        return (
            _model(path, allow_imports)
            if path.is_dir()
            else registry.find("agent", "replay")(tuple(episode.read(path)))
        )
    return make(
        name, played, {key: node.plain() for key, node in given(options, prefix).items()}, COMMAND_LINE
    )


def find(kind: str, name: str) -> Any:
    """A registered thing, or one's own as "module:Name", looked for in the current folder too."""
    return registry.resolve(kind, name)


def given(options: Sequence[str], prefix: str) -> dict[str, Node]:
    """Options said as `key=value`, with the prefix or without it."""
    found: dict[str, Node] = {}
    for text in options:
        path, equals, value = text.partition("=")
        key = path.strip().removeprefix(prefix)
        if not equals or not key.isidentifier():
            raise BadSetting(f"the option {text!r} is not of the form key=value")
        found[key] = parse(value, COMMAND_LINE, numbered=False)
    return found


def _model(folder: Path, allow_imports: bool) -> Any:
    from loquent.training.run import load_run

    if RunFolder(folder).is_run:
        return load_run(folder, allow_imports=allow_imports).agent()
    from loquent.agents.language_model import LanguageModelAgent
    from loquent.models.decode.loop import Decoding
    from loquent.training.start import folder_format, load_language

    language = load_language(str(folder), "auto", "float32")
    return LanguageModelAgent(language.module, folder_format(folder, language), Decoding(), name=folder.name)
