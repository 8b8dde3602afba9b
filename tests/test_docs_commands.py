"""Every command that a page shows can be typed: its options exist, its names are registered, and nothing is
installed from where it is not.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from loquent.bench import suite
from loquent.cli import main as cli
from loquent.cli.grammar.options import CommandOptions, argument, option
from loquent.cli.grammar.summaries import COMMANDS
from loquent.core import registry
from loquent.errors import MissingExtra
from loquent.training import recipes
from tools import commands as commands_page

HERE = Path(__file__).resolve().parents[1]
PAGES = [HERE / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")]
PAGES += [*sorted((HERE / "docs").rglob("*.md")), *sorted((HERE / "src").rglob("*.md"))]
COMMAND = re.compile(
    r"(?:^\$ |^|&& |`)loquent ((?:[^`\n\\]|\\\n)+)(?=[`\n]|\Z)(?!\n[^\n]* is named )", re.MULTILINE
)  # an error may be shown too
CELL = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
INSTALL = re.compile(r"pip3? install ((?:[^`\n\\]|\\\n)+)")
NAMES = {
    "train": "recipe",
    "show": "recipe",
    "annotate": "recipe",
    "bench": "suite",
    "play": "task",
    "check": "task",
    "collect": "task",
}


def known(kind):
    return {"recipe": recipes.names, "suite": suite.names, "task": lambda: registry.names("task")}[kind]()


def commands(text):
    """The words after `loquent` of each command of a page, without a shell's comment and what is behind a
    pipe.
    """
    return [shlex.split(found.replace("\\\n", " "), comments=True) for found in COMMAND.findall(text)]


def wrong(words):
    """Why a command cannot be typed so; empty where it can.

    Words in capitals stand for what the reader puts there, brackets for what may be left out.
    """
    words = words[: words.index("|")] if "|" in words else words
    words = [
        re.sub(r"[\[\]]", "", word)
        for word in words
        if word not in ("...", "…") and not word.startswith("...")
    ]
    words = ["1" if re.fullmatch(r"[A-Z]", word) or word == "SHARE" else word for word in words]
    words = ["tasks" if word == "KIND" else word for word in words]
    if len(words) == 1:  # a command by its name
        words.append("--help")
    try:
        arguments = cli.parse_command(words)
    except SystemExit as end:
        return f"it ends with {end.code}" if end.code else ""
    kind = NAMES.get(words[0])
    name = getattr(arguments, kind, None) if kind else None
    own = (
        name is None
        or name.isupper()
        or ":" in name
        or name.startswith("runs/")
        or name.endswith((".yaml", ".yml", ".jsonl"))
    )
    return "" if own or name in known(kind) else f"there is no {kind} {name!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HERE)))
def test_every_command_of_a_page_can_be_typed(page, capsys):
    found = {
        " ".join(words): wrong(words)
        for words in commands(page.read_text(encoding="utf-8"))
        if words[0] != "is"
    }
    assert {line: why for line, why in found.items() if why} == {}, capsys.readouterr().err


def test_every_command_has_a_line_in_the_table_that_can_be_typed():
    lines = [
        shlex.split(cell)
        for cell in CELL.findall((HERE / "docs" / "command-line.md").read_text(encoding="utf-8"))
    ]
    assert {words[0] for words in lines} == set(COMMANDS)
    assert {" ".join(words): why for words in lines if (why := wrong(words))} == {}


@dataclass(frozen=True, kw_only=True)
class Example(CommandOptions):
    examples = ("loquent list x",)
    kind: str = option("a", "", "a or b", choices=("a", "b"))
    share: float = option(1, "P", "100% | a part", low=0, high=1)
    words: tuple[str, ...] = argument("WORD", "any words", ())


def test_the_page_of_options_is_made_of_the_commands():
    assert commands_page.PAGE.read_text(encoding="utf-8") == commands_page.page(), (
        "run python -m tools.commands"
    )
    rows = commands_page.section("list", Example).splitlines()[-4:]
    assert rows == [
        "|---|---|",
        "| `WORD` | any words |",
        "| `--kind {a,b}` | a or b (default a) |",
        "| `--share P` | 100% \\| a part (in [0, 1]; default 1) |",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "trian x",
        "train --out x",
        "train no_such_recipe",
        "play wordle --agnet expert",
        "bench nothing",
        "convert a b --top 7",
    ],
)
def test_a_command_that_cannot_be_typed_is_seen(line):
    (words,) = commands(f"As in `loquent {line}`.")
    assert wrong(words)


def unavailable(text):
    """What pip is told to install by the name `loquent`, which no index has: not from a clone (`.`) and not
    from a wheel.
    """
    lines = [line.partition("&&")[0] for line in INSTALL.findall(text)]
    return [
        line
        for line in lines
        if any(re.match(r"loquent\b(?!.*\.whl)", word.strip("'\"")) for word in line.split())
    ]


def test_nothing_is_installed_from_an_index_that_does_not_have_it():
    texts = {
        page.name: page.read_text(encoding="utf-8")
        for page in (*PAGES, *sorted((HERE / "src").rglob("*.py")))
    }
    texts["MissingExtra"] = str(MissingExtra("x", "train"))
    assert {name: found for name, text in texts.items() if (found := unavailable(text))} == {}
    assert unavailable("`pip install 'loquent[train]'`")
    assert unavailable("pip install loquent && loquent quickstart")
    assert not unavailable("pip install -e '.[train]'\npip install dist/loquent-0.1.0-py3-none-any.whl")
