"""Commands about names, recipes and settings: list, show, import, help."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import allow_imports, command, overrides, profile
from loquent.core import registry

KINDS = {
    "tasks": "worlds of language, each with its rows, seats and rewards",
    "algorithms": "learners",
    "agents": "players that need no training: random, scripted, expert, remote",
    "rewards": "what a run is trained for",
    "metrics": "what an evaluation measures",
    "featurizers": "texts as vectors for networks over features",
    "recipes": "runs that are ready to train",
    "suites": "benchmarks: recipes side by side, with the published figures",
}


def add(commands: Any) -> None:
    """Add these commands."""
    _list(commands)
    _show(commands)
    _import(commands)
    _help(commands)


def _list(commands: Any) -> None:
    parser = command(commands, "list", "list the kinds, or the known names of a kind", "loquent list tasks")
    parser.add_argument("kind", nargs="?", choices=KINDS, help="without it, the kinds are listed")


def _show(commands: Any) -> None:
    parser = command(
        commands, "show", "print a recipe with every default written out", "loquent show reviews_ppo"
    )
    parser.add_argument(
        "recipe", metavar="RECIPE", help="a recipe's name, a YAML file, or the folder of a run"
    )
    allow_imports(parser, "a recipe")
    profile(parser)
    overrides(parser)


def _import(commands: Any) -> None:
    parser = command(
        commands,
        "import",
        "convert another library's settings or data, and report what is missing",
        "loquent import rl4lms gpt2_nlpo.yml",
        "loquent import nlvr nlvr lilgym --out data",
    )
    parser.add_argument(
        "library",
        choices=["rl4lms", *sorted(registry.imports())],
        help="rl4lms: settings, which become a recipe; nlvr: examples, which become lilGym's flip-it files",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="rl4lms: a YAML file; nlvr: NLVR's folder, and the folder with lilGym's files from scratch",
    )
    parser.add_argument(
        "--out",
        metavar="OUT",
        help="rl4lms: the recipe's file (default: the name of FILE with .yaml, in the current folder); "
        "nlvr: the folder for the files (default: the current folder)",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="rl4lms: write the recipe even if its objective or its algorithm differs",
    )


def _help(commands: Any) -> None:
    parser = command(
        commands,
        "help",
        "print the commands, or the meaning of a setting, its default, range and source",
        "loquent help clip",
        "loquent help nlpo",
    )
    parser.add_argument(
        "setting",
        metavar="SETTING",
        nargs="?",
        help="a setting, an algorithm or a task; without it, the commands are listed",
    )
