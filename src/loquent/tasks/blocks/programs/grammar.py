"""The text of a program as a syntax tree of bounded size. The text is parsed, never executed."""

from __future__ import annotations

import ast
import re

from loquent.errors import ProgramBudgetError, ProgramError

LENGTH, NODES, DEPTH = 1_000, 400, 40  # most characters, nodes of the tree, nested nodes
FOREIGN = re.compile(r"[^A-Za-z0-9_.,()\[\]{}:=<>!+% \t\r\n]")
ODD_NUMBER = re.compile(r"(?<![A-Za-z0-9_])[0-9][0-9_]*[A-Za-z_.]")


def parse(text: str) -> ast.expr:
    """The syntax tree of a program.

    Only characters of the language reach Python's parser, so no string, number with letters or comment does.

    Raises:
        ProgramBudgetError: the text has more than `LENGTH` characters without the blanks at both ends, or the
            tree more than `NODES` nodes or `DEPTH` levels.
        ProgramError: the text has a character that the language does not use, or is not one expression.
    """
    if not isinstance(text, str):
        raise ProgramError(f"a program is a text, got {type(text).__name__}")
    text = text.strip()
    if len(text) > LENGTH:
        raise ProgramBudgetError(f"it has {len(text):,} characters; at most {LENGTH:,} are read")
    for pattern, what in ((FOREIGN, "the language has no"), (ODD_NUMBER, "numbers are whole, as 2, not")):
        foreign = pattern.search(text)
        if foreign:
            raise ProgramError(f"column {foreign.start() + 1}: {what} {foreign.group()!a}")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ProgramError(f"column {error.offset or 1}: it is not an expression ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError):  # thousands of digits; brackets nested too deep
        raise ProgramBudgetError("it is nested too deep, or has too long a number, to be parsed") from None
    _bound(tree)
    return tree


def _bound(tree: ast.expr) -> None:
    """Refuse a tree with too many nodes or levels."""
    level: list[ast.AST] = [tree]
    nodes = depth = 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > NODES:
            raise ProgramBudgetError(f"it has more than {NODES} nodes")
        if depth > DEPTH:
            raise ProgramBudgetError(f"it is nested more than {DEPTH} levels deep")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def size(tree: ast.expr) -> int:
    """The number of nodes of a tree."""
    return sum(1 for _ in ast.walk(tree))
