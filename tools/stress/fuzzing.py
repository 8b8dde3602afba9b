"""Mutations of programs: whatever the text, reading and running it ends in a bool or in an error of ours.

    python -m tools.stress.fuzzing 100000 [--seed 0] [--path FOLDER]

prints one JSON object; the exit code is 1 where something else was raised, or where text was executed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from loquent.core.guards.json_files import show
from loquent.errors import ProgramBudgetError, ProgramError
from loquent.tasks.blocks import programs
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Board, Item, tower_block
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.programs.functions import BROKEN, FUNCTIONS, LOOPS
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.sources import builtin

ROOM = str(Path(programs.__file__).parent)
SLOW = 5.0  # seconds of the processor; an input that takes longer is reported
EXECUTED = ("exec", "import", "open", "os.system", "subprocess.Popen", "ctypes.dlopen", "socket.connect")
NAMES = (
    "Color.BLACK Color.GRAY Shape.CIRCLE Size.SMALL Side.ANY Side.LEFT Color Side ( ) [ ] { } , . : == != "
    "< > <= >= % + not and or in lambda is if else for * ** - / := = # ' \" \\ \x00 \u00e9 \ufb01 __class__ "
    "0 1 2 3 4 99 100 1.5 1e9 0x1 1_0 True None x y z all_boxes all_items"
)
PIECES = (
    "not in|lambda x:|lambda x, y:|lambda x=1:|lambda *x:|\n|1|2|x|x.box|x.is_tower()|x[0]|"
    "x.all_items_in_box()|all_boxes[0]|all_items[0]|[]|{1}|all_boxes[1:]|set()|x.y()|all_items|all_boxes|"
    "Color.BLUE|Shape.SQUARE|Side.LEFT"
)
ODD = (
    "min(all_items)|1 < 2 < 3|100 == 1|1 == +1|select(2, all_items)|filter_obj(all_items, lambda y=1: y)|"
    "is_closely_touching(all_items[0], all_items[1])|intersect_all([])|filter_color(all_boxes, 1)|"
    "is_touching_wall(x, side=Side.TOP)|1 < 2 < 1|1 in [1]|1 not in x|[1] == [1]|{1} != {2}|1 % 0|"
    "[1] + [2]|x[::0]|x(1)(2)|x[y]|[[1], {2}] == x|combinations(combinations(all_items, 3), 3)|"
    "x.is_tower(1)|exist(all_items, side=1)|x.is_tower|combinations(x, 4)|1 < x|-1|x[y:]|x + 1|x % 2|"
    "{x, [y]}|is_touching_wall(all_items[0], 3)|"
    "is_closely_touching_specific_corner(all_items[0], Side.TOP, Side.LEFT)|"
    "set([all_boxes[0]]) == {all_items[0]}|intersect_all([{1}, {2}])|{1: 2}|(1, 2)|min([2, 1])|min([])|"
    "min(all_boxes, key=count)|min(x, 1)|min(x, x=1)|equal([Color.BLUE], Color.BLUE)|"
    "filter_color(all_boxes, Color.BLUE)|not -1|1 * 2|x is y"
)
ARGUMENTS = (
    "x|all_items|[1, 2]|x.box|all_items[0]|2|[{1}, {2}]|{1}",
    "y|2|[2]|Color.BLUE|Side.LEFT|all_boxes|{1}|Shape.CIRCLE|Size.SMALL",
    "x|1|Side.BOTTOM",
)
LOOPED = "is_black|count|lambda z: z|lambda z: 1 == 1|AND|1|lambda _z: 1|lambda count: 1|combinations"
WHOLE = (
    "",
    " ",
    "1",
    "(" * 300,
    "[" * 90 + "]" * 90,
    "[" + "1," * 450 + "1]",
    "NOT(" * 45 + "1" + ")" * 45,
    "NOT(" * 60 + ")" * 60,
    "1+" * 490 + "1",
    "9" * 5000,
    "x" * 900,
)
CALLS = [
    f"{name}({', '.join(values[: function.most])})"
    for name, function in FUNCTIONS.items()
    for values in (
        ("all_items[0]", "Side.LEFT", "Side.TOP"),
        ("all_items", "Color.BLUE"),
        ("[{1}, {2}]", "{2}"),
    )
]
FIRST = (*ODD.split("|"), *WHOLE, *CALLS)  # the first inputs, on the last board but one
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
BOARDS: tuple[Board, ...] = (
    EMPTY_BOARD,
    tuple(tuple(tower_block(level, (level + box) % 3) for level in range(box + 2)) for box in range(3)),
    ((), (tower_block(0, 1),), (tower_block(0, 1), tower_block(1, 1))),
    (
        (Item(0, 0, 0, 1, 20), Item(20, 0, 1, 2, 30), Item(90, 90, 2, 0, 10), Item(2, 69, 1, 1, 30)),
        (Item(80, 80, 1, 0, 20), Item(60, 81, 1, 1, 10)),
        (Item(35, 40, 2, 2, 30),),
    ),
    (tuple(Item(0, 0, 0, 0, 10) for _ in range(101)), (), ()),
)  # fmt: skip


def corpus(folder: Path | None = None) -> list[str]:
    """Programs to mutate: the published ones of a folder, or else a part of the built-in ones."""
    if folder is None:
        return [each["program"] for kind in ("tower", "scatter") for each in builtin.statements(kind)[::5]]
    files = [statement_files.read(file).statements.values() for file in statement_files.find_all(folder)]
    return sorted({each.program for statements in files for each in statements})


def parts(texts: list[str]) -> list[tuple[str, frozenset[str]]]:
    """Expressions that replace parts of programs, with their free names; the oddest come last."""
    trees = [ast.parse(text) for text in texts[::10]]
    real = sorted(
        {ast.unparse(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.expr)}
    )
    calls = [
        f"{name}({', '.join(values)})"
        for name, function in FUNCTIONS.items()
        for count in range(function.least, function.most + 1)
        for values in product(*(each.split("|") for each in ARGUMENTS[:count]))
    ]
    loops = [
        f"{name}({source}, {f})"
        for name, source, f in product(LOOPS, ("all_items", "[]", "x"), LOOPED.split("|"))
    ]
    broken = [f"{name}(all_items)" for name in BROKEN]
    rare = (loops + broken + ODD.split("|")) * 2 + PIECES.split("|") * 10
    return [(text, _free(text)) for text in (*real, *calls, *rare)]


def _free(text: str) -> frozenset[str]:
    """The names in a text that no lambda in it binds and the language does not know."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return frozenset()
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(names & {"x", "y", "z", "color"} - bound)


