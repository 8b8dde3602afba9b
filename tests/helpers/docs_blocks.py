"""Read the code blocks of a Markdown page and run them as a reader would, comparing what is printed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers import commands

BLOCK = re.compile(
    r"^(?P<marks>(?:<!--[^\n]*-->\n)*)```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!--\s*(slow|file:\s*(\S+))\s*-->")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line it begins on, and what the marks before it say."""

    language: str
    body: str
    line: int
    adjacent: bool  # only blank space since the block before
    slow: bool = False
    file: str = ""


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found, end = [], 0
    for match in BLOCK.finditer(text):
        marks = MARK.findall(match["marks"])
        slow, file = any(mark == "slow" for mark, _ in marks), next((name for _, name in marks if name), "")
        line = text.count("\n", 0, match.start("language")) + 1
        found.append(
            Block(match["language"], match["body"], line, not text[end : match.start()].strip(), slow, file)
        )
        end = match.end()
    return found


def run(page: Path, folder: Path, *, slow: bool) -> int:
    """Run a page's blocks in `folder`; returns how many ran.

    Raises:
        AssertionError: a block fails or prints something else; names page and line.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    ran, printed = 0, None
    for block in blocks(page.read_text(encoding="utf-8")):
        place = f"{page.name}:{block.line}"
        if block.slow and not slow:
            printed = None
        elif block.file:
            (folder / block.file).write_text(block.body, encoding="utf-8")
            printed = None
        elif block.language == "python":
            printed, ran = _python(block, namespace, place), ran + 1
        elif block.language == "console":
            _console(block, folder, place)
            printed, ran = None, ran + 1
        elif block.language == "text":
            if block.adjacent and printed is not None:
                compare(block.body, printed, place)
            printed = None
        else:
            printed = None
    return ran


def compare(expected: str, printed: str, place: str) -> None:
    """Compare line by line; `...` stands for any text inside a line, and alone on a line for any lines."""
    wanted, said = _trimmed(expected), _trimmed(printed)
    assert _alike(wanted.splitlines(), said.splitlines()), f"{place}: expected\n{wanted}\nbut printed\n{said}"


def _alike(wanted: list[str], said: list[str]) -> bool:
    if not wanted:
        return not said
    if wanted[0].strip() == "...":
        return any(_alike(wanted[1:], said[i:]) for i in range(len(said) + 1))
    pattern = ".*".join(re.escape(part) for part in wanted[0].split("..."))
    return bool(said) and re.fullmatch(pattern, said[0]) is not None and _alike(wanted[1:], said[1:])


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def _python(block: Block, namespace: dict[str, object], place: str) -> str:
    out = io.StringIO()
    padded = "\n" * block.line + block.body  # so that a traceback names the page's own line
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(padded, place, "exec"), namespace)
    except Exception as error:
        raise AssertionError(f"{place}: {type(error).__name__}: {error}") from error
    return out.getvalue()


def _console(block: Block, folder: Path, place: str) -> None:
    for command in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        line, _, expected = command.partition("\n")
        while line.endswith("\\"):
            more, _, expected = expected.partition("\n")
            line = line[:-1] + more.strip()
        words = shlex.split(line)
        assert words[0] in ("loquent", "python"), f"{place}: only loquent and python are run, not {words[0]}"
        paths = os.pathsep.join(filter(None, [str(commands.OFFLINE), os.environ.get("PYTHONPATH", "")]))
        environment = {"PYTHONPATH": paths, "COLUMNS": "100"}
        if words[0] == "loquent":
            done = commands.loquent(words[1:], folder, timeout=300, environment=environment)
        else:
            done = subprocess.run(
                [sys.executable, *words[1:]], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=300, check=False, env={**os.environ, **environment},
            )  # fmt: skip
        said = done.stdout + ("" if done.returncode == 0 else done.stderr)
        assert "Traceback" not in done.stderr, f"{place}: $ {line}\n{done.stderr}"
        assert done.returncode == 0 or expected.strip(), f"{place}: $ {line} failed:\n{done.stderr}"
        compare(expected, said, f"{place}: $ {line}")
