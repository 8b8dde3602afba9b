"""`loquent import`: converts settings or data of others, and reports what is missing."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loquent.cli.convert import rl4lms
from loquent.core import registry
from loquent.errors import BadSetting
from loquent.files import atomic


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Import settings as a recipe, or the data of a task as its published files."""
    return _recipe(arguments) if arguments.library == "rl4lms" else _data(arguments)


def _recipe(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the recipe, and list each key of the file on stderr.

    A key is listed with its setting, or with the reason why it has none.
    """
    if len(arguments.files) != 1:
        raise BadSetting(f"import rl4lms takes one file, got {len(arguments.files)}; import each by itself")
    recipe = rl4lms.convert(arguments.files[0], accept_changes=arguments.accept_changes)
    out = Path(arguments.out or f"{recipe.name}.yaml")
    if out.exists():
        raise BadSetting(f"{out} exists already; name another file with --out")
    for note in recipe.notes:
        print(f"{note.place} {note.text}", file=sys.stderr)
    atomic.write_text(out, recipe.text)
    taken = sum(bool(note.target) for note in recipe.notes)
    print(
        f"{taken} keys taken over, {len(recipe.reported)} remarks (also in the recipe's comments); "
        f"the recipe is in {out}"
    )
    for note in recipe.changed:
        print(f"changed: {note.text}")
    for note in recipe.missing:
        print(f"missing: {note.text}")
    kinds = {
        "changed": [note.key for note in recipe.changed],
        "missing": [note.key for note in recipe.missing],
    }
    return 0, {"recipe": str(out), "taken": taken, **kinds, "notes": [asdict(note) for note in recipe.notes]}


def _data(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the files that the folders give, and print what the importer of the task reports."""
    if arguments.accept_changes:
        raise BadSetting(f"--accept-changes belongs to import rl4lms; leave it out for {arguments.library}")
    write = registry.import_name(registry.imports()[arguments.library])
    lines, report = write([Path(each) for each in arguments.files], Path(arguments.out or "."))
    for line in lines:
        print(line)
    return 0, report
