"""The commands, each with what it does, in the order of the overview."""

from __future__ import annotations

import importlib
import re
from typing import Any

EVERYBODY = {
    "train": "train the run that a recipe describes",
    "evaluate": "play held-out rows and print scores with their standard errors",
    "play": "play a task at this terminal, or watch an agent play it",
    "report": "write one page about one or several runs, for any browser",
    "list": "list the kinds, or the known names of a kind",
    "show": "print a recipe with every default written out",
    "bench": "run a suite of recipes and write tables with intervals; continue a suite that was stopped",
    "check": "check that a task, built-in or your own, obeys the laws of the task contract",
    "export": "copy a run's model into an ordinary Hugging Face folder",
}
REST = {
    "diagnose": "say what the logs of runs show to be wrong: the number, the likely cause, a setting to try",
    "compare": "compare runs, models, agents and endpoints on the same rows: differences paired by row",
    "chat": "talk with a run or a model over several turns, or with two of them side by side",
    "quickstart": "train and compare five methods on the built-in reviews, in minutes",
    "search": "search settings of a recipe on validation rows; continue a search that was stopped",
    "resume": "continue a run that was stopped, or extend a finished one",
    "annotate": "correct an agent's suggestions, sample by sample, while it learns",
    "generate": "print texts that a trained model writes",
    "values": "apply a run's value functions to recorded episodes: print the best and worst utterances, or "
    "whether Q ranks the better answers higher",
    "collect": "play many episodes into a dataset; continue a collection that was stopped",
    "convert": "convert all or some episodes into another format (JSON lines, Parquet, datasets, Minari)",
    "serve": "serve the other seats of a task over HTTP, on this machine only",
    "score": "score a file of texts by metrics, with bootstrap intervals",
    "study": "print agreement and tests of people's judgements; prepare blinded sheets of runs to be judged",
    "reward": "train a reward model on preferences, as a reward for recipes; run again, it continues",
    "import": "convert another library's settings or data, and report what is missing",
    "help": "print the commands, or the help of one; the meaning of a setting, its default, range and source",
}
COMMANDS = EVERYBODY | REST
MODULES = {"import": "importing"}  # a Python keyword cannot name a module


def module(command: str) -> Any:
    """The module of a command, with its `Options` and its `run`."""
    return importlib.import_module(f"loquent.cli.commands.{MODULES.get(command, command)}")


def sentence(command: str) -> str:
    """What a command does, as a sentence."""
    summary = COMMANDS[command]
    return f"{summary[0].upper()}{summary[1:]}."


def overview() -> str:
    """The commands in two groups, a line each."""
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<12}{_short(name)}" for name in group)])
        for title, group in (("what everybody needs", EVERYBODY), ("the rest", REST))
    )


def _short(command: str) -> str:
    """The first part of what a command does."""
    return re.split("[:;(]", sentence(command))[0].rstrip(". ")
