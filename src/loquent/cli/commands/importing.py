"""`loquent import`: converts settings or data of others, and reports what is missing."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loquent.cli.convert import rl4lms
from loquent.cli.grammar.options import CommandOptions, argument, option
from loquent.core import registry
from loquent.errors import BadSetting
from loquent.files import atomic


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent import`."""

    examples = ("loquent import rl4lms gpt2_nlpo.yml", "loquent import nlvr nlvr lilgym --out data")
    library: str = argument(
        "",
        "rl4lms: settings, which become a recipe; nlvr: examples, which become lilGym's flip-it files",
        choices=("rl4lms", *sorted(registry.imports())),
    )
    files: tuple[str, ...] = argument(
        "FILE", "rl4lms: a YAML file; nlvr: NLVR's folder, and the folder with lilGym's files from scratch"
    )
    out: str | None = option(
        None,
        "OUT",
        "rl4lms: the recipe's file (default: the name of FILE with .yaml, in the current folder); nlvr: the "
        "folder for the files (default: the current folder)",
    )
    accept_changes: bool = option(
        False, "", "rl4lms: write the recipe even if its objective or its algorithm differs"
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Import settings as a recipe, or the data of a task as its published files."""
    return _recipe(options) if options.library == "rl4lms" else _data(options)


def _recipe(options: Options) -> tuple[int, dict[str, Any]]:
    """Write the recipe, and list each key of the file on stderr.

    A key is listed with its setting, or with the reason why it has none.
    """
    if len(options.files) != 1:
        raise BadSetting(f"import rl4lms takes one file, got {len(options.files)}; import each by itself")
    recipe = rl4lms.convert(options.files[0], accept_changes=options.accept_changes)
    out = Path(options.out or f"{recipe.name}.yaml")
    if out.exists():
        raise BadSetting(f"{out} exists already; name another file with --out")
    for note in recipe.notes:
        print(f"{note.place} {note.text}", file=sys.stderr)
    atomic.write_text(out, recipe.text)
    taken = sum(bool(note.target) for note in recipe.notes)
    print(
        f"{taken} keys taken over, {len(recipe.omissions)} remarks (also in the recipe's comments); "
        f"the recipe is in {out}"
    )
    for note in recipe.changes:
        print(f"changed: {note.text}")
    for note in recipe.missing:
        print(f"missing: {note.text}")
    kinds = {
        "changed": [note.key for note in recipe.changes],
        "missing": [note.key for note in recipe.missing],
    }
    return 0, {"recipe": str(out), "taken": taken, **kinds, "notes": [asdict(note) for note in recipe.notes]}


def _data(options: Options) -> tuple[int, dict[str, Any]]:
    """Write the files that the folders give, and print what the importer of the task reports."""
    if options.accept_changes:
        raise BadSetting(f"--accept-changes belongs to import rl4lms; leave it out for {options.library}")
    write = registry.import_name(registry.imports()[options.library])
    lines, report = write([Path(each) for each in options.files], Path(options.out or "."))
    for line in lines:
        print(line)
    return 0, report
