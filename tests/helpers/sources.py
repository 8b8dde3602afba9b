"""The modules of the package, parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2] / "src" / "loquent"


@cache
def tree(file):
    """The syntax of a file of the package; nobody changes it."""
    return ast.parse(file.read_text(encoding="utf-8"))
