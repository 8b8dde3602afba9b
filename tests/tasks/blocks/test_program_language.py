"""The program language: what it accepts, hostile texts, budgets, and published programs against labels."""

import ast
import inspect
import pickle
import pkgutil
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from loquent.errors import ProgramBudgetError, ProgramError
from loquent.tasks.blocks import programs
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.nlvr.statement_files import find, read
from loquent.tasks.blocks.programs import meter
from loquent.tasks.blocks.programs.functions import BROKEN
from loquent.tasks.blocks.programs.program import _compiled, compile_program
from loquent.tasks.blocks.sources import builtin

FULL = tuple(tuple(tower_block(level, color) for level in range(4)) for color in range(3))
CASES = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text("utf-8"))
HOSTILE, OTHERS = CASES["hostile"], CASES["others"]


@pytest.mark.parametrize(("text", "why"), [*HOSTILE.values(), *OTHERS.values()], ids=[*HOSTILE, *OTHERS])
def test_a_text_outside_of_the_language_is_refused(text, why):
    with pytest.raises(ProgramError, match=why):
        compile_program(text)


def test_there_are_eighteen_hostile_probes():
    assert len(HOSTILE) == 18


def test_a_program_that_is_no_text_is_refused():
    with pytest.raises(ProgramError, match="a program is a text, got bytes"):
        compile_program(b"exist(all_items)")


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_functions_that_are_broken_in_lilgym_are_named(name):
    with pytest.raises(ProgramError, match=f"{name} is broken in lilGym"):
        compile_program(f"exist(filter_obj(all_items, lambda x: {name}(x)))")
    with pytest.raises(ProgramError, match=f"{name} is broken in lilGym"):
        compile_program(f"exist(filter_obj(all_items, {name}))")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "exist(all_items)" + " and exist(all_items)" * 60,
            "it has 1,276 characters; at most 1,000 are read",
        ),
        ("[" + ",".join("1" * 1 for _ in range(499)) + "]", "it has more than 400 nodes"),
        ("NOT(" * 45 + "exist(all_items)" + ")" * 45, "it is nested more than 40 levels deep"),
        ("(" * 450 + ")" * 450, "it is nested too deep|not an expression"),
        ("not " * 240 + "1", "it is nested more than 40 levels deep|more than 400 nodes"),
    ],
)
def test_a_text_is_bounded(text, why):
    with pytest.raises(ProgramError, match=why):
        compile_program(text)


def test_the_bounds_are_exact():
    compile_program("exist(all_items)" + " " * 2000)  # blanks at the end do not count
    text = "1==" + "1" + "==1" * 332
    assert len(text) == 1000
    with pytest.raises(ProgramBudgetError, match="more than 400 nodes"):
        compile_program(text)
    compile_program("not " * 19 + "exist(all_items)")
    with pytest.raises(ProgramBudgetError, match="at most 1,000"):
        compile_program(text + "1")


LETTERS = "abcdefg"


def nested(first, step, last):
    """A program with `Any` in `Any`: each lambda gets a value made of the outer lambda's value."""
    text, inner = f"Any([{first}], lambda a: ", 1
    for outer, name in pairwise(LETTERS):
        text, inner = text + f"Any({step.format(outer)}, lambda {name}: ", inner + 1
    return text + last.format(LETTERS[-1]) + ")" * inner


BOMBS = {
    "groups of groups": "exist(combinations(combinations(combinations(all_items, 3), 3), 3))",
    "a list that doubles": nested(
        "all_items", "[{0} + {0} + {0} + {0} + {0} + {0}]", "exist({0} + {0} + {0})"
    ),
    "a value that holds itself often": nested(
        "all_items", "[[{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}]]", "[{0}] == [{0}]"
    ),
    "hashes of tuples in tuples": nested(
        "all_items[0]",
        "combinations([{0}, {0}, {0}, {0}], 3)",
        "NOT(exist(set(combinations([{0}, {0}, {0}], 3))))",
    ),
    "nested loops": nested("1", "all_items", "{0} == 1"),
    "pairs of long lists": "contained(combinations(all_items, 3) + combinations(all_items, 3), "
    "combinations(all_items + all_items, 3))",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_work_is_bounded(text):
    """Stopped by the budget, and before many more operations than it allows."""
    program, calls = compile_program(text, "bomb"), 0

    def counted(frame, event, argument):
        nonlocal calls
        calls += 1

    sys.setprofile(counted)
    try:
        with pytest.raises(
            ProgramBudgetError, match=r"program bomb: it needs more than 2,000,000 units of work"
        ):
            program.compute(FULL)
    finally:
        sys.setprofile(None)
    assert calls < 5 * meter.WORK


def test_a_large_board_is_refused():
    program = compile_program("exist(all_items)")
    assert program((tuple(Item(0, 0, 0, 0, 10) for _ in range(100)), (), ()))
    with pytest.raises(ProgramBudgetError, match="the board has 101 items"):
        program((tuple(Item(0, 0, 0, 0, 10) for _ in range(101)), (), ()))


def test_lambdas_see_the_innermost_parameter():
    """Published programs use one name for parameters of nested lambdas."""
    program = compile_program(
        "Any(all_boxes, lambda x: x.is_tower() and All(x, lambda x: is_black(x)) and exist(x))"
    )
    assert program(((tower_block(0, 1),), (tower_block(0, 2),), ()))
    assert not program(((), (tower_block(0, 2),), ()))


def test_programs_and_truths_are_kept():
    text = "exist(filter_obj(all_items, is_black))"
    assert compile_program(text) is compile_program(text)
    program = compile_program(text)
    assert pickle.loads(pickle.dumps(program)) is program
    assert program(EMPTY_BOARD) is False
    assert program(FULL) is True
    program._compute = None  # values that are kept are not computed again
    try:
        assert program(EMPTY_BOARD) is False
    finally:
        _compiled.cache_clear()


def test_no_module_of_the_language_runs_text_as_python():
    for module in pkgutil.iter_modules(programs.__path__):
        source = inspect.getsource(import_module(f"{programs.__name__}.{module.name}"))
        called = {node.func.id for node in ast.walk(ast.parse(source)) if _calls_a_name(node)}
        assert called.isdisjoint({"eval", "exec", "compile", "__import__"}), module.name


def _calls_a_name(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.data
@pytest.mark.parametrize("appearance", ["tower", "scatter"])
def test_published_programs_have_their_labels(beside, appearance):
    """All states with boards; training labels are the programs' values already."""
    checked = 0
    for split in ("dev", "train"):
        for each in read(find(beside / "data/lilgym", appearance, "flipit", split)).statements.values():
            assert compile_program(each.program)(each.board) is each.label, each.id
            checked += 1
    assert checked == {"tower": 676 + 1656, "scatter": 313 + 1866}[appearance]


@pytest.mark.data
@pytest.mark.parametrize(
    ("appearance", "split", "right"),
    [("tower", "train", 25), ("tower", "dev", 4), ("scatter", "train", 64), ("scatter", "dev", 4)],
)
def test_published_programs_that_are_true_on_the_empty_board(beside, appearance, split, right):
    statements = read(find(beside / "data/lilgym", appearance, "scratch", split)).statements.values()
    assert sum(compile_program(each.program)(EMPTY_BOARD) for each in statements) == right


def test_builtin_programs_are_in_the_language():
    for appearance in ("tower", "scatter"):
        for each in builtin.statements(appearance)[::10]:
            assert type(compile_program(each["program"])(EMPTY_BOARD)) is bool
