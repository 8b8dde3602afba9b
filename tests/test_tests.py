"""The house of the tests: its folders are those of the package, and what tests share stands in helpers."""

from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
HOUSE = HERE.parent / "src" / "loquent"
ROOM = 16


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


def test_a_folder_of_helpers_has_at_most_sixteen_modules():
    counts = Counter(file.parent.name for file in (HERE / "helpers").rglob("*.py"))
    assert {folder: count for folder, count in counts.items() if count > ROOM} == {}
