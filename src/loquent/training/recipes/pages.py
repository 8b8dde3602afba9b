"""Comments at the top of the recipes: what a recipe does, and commands that make a folder."""

from __future__ import annotations

import re
from pathlib import PurePath

from loquent.core.catalogue import DEFAULT_TASK
from loquent.training.recipes.loading import Files, built_in, tree

TRAINS = re.compile(r"^#.*\b(loquent train \S+(?: --profile \S+)? --out (\S+))", re.MULTILINE)


def maker(folder: str) -> str:
    """The command in a built-in recipe that makes this folder, or "" if no recipe has one."""
    for _, files in sorted(built_in().items()):
        for command, out in TRAINS.findall(_text(files)):
            if PurePath(out) == PurePath(folder):
                return str(command)
    return ""


def summary(files: Files) -> str:
    """The first line of a recipe: what it does, and after two spaces a command."""
    return _first(_text(files))


def heading(files: Files) -> str:
    """The group of a recipe: what the file of its dataset says first, or the kind of its task."""
    if len(files) > 1:
        return _first(files[0].read_text(encoding="utf-8")).rstrip(".")
    task = tree(files).mapping("a recipe").get("task")
    kind = task.value.get("kind") if task and isinstance(task.value, dict) else task
    return str(kind.value if kind else DEFAULT_TASK)


def _text(files: Files) -> str:
    """The text of a recipe's file, or of its method's with the dataset's name in place of DATASET."""
    text = files[-1].read_text(encoding="utf-8")
    return text if len(files) == 1 else text.replace("DATASET", files[0].stem)


def _first(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")
