"""Options of commands: fields of a dataclass; and the options that several commands have in common."""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar

from loquent.core.settings import setting

REQUIRED = MISSING  # the default of an option or an argument that must be given
KEY_VALUE = "an option of the task as key=value, or of the agent as agent.key=value; may be repeated"
SETTINGS = "key.path=value"


def option(default: Any, shown: str, why: str, **limits: Any) -> Any:
    """A field that is an option, such as `--max-new-tokens N`; a bool is a flag, a tuple may be repeated.

    Args:
        default: the default value, or REQUIRED.
        shown: what stands for the value in the help, such as N; empty for a flag or for choices.
        limits: `low`, `high` and `choices` of `setting`.
    """
    field = setting(default, why, **limits)
    return dataclasses.field(default=default, metadata={**field.metadata, "shown": shown})


def argument(shown: str, why: str, default: Any = REQUIRED, *, settings: bool = False, **limits: Any) -> Any:
    """A field that is read by its position; the words of a tuple may also follow options.

    Args:
        shown: what stands for the value in the help, such as RECIPE; empty for choices.
        settings: whether every word must have the form `key=value`.
    """
    field = option(default, shown, why, **limits)
    return dataclasses.field(
        default=default, metadata={**field.metadata, "positional": True, "settings": settings}
    )


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of every command."""

    examples: ClassVar[tuple[str, ...]] = ()
    """Command lines for the help."""
    command: str = ""
    json: bool = option(False, "", "print one JSON object as the last line")
    debug: bool = option(False, "", "show the traceback of an error")


@dataclass(frozen=True, kw_only=True)
class Seeded(CommandOptions):
    """Options of a command that draws."""

    seed: int = option(0, "N", "the seed of all draws", low=0)


@dataclass(frozen=True, kw_only=True)
class Importing(CommandOptions):
    """Options of a command that runs what a file describes."""

    allow_imports: bool = option(
        False,
        "",
        "import the code that the file of a recipe, a run or a suite names, even if the file lies outside "
        "the current folder (docs/running-others-recipes.md)",
    )


@dataclass(frozen=True, kw_only=True)
class Overriding(CommandOptions):
    """Options of a command that replaces settings of a recipe."""

    overrides: tuple[str, ...] = argument(SETTINGS, "settings that replace the recipe's", (), settings=True)
    profile: str | None = option(
        None, "NAME", "smoke: two tiny updates, to check that everything runs; or a profile of the recipe"
    )


@dataclass(frozen=True, kw_only=True)
class OfTask(CommandOptions):
    """Options of a command that makes a task."""

    task: str = argument("TASK", "a task's name (loquent list tasks) or module:Class")
    overrides: tuple[str, ...] = argument(
        "task.key=value", "options of the task, or agent.key=value of the agent", (), settings=True
    )
    option: tuple[str, ...] = option((), "KEY=VALUE", KEY_VALUE)

    @property
    def settings(self) -> tuple[str, ...]:
        """All options of the task and of its agents, as `key=value`."""
        return (*self.overrides, *self.option)


@dataclass(frozen=True, kw_only=True)
class OfEpisodes(OfTask, Seeded, Importing):
    """Options of a command that plays episodes of a task."""

    split: str = option("train", "SPLIT", "the split to take rows from")