def mutated(text: str, texts: list[str], swaps: list[tuple[str, frozenset[str]]], draw: random.Random) -> str:
    """A text with one or two changes: of its tree for most texts, of its characters for the others."""
    if draw.random() < 0.01:
        return draw.choice(WHOLE)
    for _ in range(draw.choice((1, 1, 1, 2))):
        text = _regrown(text, swaps, draw) if draw.random() < 0.75 else _retyped(text, texts, draw)
    return text


def _regrown(text: str, swaps: list[tuple[str, frozenset[str]]], draw: random.Random) -> str:
    """The text with a part of its tree replaced; unchanged where it is not an expression in one line.

    Free names of the new part become parameters of the lambdas around it, where there are some.
    """
    line = text.strip()
    try:
        tree = ast.parse(line, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text
    if "\n" in line or not line.isascii():
        return text
    places = list(_places(tree.body, ()))
    node, scope = draw.choice(places)
    new, free = draw.choice(swaps)
    for name in sorted(free):
        new = re.sub(rf"\b{name}\b", draw.choice(scope or ("all_items",)), new)
    return line[: node.col_offset] + new + line[node.end_col_offset :]


def _places(node: ast.AST, scope: tuple[str, ...]) -> Iterator[tuple[ast.expr, tuple[str, ...]]]:
    """Every expression of a tree, with the parameters of the lambdas around it."""
    if isinstance(node, ast.expr):
        yield node, scope
    if isinstance(node, ast.Lambda):
        scope = (*scope, *(each.arg for each in node.args.args))
    for child in ast.iter_child_nodes(node):
        yield from _places(child, scope)


def _retyped(text: str, texts: list[str], draw: random.Random) -> str:
    """The text with a token replaced, removed, repeated or inserted, or with the end of another text."""
    tokens = TOKEN.findall(text) or [""]
    place, kind = draw.randrange(len(tokens)), draw.randrange(5)
    names = (*FUNCTIONS, *LOOPS, *NAMES.split(" "), *PIECES.split("|"))
    if kind == 0:
        tokens[place] = draw.choice(names)
    elif kind == 1:
        del tokens[place]
    elif kind == 2:
        tokens.insert(place, tokens[place])
    elif kind == 3:
        tokens.insert(place, f" {draw.choice(names)} ")
    else:
        other = TOKEN.findall(draw.choice(texts))
        tokens[place:] = other[draw.randrange(len(other)) :]
    return "".join(tokens)


class Covered:
    """The lines of functions in the room of programs that run inside `with`."""

    def __init__(self) -> None:
        self.ran: set[tuple[str, int]] = set()

    def __enter__(self) -> Covered:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(ROOM) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.ran.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def missing(self) -> tuple[int, list[str]]:
        """The number of lines in functions of the room, and those that did not run."""
        lines = {(str(f), line) for f in Path(ROOM).glob("*.py") for line in _lines(f)}
        return len(lines), [f"{Path(file).name}:{line}" for file, line in sorted(lines - self.ran)]


def _lines(file: Path) -> set[int]:
    def within(code: CodeType) -> set[int]:
        inner = [each for each in code.co_consts if isinstance(each, CodeType)]
        own = {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
        classes = code.co_flags & 2 == 0  # the body of a module or a class runs when it is imported
        return (set() if classes else own) | {line for each in inner for line in within(each)}

    return within(compile(file.read_text(encoding="utf-8"), str(file), "exec"))


def fuzz(count: int, seed: int, texts: list[str], covered: int = 0) -> dict[str, Any]:
    """Mutate, compile and run `count` texts; the first `covered` are traced for the lines they reach."""
    draw, swaps, found = random.Random(seed), parts(texts), Counter[str]()
    problems: list[str] = []
    watched, executed = False, []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watched and event in EXECUTED:
            executed.append(f"{event} {arguments!r:.80}")

    sys.addaudithook(watch)
    tracer, begun = Covered(), time.process_time()
    for number in range(count):
        text = mutated(draw.choice(texts), texts, swaps, draw)
        board, started = draw.choices(BOARDS, (10, 20, 20, 50, 1))[0], time.process_time()
        if number < len(FIRST):
            text, board = re.sub(r"\b[xyz]\b", "all_items", FIRST[number]), BOARDS[-2]
        if number < covered:
            tracer.__enter__()
        watched = True
        try:
            kind = _tried(text, board)
        except Exception as error:  # whatever it is, it is a finding
            kind = "untyped"
            problems.append(f"{text!a:.300}: {error!r:.200}")
        finally:
            watched = False
            sys.settrace(None)
        found[kind] += 1
        if number >= covered and time.process_time() - started > SLOW:
            problems.append(f"{text!a:.300}: {time.process_time() - started:.1f} s")
    total, missing = tracer.missing()
    return {
        "inputs": count,
        "seed": seed,
        "corpus": len(texts),
        **found,
        "parsed": round(1 - found["refused"] / count, 4),
        "coverage": round(1 - len(missing) / total, 4) if covered else None,
        "missing": missing if covered else [],
        "executed": executed,
        "problems": problems,
        "seconds": round(time.process_time() - begun, 1),
    }


def _tried(text: str, board: Board) -> str:
    """How a text ended: refused when compiled, or the kind of its value."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            program = compile_program(text)
        except ProgramError as error:
            if "Warning" in str(error):
                raise
            return "refused"
    try:
        value = program(board)
    except ProgramBudgetError:
        return "over_budget"
    except ProgramError:
        return "failed"
    if type(value) is not bool:
        raise TypeError(f"a value that is no bool: {show(value)}")
    return "bool"


def main() -> int:
    """Print the findings as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--path", type=Path)
    arguments = parser.parse_args()
    findings = fuzz(arguments.count, arguments.seed, corpus(arguments.path), covered=10_000)
    print(json.dumps(findings))
    return int(bool(findings["problems"] or findings["executed"]))


if __name__ == "__main__":
    sys.exit(main())
