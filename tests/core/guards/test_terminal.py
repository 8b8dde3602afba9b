"""What reaches a terminal: nothing that others wrote can move its cursor."""

import ast
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from helpers.sources import HOUSE, nodes
from loquent.core.guards.terminal import Guard, escape_text, line, write_own


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 你 🙂", "plain\n\ttext é 你 🙂"),
        ("می‌خواهم 👩‍🚀", "می‌خواهم 👩‍🚀"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\rb\0\x7f\x9b", "a\\rb\\x00\\x7f\\x9b"),
        ("\u202eabc\u2066\u200b", "\\u202eabc\\u2066\\u200b"),
        ("\u2028\ud800", "\\u2028\\ud800"),
    ],
)
def test_control_characters_are_spelled_out(text, shown):
    assert escape_text(text) == shown


@given(st.text(st.characters()))
def test_nothing_that_moves_a_cursor_is_shown(text):
    shown = escape_text(text)
    shown.encode("utf-8")
    assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
    assert not any(127 <= ord(char) < 160 for char in shown)


def test_a_name_stays_in_its_line():
    assert line("a\nloquent: all is well\t\x1b[2J") == "a\\nloquent: all is well\\t\\x1b[2J"


def test_a_guard_escapes_whatever_is_written():
    stream = io.StringIO()
    print("a", "\x1b]0;x\x07", "\rb", "é\tc", file=Guard(stream))
    Guard(stream).writelines(["\x9b", "\u202e\n"])
    assert stream.getvalue() == "a \\x1b]0;x\\x07 \\rb é\tc\n\\x9b\\u202e\n"


def test_a_carriage_return_overwrites_a_bar_and_nothing_else():
    stream = io.StringIO()
    guard = Guard(stream)
    guard.write("\r10%")
    guard.write("\r20%\x1b[2J")
    guard.write("\n")
    guard.write("an error: ")
    guard.write("\rall is well")
    assert stream.getvalue() == "10%\r20%\\x1b[2J\nan error: \\rall is well"


def test_a_bar_works_behind_a_guard():
    stream = io.StringIO()
    for left in (True, False):
        with tqdm(total=3, desc=line("a\rb\x1b[2J\n"), file=Guard(stream), mininterval=0, leave=left) as bar:
            for _ in range(3):
                bar.update()
            bar.set_postfix({"a": "\x1b[2J"})
    assert "100%" in stream.getvalue()
    assert "\\r" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1
    assert "\\r" not in stream.getvalue().replace("a\\rb", ""), "carriage returns of the bar are its own"


@pytest.mark.parametrize("guarded", [True, False])
def test_colours_are_ours_alone(guarded):
    stream = io.StringIO()
    out = Guard(stream) if guarded else stream
    write_own(out, "\x1b[1;32mok\x1b[0m \x1b[2J \x1b]0;x\x07\n")
    assert stream.getvalue() == "\x1b[1;32mok\x1b[0m \\x1b[2J \\x1b]0;x\\x07\n"
    print("\x1b[1;32m", file=Guard(stream))
    assert stream.getvalue().endswith("\\x1b[1;32m\n")


def test_what_an_encoding_cannot_write_is_spelled_out():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print("é", file=Guard(stream), flush=True)
    assert raw.getvalue() == b"\\xe9\n"


def test_no_file_goes_round_the_guard():
    found = {str(file): faults(nodes(file), file.name) for file in HOUSE.rglob("*.py")}
    assert len(found) > 300
    assert {name: places for name, places in found.items() if places} == {}


def test_a_way_round_the_guard_is_caught():
    for text in (
        "sys.__stderr__.write(x)",
        "sys.stdout.buffer.write(x)",
        "os.write(1, x)",
        "tqdm(desc=recipe.name)",
        "get_context('spawn')",
        "write_own(out, x)",
    ):
        assert len(faults_of(text)) == 1, text
    fine = "tqdm(desc=line(recipe.name)); tqdm(desc='scoring'); print(x, file=sys.stderr)"
    assert faults_of(fine) == []


def faults_of(text):
    return faults(list(ast.walk(ast.parse(text))), "other.py")


def faults(nodes, name):
    """The places of a source where text could reach a terminal unescaped."""
    found = []
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    names = [dotted(call.func) for call in calls]
    found += [
        f"{node.lineno}: {node.attr}" for node in attributes if node.attr in ("__stdout__", "__stderr__")
    ]
    found += [
        f"{node.lineno}: stdout's buffer"
        for node in attributes
        if dotted(node) in ("sys.stdout.buffer", "sys.stderr.buffer")
    ]
    found += [
        f"{call.lineno}: {name}"
        for call, name in zip(calls, names, strict=True)
        if name in ("os.write", "faulthandler.enable")
    ]
    for call, called in zip(calls, names, strict=True):
        if called.endswith("tqdm"):
            [desc] = [one.value for one in call.keywords if one.arg == "desc"]
            made = [
                ast.unparse(node.value)
                for node in nodes
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == ast.unparse(desc)
            ]
            if not isinstance(desc, ast.Constant) and not all(
                text.startswith("line(") for text in made or [ast.unparse(desc)]
            ):
                found.append(f"{call.lineno}: a bar's name must be a line(...)")
    if "get_context" in names and "guard" not in names:
        found.append("a process of our own begins with guard()")
    if "write_own" in names and name not in ("terminal.py", "human.py", "play.py"):
        found.append("colours are written by the human player alone")
    return found


def dotted(node):
    """`a.b.c` of names; "" of what is no name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
