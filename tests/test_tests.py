"""The house of the tests: its folders are those of the package, and what tests share stands in helpers."""

import ast
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import trained

HERE = Path(__file__).parent
HOUSE = HERE.parent / "src" / "loquent"
ROOM = 16
IMPORT = re.compile(r"^\s*(from|import) .*test_", re.MULTILINE)


def strangers(here, house):
    """Modules outside helpers that are no tests, or whose folder is no folder of the package."""
    files = [file.relative_to(here) for file in here.rglob("*.py")]
    return {
        str(file)
        for file in files
        if file.parts[0] != "helpers"
        and not (
            (file.name.startswith("test_") or file.name == "conftest.py")
            and (house / file.parent / "__init__.py").is_file()  # a folder may be left with old bytecode
        )
    }


def test_folders_are_those_of_the_package_and_hold_tests_alone():
    assert strangers(HERE, HOUSE) == set()


def test_a_stranger_is_found(tmp_path):
    here, house = tmp_path / "tests", tmp_path / "house"
    for name in ("core/test_a.py", "core/helper.py", "kernel/test_a.py", "old/test_a.py", "helpers/b.py"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).touch()
    (here / "conftest.py").touch()
    for name in ("__init__.py", "core/__init__.py", "old/__pycache__/a.pyc"):
        (house / name).parent.mkdir(parents=True, exist_ok=True)
        (house / name).touch()
    assert strangers(here, house) == {"core/helper.py", "kernel/test_a.py", "old/test_a.py"}


def imports_of_tests(here):
    """(file, module) of each import of a test module."""
    return {
        (str(file.relative_to(here)), name)
        for file in here.rglob("*.py")
        if IMPORT.search(text := file.read_text(encoding="utf-8"))  # most need not be parsed
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(node)
        if any(part.startswith("test_") for part in name.split("."))
    }


def imported(node):
    module = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
    return [module + alias.name for alias in node.names]


def test_no_module_imports_a_test():
    assert imports_of_tests(HERE) == set(), "move what they share to tests/helpers"


@pytest.mark.parametrize(
    "line",
    ["from tests.core.test_a import x", "from tests.core import test_a", "def f():\n    import tests.test_a"],
)
def test_an_import_of_a_test_is_found(tmp_path, line):
    (tmp_path / "test_b.py").write_text(f"from helpers.a import x\n{line}\n")
    assert [file for file, _ in imports_of_tests(tmp_path)] == ["test_b.py"]


def test_a_folder_of_helpers_has_at_most_sixteen_modules():
    counts = Counter(file.parent.name for file in (HERE / "helpers").rglob("*.py"))
    assert {folder: count for folder, count in counts.items() if count > ROOM} == {}


@pytest.mark.parametrize("worker", [None, "gw0"])
def test_what_is_trained_once_is_made_once_for_all_processes(tmp_path, monkeypatch, worker):
    factories = [SimpleNamespace(getbasetemp=lambda name=name: tmp_path / name) for name in ("one", "two")]
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    attempts = []

    def make(folder):
        attempts.append(sorted(path.name for path in folder.iterdir()))
        (folder / "half").touch()
        if len(attempts) == 1:
            raise LookupError

    with pytest.raises(LookupError):
        trained.once(factories[0], "a", make)
    folders = [trained.once(factory, "a", make) for factory in (*factories, *factories)]
    assert attempts == [[]] * (2 if worker else 3)
    assert len(set(folders)) == (1 if worker else 2)
