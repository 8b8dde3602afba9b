"""The grammar of the command line, its exit codes, and what it says when something is wrong."""

import errno
import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from loquent.cli import main as cli
from loquent.cli.grammar.options import CommandOptions, argument, option
from loquent.cli.grammar.parser import arguments, parser, read
from loquent.cli.grammar.summaries import COMMANDS, MODULES, module


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert re.search(rf"example:\n  loquent {name} ", text)
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 80
    shown = text.partition("example:\n")[2].replace("\\\n", "")
    assert list(map(shlex.split, shown.splitlines())) == list(
        map(shlex.split, cli.module(name).Options.examples)
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_module_with_options_from_which_its_examples_are_read(name):
    own = module(name)
    assert callable(own.run)
    for line in own.Options.examples:
        options = cli.parse_command(shlex.split(line)[1:])
        assert options.command == shlex.split(line)[1]
        if options.command == name:
            assert type(options) is own.Options


def test_every_module_with_options_is_in_the_overview():
    folder = Path(cli.__file__).parent / "commands"
    names = {file.stem for file in folder.glob("*.py") if "class Options(" in file.read_text("utf-8")}
    assert {MODULES.get(name, name) for name in COMMANDS} == names


@dataclass(frozen=True, kw_only=True)
class Example(CommandOptions):
    examples = ("loquent list x",)
    place: str = argument("PLACE", "a place")
    words: tuple[str, ...] = argument("key=value", "words", (), settings=True)
    out: str | None = option(None, "DIR", "a folder")
    count: int = option(4, "N", "100% of them, a | b", low=1)
    share: float | None = option(None, "P", "a share", low=0, high=1)
    kind: str = option("a", "", "a kind", choices=("a", "b"))
    fast: bool = option(False, "", "a flag")
    name: tuple[str, ...] = option((), "NAME", "names")


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("p", {}),
        ("p a=1 --out x b=2", {"words": ("a=1", "b=2"), "out": "x"}),
        ("17 --out 3", {"place": "17", "out": "3"}),
        ("p --count 010 --share 1e-2", {"count": 10, "share": 0.01}),  # no octal number of YAML
        ("p --share 1 --kind b --fast", {"share": 1.0, "kind": "b", "fast": True}),
        ("p --name a --name 2 --json --debug", {"name": ("a", "2"), "json": True, "debug": True}),
    ],
)
def test_typed_words_become_an_instance_of_the_options(typed, values):
    assert read("list", Example, typed.split()) == Example(command="list", **{"place": "p", **values})


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "the following arguments are required: PLACE"),
        ("p --count x", "--count must be an integer, at least 1, got 'x'; the default is 4"),
        ("p --count 0", "--count must be at least 1, got 0"),
        ("p --count 1.5", "--count must be an integer, at least 1, got '1.5'; the default is 4"),
        ("p --count true", "--count must be an integer, at least 1, got 'true'; the default is 4"),
        ("p --share 1.5", "--share must be in [0, 1], got 1.5"),
        ("p --share nan", "--share must be"),
        ("p --share x", "--share must be a number or none, in [0, 1], got 'x'; the default is none"),
        ("p --kind c", "--kind must be one of 'a', 'b', got 'c'"),
        ("p --out x stray", "unrecognized arguments: stray; loquent list --help lists the known ones"),
        ("p --bogus", "unrecognized arguments: --bogus"),
        ("p --out x -- stray", "unrecognized arguments: stray; loquent list"),
        ("p --kind aaaab", "--kind must be one of 'a', 'b', got 'aaaab'\n"),
    ],
)
def test_typed_values_are_refused_as_those_of_a_recipe_are(typed, says, capsys):
    with pytest.raises(SystemExit) as stop:
        read("list", Example, typed.split())
    assert stop.value.code == 2
    assert f"loquent list: error: {says}" in capsys.readouterr().err


def test_the_help_has_each_option_with_its_default_and_the_commands_own_come_first():
    text = parser("list", Example).format_help()
    assert [field.name for field in arguments(Example)][:2] == ["place", "words"]
    assert [field.name for field in arguments(Example)][-2:] == ["json", "debug"]
    assert "--count N" in text
    assert "100% of them, a | b (default 4)" in text
    assert "a share (in [0, 1])" in text
    assert "--kind {a,b}" in text


def test_settings_may_stand_before_and_behind_options():
    found = cli.parse_command(["train", "ppo", "a.b=1", "--out", "x", "c.d=2"])
    assert (found.recipe, found.overrides, found.out) == ("ppo", ("a.b=1", "c.d=2"), "x")


