"""Commands in the comments at the top of the built-in recipes."""

from __future__ import annotations

import re
from pathlib import PurePath

from loquent.recipes.loading import built_in

TRAINS = re.compile(r"^#.*\b(loquent train \S+ --out (\S+))", re.MULTILINE)


def maker(folder: str) -> str:
    """The command in a built-in recipe that makes this folder, or "" if no recipe has one."""
    for _, file in sorted(built_in().items()):
        for command, out in TRAINS.findall(file.read_text(encoding="utf-8")):
            if PurePath(out) == PurePath(folder):
                return str(command)
    return ""
