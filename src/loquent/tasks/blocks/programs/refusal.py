"""The errors of programs that can be parsed and are not in the language."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from loquent.errors import ProgramError


def refusal(node: ast.expr, why: str) -> ProgramError:
    """An error with the column of a node."""
    return ProgramError(f"column {node.col_offset + 1}: {why}")


def unknown(node: ast.expr, what: str, name: str, known: Iterable[str]) -> ProgramError:
    """An error about an unknown name, with the nearest known name."""
    near = difflib.get_close_matches(name, known, 1)
    return refusal(node, f"unknown {what} {name!r:.60}" + (f"; the nearest is {near[0]!r}" if near else ""))