@pytest.mark.parametrize("typed", ["p --out x -- a.b=1", "p a.b=1 --out x --", "--out x -- p a.b=1"])
def test_arguments_may_stand_behind_two_dashes(typed):
    assert read("list", Example, typed.split()) == Example(
        command="list", place="p", words=("a.b=1",), out="x"
    )


@pytest.mark.parametrize(
    "line",
    [
        ["train", "ppo", "--out", "x", "stray"],
        ["train", "ppo", "--outt=x"],
        ["list", "tasks", "a=1"],
        ["list", "things"],
        ["collect", "w"],
        [],
    ],
)
def test_what_is_unknown_exits_2(line, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(line)
    assert stop.value.code == 2
    assert "loquent" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "many"])
def test_a_count_is_a_whole_number_of_at_least_one(number, capsys):
    with pytest.raises(SystemExit):
        cli.main(["collect", "wordle", "--agent", "random", "--out", "x", f"--episodes={number}"])
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("check wrodle", ["no task is named 'wrodle'", "Did you mean 'wordle'?"]),
        (
            "collect counting:Count --agent randm --episodes 1 --out o",
            ["no agent is named 'randm'", "'random'"],
        ),
        ("play counting:Count task.round=3", ["round", "Nearest: rounds"]),
        ("play counting:Count --option rounds=99", ["rounds must be in [1, 9], got 99"]),
        ("play counting:Count --option rounds", ["'rounds'", "key=value"]),
        ("play counting:Nothing", ["counting has no 'Nothing'"]),
        ("play nowhere:Nothing", ["no module 'nowhere'"]),
        ("play counting:dataclass", ["is no task"]),
        ("play counting:Count --row r9", ["r9", "r0"]),
        ("collect counting:Count --agent none.jsonl --episodes 1 --out o", ["none.jsonl"]),
        (
            "collect counting:Count --agent human --episodes 9 --out o",
            ["--agent human", "loquent play counting:Count --save"],
        ),
        (
            "collect counting:Liar --agent counting:Counter --episodes 9 --processes 2 --out o",
            ["wrong = 1.0", "right"],
        ),
    ],
)
def test_an_error_is_one_clear_line(line, says, loquent):
    done = loquent(*line.split())
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    errors = [text for text in done.stderr.splitlines() if text]
    assert len(errors) == 1
    assert all(text in errors[0] for text in says), errors[0]


