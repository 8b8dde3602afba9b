"""The modules of the package, parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2] / "src" / "loquent"


@cache
def nodes(file):
    """All nodes of the syntax of a file, the module first; nobody changes them."""
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
