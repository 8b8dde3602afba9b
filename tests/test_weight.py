"""The lines of code of each room and of `tools` have a limit; docstrings and comments do not count.

Lines of templates count too.

A limit is raised only in the commit that says why; a room that became lighter gets its new number.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
HOUSE, TOOLS = HERE / "src" / "loquent", HERE / "tools"
SHARE_OF_TESTS = 0.975  # lines of tests for each line of the package and the corpora; 0.95 is the aim
SLACK = 10  # lines that a small mend may add
LIMITS = {
    "adapters": 1_181,
    "agents": 1_080,
    "algorithms": 5_495,
    "bench": 7_109,
    "cli": 3_608,
    "core": 4_049,
    "corpora": 1_552,
    "data": 4_951,
    "door": 348,
    "files": 1_762,
    "metrics": 5_383,
    "models": 7_260,
    "pretrained": 3_565,
    "report": 2_862,
    "rewards": 1_515,
    "statistics": 1_160,
    "tasks": 13_486,
    "tools": 4_836,
    "training": 5_398,
}
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text):
    """The lines of a module that hold code."""
    lines = {
        number
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            lines.update(range(node.lineno, node.end_lineno + 1))  # blank lines within a text too
        elif isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            docstrings.update(range(docstring.lineno, docstring.end_lineno + 1))
    return len(lines - docstrings)


def room_of(file):
    """The room whose limit a file counts in."""
    if TOOLS in file.parents:
        return "corpora" if TOOLS / "corpora" in file.parents else "tools"
    place = file.relative_to(HOUSE).parts
    return place[0] if len(place) > 1 else "door"


@cache
def rooms():
    counts = Counter()
    for file in (*HOUSE.rglob("*.py"), *TOOLS.rglob("*.py")):
        counts[room_of(file)] += code_lines(file.read_text(encoding="utf-8"))
    for file in HOUSE.rglob("templates/*"):
        lines = file.read_text(encoding="utf-8").splitlines()
        counts[file.relative_to(HOUSE).parts[0]] += sum(map(bool, map(str.strip, lines)))
    return counts


def test_each_room_keeps_its_limit():
    counts = rooms()
    assert counts.keys() == LIMITS.keys()
    heavy = {room: (count, LIMITS[room]) for room, count in counts.items() if count > LIMITS[room] + SLACK}
    assert heavy == {}, "lines of code and limit: make the room lighter, or raise its limit and say why"


def test_a_limit_is_near_the_number_of_lines():
    light = {room: (count, LIMITS[room]) for room, count in rooms().items() if count < LIMITS[room] - 100}
    assert light == {}, "lines of code and limit: lower the limit"


def test_the_tests_are_lighter_than_what_they_test():
    tests = sum(code_lines(file.read_text(encoding="utf-8")) for file in Path(__file__).parent.rglob("*.py"))
    code = rooms().total() - rooms()["tools"]  # programs for the studies have no tests of their own
    assert tests <= SHARE_OF_TESTS * code, f"{tests:,} lines of tests: share what is equal"


def test_every_program_counts_in_one_room():
    assert room_of(TOOLS / "names.py") == room_of(TOOLS / "studies" / "a.py") == "tools"
    assert room_of(TOOLS / "corpora" / "a.py") == "corpora"
    assert (room_of(HOUSE / "a.py"), room_of(HOUSE / "cli" / "commands" / "a.py")) == ("door", "cli")


def test_only_lines_of_code_count():
    docstring = '    """Docs.\n\n    More.\n    """'
    text = f"import os  # why\n\n# more\ndef f(\n    x,\n):\n{docstring}\n    return '''\n\n# a\n'''\n"
    assert code_lines(text) == 8  # import, three lines of def, four of return
