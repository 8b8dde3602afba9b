"""Commands about names, recipes and settings: list, show, import, help."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import allow_imports, command, overrides


def add(commands: Any) -> None:
    """Add these commands."""
    _list(commands)
    _show(commands)
    _import(commands)
    _help(commands)


def _list(commands: Any) -> None:
    parser = command(commands, "list", "list the known names of a kind", "loquent list tasks")
    parser.add_argument(
        "kind",
        choices=["tasks", "algorithms", "agents", "rewards", "metrics", "featurizers", "recipes", "suites"],
    )


def _show(commands: Any) -> None:
    parser = command(
        commands, "show", "print a recipe with every default written out", "loquent show reviews_ppo"
    )
    parser.add_argument(
        "recipe", metavar="RECIPE", help="a recipe's name, a YAML file, or the folder of a run"
    )
    allow_imports(parser, "a recipe")
    overrides(parser)


def _import(commands: Any) -> None:
    parser = command(
        commands,
        "import",
        "convert another library's settings into a recipe, and report each key that has no counterpart",
        "loquent import rl4lms gpt2_nlpo.yml",
    )
    parser.add_argument("library", choices=["rl4lms"], help="the library that the settings belong to")
    parser.add_argument("file", metavar="FILE", help="a YAML file of RL4LMs")
    parser.add_argument(
        "--out",
        metavar="RECIPE",
        help="the recipe's file (default: the name of FILE with .yaml, in the current folder)",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="write the recipe even if its objective or its algorithm differs",
    )


def _help(commands: Any) -> None:
    parser = command(
        commands,
        "help",
        "print the meaning of a setting, its default, range and source",
        "loquent help clip",
        "loquent help nlpo",
    )
    parser.add_argument("setting", metavar="SETTING", help="a setting, an algorithm or a task")
