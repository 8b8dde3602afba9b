"""The floors of the house: a module imports only from modules below it, and every room has a floor."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


def lint(folder, house):
    """Run lint-imports on a house (the folder that holds the package) with the contract in `folder`."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(house), "COLUMNS": "200"},
    )


@pytest.fixture
def twin(tmp_path):
    """A copy of the house with the same contract, to be broken."""
    shutil.copytree(
        HERE / "src" / "loquent", tmp_path / "loquent", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(HERE / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_floors_hold():
    done = lint(HERE, HERE / "src")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_from_above_is_caught(twin):
    file = twin / "loquent" / "tasks" / "__init__.py"
    file.write_text(file.read_text() + "\nimport loquent.training.loop\n")
    done = lint(twin, twin)
    assert done.returncode != 0
    assert "loquent.tasks is not allowed to import loquent.training" in done.stdout


def test_a_room_without_a_floor_is_caught(twin):
    (twin / "loquent" / "new_room.py").write_text('"""A room nobody placed."""\n')
    done = lint(twin, twin)
    assert done.returncode != 0
    assert "new_room" in done.stdout + done.stderr


def test_no_pickle_no_eval_no_shell():
    import re

    pattern = re.compile(
        r"\b(?:pickle|cPickle|dill)\b|(?<![.\w])(?:eval|exec)\(|shell=True|torch\.load\(|\bos\.system\("
    )
    lines = [(path, line) for path in (HERE / "src").rglob("*.py") for line in code(path)]
    assert [(path.name, line) for path, line in lines if pattern.search(line)] == []
    assert all(
        pattern.search(line)
        for line in ("import pickle", "x = eval(text)", "run(x, shell=True)", "torch.load(f)")
    )
    assert not pattern.search("model.eval()")


def code(path):
    """The lines of a file with its comments and strings taken out."""
    import io
    import tokenize

    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            (first, start), (last, end) = token.start, token.end
            for number in range(first, last + 1):
                line = lines[number - 1]
                left, right = start if number == first else 0, end if number == last else len(line)
                lines[number - 1] = line[:left] + " " * (right - left) + line[right:]
    return lines
