"""The pages that describe the package agree with it: the tree in docs/architecture.md and the table in
CONTRIBUTING.md.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from loquent.core.catalogue import WORLDS

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "src" / "loquent"


def tree(house):
    """Each room with the first line of its docstring, as the page prints it."""
    rooms = sorted(file.parent for file in house.rglob("__init__.py") if file.parent != house)
    lines = []
    for room in rooms:
        text = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
        depth = len(room.relative_to(house).parts)
        lines.append(
            f"{'  ' * depth}{room.name + '/':<{26 - 2 * depth}}{text.partition(chr(10))[0]}".rstrip()
        )
    return "\n".join(["src/loquent/", *lines])


def test_the_tree_on_the_page_is_the_tree_of_the_package():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert tree(HOUSE) in page, tree(HOUSE)


def floors(house, project):
    """The floors of the import contract, from the top, each room with the first line of its docstring."""
    contract = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    lines = []
    for floor in contract["layers"]:
        for name in floor.split(" : "):
            file = house / name / "__init__.py"
            file = file if file.is_file() else house / f"{name}.py"
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            lines.append(f"{name:<12}{text.partition(chr(10))[0]}")
    return "\n".join(lines)


def test_the_floors_on_the_pages_are_those_of_the_import_contract():
    drawn = floors(HOUSE, ROOT / "pyproject.toml")
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        assert f"```\n{drawn}\n```" in (ROOT / page).read_text(encoding="utf-8"), f"{page}:\n{drawn}"


def test_every_file_that_the_pages_name_is_there():
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for name in re.findall(
            r"`((?:src/loquent/|docs/|tests/|perf/)?(?:[\w<>-]+/)+[\w<>*-]+\.(?:py|md|yaml|jsonl))`", text
        ):
            assert any(found(name)), f"{page}: {name}"


def found(name):
    """The files that a name on a page can mean; `<world>` and `<family>` stand for every world and folder."""
    pattern = re.sub(r"<\w+>", "*", name)
    for base in (ROOT, HOUSE):
        yield from base.glob(pattern)


def changes():
    """Rows of the table of typical changes: what, and the files it touches."""
    text = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .partition("## Typical changes")[2]
        .partition("\n## ")[0]
    )
    return [
        re.split(r"\s*\|\s*", line.strip().strip("|").strip())
        for line in text.splitlines()
        if line.startswith("|")
    ][2:]


def test_the_table_of_changes_has_ten_rows_whose_files_exist():
    rows = changes()
    assert len(rows) >= 10
    for what, files, _, tests in rows:
        names = re.findall(r"`([^`]+)`", files.replace("`python -m tools.names`", ""))
        assert names, what
        for name in names:
            assert any(found(name)) or (re.search(r"<new>", name) and found_folder(name)), f"{what}: {name}"
        names = re.findall(r"`(tests/[^`]+)`", tests)
        assert names, what
        assert all((ROOT / name).exists() for name in names), what


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (
            r"core/catalogue\.py|tasks/<world>/names\.py|bench/suites/<new>\.yaml",
            "`README.md`, which `python -m tools.names` writes",
        ),
        (
            r"tools/corpora/<new>\.py|tasks/<(new|world)>|(algorithms|metrics|data|cli|models)/[\w/]+/<new>\.py|penalties",
            "`tests/test_weight.py` (the limit)",
        ),
    ],
)
def test_a_row_names_what_every_change_of_its_kind_touches(changed, named):
    for what, files, *_ in changes():
        assert (re.search(changed, files) is not None) == (named in files), what


def found_folder(name):
    """Whether the folder of a file that the change adds exists."""
    folder = re.sub(r"<\w+>", "*", name.rpartition("<new>")[0].rstrip("/"))
    return any(path.is_dir() for base in (ROOT, HOUSE) for path in base.glob(folder or "."))


def test_a_world_touches_its_folder_the_registry_and_the_docs():
    from loquent.core import registry

    row = next(row for row in changes() if row[0] == "a built-in world")
    assert re.findall(r"`([^`]+)`", row[1])[:2] == ["tasks/<new>/", "core/catalogue.py"]
    source = (HOUSE / "core" / "catalogue.py").read_text(encoding="utf-8")
    for world in WORLDS:
        assert len(re.findall(rf'"{world}"', source)) == 1, "a world needs one line of the registry"
        assert world in registry.names("task")