def test_a_bug_still_shows_its_traceback(folder, loquent):
    """The twin of the test above: only errors raised on purpose, and those of an import, are made short."""
    code = (folder / "counting.py").read_text()
    init = "    def __init__(self, options=None):\n        raise RuntimeError('a bug')\n\n    def rows("
    (folder / "counting.py").write_text(code.replace("    def rows(", init, 1))
    done = loquent("check", "counting:Count")
    assert "Traceback" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    "kind", ["tasks", "algorithms", "agents", "designs", "rewards", "metrics", "recipes"]
)
def test_list_shows_every_registered_name(kind, capsys):
    from loquent.core import registry

    assert cli.main(["list", kind, "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    found = json.loads(last)
    assert set(registry.names(kind.removesuffix("s"))) <= set(found["names"])
    assert len([line for line in lines if line not in found.get("groups", ())]) == len(found["names"])
    assert all(found["summaries"].values()), "a listed thing says nothing about itself"


def test_recipes_are_listed_in_groups_a_short_line_each(capsys):
    from loquent.training import recipes

    assert cli.main(["list", "recipes", "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    found = json.loads(last)
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if line.endswith("...")], "a recipe's first line is too long"
    assert (
        sorted(name for group in found["groups"].values() for name in group)
        == found["names"]
        == recipes.names()
    )
    assert found["groups"]["GRUE: film reviews are continued"][-1] == "grue_imdb_zero_shot"
    assert "reviews_ppo" in found["groups"]["generation"]
    heading = lines.index("wordle")
    assert lines[heading + 1].startswith("  wordle_bc     A tiny model clones recorded games of Wordle")
    assert found["summaries"]["grue_imdb_ppo"].endswith("run: loquent train grue_imdb_ppo")


def test_list_without_a_kind_lists_the_kinds(capsys):
    assert cli.main(["list"]) == 0
    kinds = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"tasks", "algorithms", "recipes", "suites"} <= set(kinds)
    for kind in kinds:
        assert cli.parse_command(["list", kind]).kind == kind


def test_help_without_a_name_shows_every_command_in_two_groups(capsys):
    assert cli.main(["help"]) == 0
    text = capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main([])
    assert capsys.readouterr().err == text, "loquent alone says the same"
    first, rest = (
        [line.split()[0] for line in part.splitlines()[1:] if line.startswith("  ")]
        for part in text.partition("what everybody needs")[2].split("the rest:")
    )
    assert first == ["train", "evaluate", "play", "report", "list", "show", "bench", "check", "export"]
    assert sorted(first + rest) == sorted(COMMANDS)
    assert max(map(len, text.splitlines())) <= 100


def test_a_closed_pipe_is_no_error(command, folder):
    import subprocess

    first = subprocess.Popen(
        command("list", "metrics"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    first.stdout.close()
    first.wait(timeout=60)
    assert b"Traceback" not in first.stderr.read()


@pytest.mark.parametrize("seed", ["-1", "1.5", "x"])
@pytest.mark.parametrize(
    "line",
    [
        ["play", "wordle"],
        ["collect", "wordle", "--episodes", "1", "--out", "x"],
        ["evaluate", "random"],
        ["generate", "x"],
    ],
    ids=lambda line: line[0],
)
def test_a_seed_on_the_command_line_is_not_negative(line, seed, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([*line, "--seed", seed])
    assert stop.value.code == 2
    assert re.search(r"--seed must be (an integer, )?at least 0, got ", capsys.readouterr().err)
    assert cli.parse_command(["play", "wordle", "--seed", "0"]).seed == 0


@pytest.mark.parametrize(
    ("line", "path", "says"),
    [
        (
            ["collect", "counting:Count", "--agent", "random", "--episodes", "1", "--out", "counting.py/x"],
            "counting.py/x",
            "a part of this path is a file",
        ),
        (
            ["collect", "counting:Count", "--agent", "random", "--episodes", "1", "--out", "counting.py"],
            "counting.py",
            "a file",
        ),
        (
            ["collect", "counting:Count", "--agent", "random", "--episodes", "1", "--out", "x" * 300],
            "x" * 300,
            "this name is too long for the file system",
        ),
        (
            ["play", "counting:Count", "--agent", "random", "--save", "."],
            ".",
            "this is a folder; name a file in it",
        ),
        (
            ["collect", "counting:Count", "--agent", "none.jsonl", "--episodes", "1", "--out", "o"],
            "none.jsonl",
            "there is no such file",
        ),
    ],
)
def test_what_the_system_refuses_is_said_with_its_path(line, path, says, loquent):
    done = loquent(*line)
    assert done.returncode == 2
    [error] = done.stderr.splitlines()[-1:]
    assert "Errno" not in error
    assert "Traceback" not in done.stderr
    assert path in error
    assert says in error


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device here that is always full")
def test_a_full_disk_is_said(loquent):
    done = loquent("play", "counting:Count", "--agent", "random", "--save", "/dev/full")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "OSError: the disk is full; free some space, then run the same command again",
    )


def test_what_a_user_may_not_do_is_said_with_what_to_do():
    said = cli.describe_os_error(PermissionError(errno.EACCES, "Permission denied", "runs/a"))
    assert (
        said
        == "runs/a: you have no permission to read or write it; give another path, or change its permissions"
    )
    assert (
        cli.describe_os_error(OSError(errno.EIO, "Input/output error", "a", None, "b"))
        == "a -> b: Input/output error"
    )
    assert cli.describe_os_error(OSError("odd")) == "odd"


def test_a_setting_without_effect_is_remarked_in_one_line(capsys):
    assert cli.main(["show", "reviews_ppo", "model.layers=7"]) == 0
    out, errors = capsys.readouterr()
    assert next(line for line in errors.splitlines() if "model.layers" in line).startswith(
        "Remark: command line: model.layers = 7 has no effect"
    )
    assert "layers" not in out


@pytest.mark.parametrize("command", ["show", "train"])
def test_only_the_recipe_is_required(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([command])
    assert capsys.readouterr().err.endswith("the following arguments are required: RECIPE\n")


def test_one_law_is_in_the_singular(monkeypatch, capsys):
    from loquent.bench.conformance.check import Finding
    from loquent.cli.commands import check

    found = [Finding("end", "Games end", looked="1 game"), Finding("rows", "Rows exist", ("none",))]
    monkeypatch.setattr(check, "findings", lambda task, episodes: found)
    assert cli.main(["check", "wordle"]) == 1
    assert "wordle-v1: 1 law kept, 1 broken, 0 not checked" in capsys.readouterr().out
