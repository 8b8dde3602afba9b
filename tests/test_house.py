"""The plan of the package: few modules at the door, rooms of a size one can scan, no circle of imports, a
face that leaks nothing.
"""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import loquent
from helpers import sources
from helpers.sources import HOUSE

CATALOGUES = {"cli/commands"}  # longer than other rooms by nature: one file a command
ROOM = 16
OTHER_MEANINGS = {
    ("models/format/template_worker.py", "generation"),  # a tag of chat templates
}


def rooms(house):
    return [folder for folder in (house, *house.rglob("*")) if (folder / "__init__.py").is_file()]


def modules(house):
    """Dotted name -> file."""
    found = {}
    for file in house.rglob("*.py"):
        parts = ("loquent", *file.relative_to(house).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def imports(house):
    """Module -> the modules of the package that it imports anywhere: inside functions and under TYPE_CHECKING
    too.
    """
    known, graph = modules(house), {}
    for name, file in known.items():
        reached = set()
        for node in sources.nodes(file):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                reached |= {each if each in known else node.module for each in inside}
            elif isinstance(node, ast.Import):
                reached |= {alias.name for alias in node.names}
        graph[name] = {each for each in reached if each in known and each != name}
    return graph


def circle(graph):
    """One circle of imports, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_at_most_three_modules_and_sixteen_rooms_stand_at_the_door():
    assert len([file for file in HOUSE.glob("*.py") if file.name != "__init__.py"]) <= 3
    assert len([room for room in rooms(HOUSE) if room.parent == HOUSE]) <= 16


def test_a_room_has_at_most_sixteen_modules():
    sizes = {str(folder.relative_to(HOUSE)): len(list(folder.glob("*.py"))) - 1 for folder in rooms(HOUSE)}
    assert {room: size for room, size in sizes.items() if size > ROOM and room not in CATALOGUES} == {}
    assert all(sizes[room] > ROOM for room in CATALOGUES)  # an exception that is needed no longer goes


def test_every_folder_with_modules_is_a_room_that_says_its_purpose():
    for folder in {file.parent for file in HOUSE.rglob("*.py")}:
        first = (
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        ).partition("\n")[0]
        assert first.endswith("."), folder


def test_no_circle_of_imports_exists():
    assert circle(imports(HOUSE)) is None


@pytest.mark.parametrize(
    "line",
    [
        "import loquent.b",
        "def f():\n    from loquent import b",
        "if TYPE_CHECKING:\n    from loquent.b import B",
    ],
)
def test_a_circle_is_found(tmp_path, line):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "a.py").write_text(line)
    (tmp_path / "b.py").write_text("from loquent.a import x")
    assert set(circle(imports(tmp_path))) == {"loquent.a", "loquent.b"}


def folders_that_import_each_other(graph):
    """Pairs of folders with imports in both directions; the modules at the door are in none."""

    def folder(name):
        return name if name in packages else name.rpartition(".")[0]

    packages = {".".join(("loquent", *room.relative_to(HOUSE).parts)) for room in rooms(HOUSE)}
    pairs = {(folder(name), folder(each)) for name, reached in graph.items() for each in reached}
    return {
        (one, two) for one, two in pairs if (two, one) in pairs and "loquent" not in (one, two) and one < two
    }


def test_no_two_folders_import_each_other():
    assert folders_that_import_each_other(imports(HOUSE)) == set()


def test_folders_that_import_each_other_are_found():
    graph = {
        "loquent.data.readers": {"loquent.data.reviews.corpus"},
        "loquent.data.reviews.grammar": {"loquent.data.columns"},
        "loquent.data.columns": {"loquent.core.values"},
    }
    assert folders_that_import_each_other(graph) == {("loquent.data", "loquent.data.reviews")}


def test_the_face_has_its_names_and_leaks_nothing():
    code = "import loquent; print(*sorted(name for name in dir(loquent) if not name.startswith('_')))"
    names = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    submodules = {folder.name for folder in rooms(HOUSE)} | {file.stem for file in HOUSE.glob("*.py")}
    assert names - submodules == set(loquent.__all__) - {"__version__"}
    assert all(hasattr(loquent, name) for name in loquent.__all__)


def test_no_module_at_the_door_has_the_name_of_a_function_of_the_face():
    at_the_door = {file.stem for file in HOUSE.glob("*.py")} | {folder.name for folder in rooms(HOUSE)}
    assert at_the_door.isdisjoint(loquent.__all__)


def worlds_named(house, worlds, registered):
    """(file, text) of each import of a world, and of each string that is a world's name or begins with it and
    "/", outside the worlds.
    """
    found = []
    for file in house.rglob("*.py"):
        place = file.relative_to(house)
        if (place.parts[0] == "tasks" and len(place.parts) > 2) or place == Path("core/catalogue.py"):
            continue
        nodes = sources.nodes(file)
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.ImportFrom | ast.Import):
                text = ast.unparse(node)
                if any(
                    f"loquent.tasks.{world}" in text or f"loquent.tasks import {world}" in text
                    for world in worlds
                ):
                    found.append((str(place), text))
            elif (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
            ):
                found += [
                    (str(place), node.value)
                    for name in registered
                    if node.value == name or node.value.startswith(name + "/")
                ]
    return found


def test_only_a_world_names_itself():
    from loquent.core.catalogue import WORLDS
    from loquent.core.registry import names

    assert set(worlds_named(HOUSE, WORLDS, names("task"))) <= OTHER_MEANINGS


def test_a_world_that_is_named_elsewhere_is_found(tmp_path):
    (tmp_path / "a.py").write_text(
        "from loquent.tasks.wordle.task import Wordle\nx = 'wordle/optimal'\n'''wordle'''\ny = 'a wordle'"
    )
    assert worlds_named(tmp_path, ["wordle"], ["wordle"]) == [
        ("a.py", "from loquent.tasks.wordle.task import Wordle"),
        ("a.py", "wordle/optimal"),
    ]


FILES = ("__init__.py", "names.py", "task.py", "rows.py", "views.py", "README.md", "golden.jsonl")
TABLES = {"TASKS", "AGENTS", "DESIGNS", "PICTURES", "ENVIRONMENTS"} | {
    "CHECKS",
    "IMPORTS",
    "SERVERS",
    "NETWORKS",
}  # of the registry


def lacking(tasks, worlds):
    """For each world that lacks files, one sentence that names them."""
    missing = {world: [name for name in FILES if not (tasks / world / name).is_file()] for world in worlds}
    return [f"{world} lacks {', '.join(names)}" for world, names in missing.items() if names]


def test_every_world_has_the_same_files():
    from loquent.core.catalogue import WORLDS

    assert lacking(HOUSE / "tasks", WORLDS) == []


def test_a_file_that_a_world_lacks_is_named(tmp_path):
    (tmp_path / "higher").mkdir()
    for name in FILES[:-1]:
        (tmp_path / "higher" / name).touch()
    assert lacking(tmp_path, ["higher"]) == ["higher lacks golden.jsonl"]


def test_a_world_names_its_tasks_and_no_table_that_the_registry_does_not_read():
    from loquent.core.catalogue import WORLDS

    for world in WORLDS:
        names = importlib.import_module(f"loquent.tasks.{world}.names")
        found = {name for name in vars(names) if name.isupper()}
        assert "TASKS" in found, world
        assert found <= TABLES, world


def test_a_world_may_leave_out_the_tables_that_it_does_not_need(monkeypatch):
    from loquent.core import registry

    names = ModuleType("loquent.tasks.higher.names")
    names.TASKS = {"higher": "loquent.tasks.higher.task:Higher"}
    monkeypatch.setitem(sys.modules, names.__name__, names)
    monkeypatch.setattr(registry, "WORLDS", ("higher",))
    assert registry._built_in()["task"] == names.TASKS
    assert registry._built_in()["design"] == registry.environments() == registry.pictures() == {}


def test_few_lines_leave_the_types_and_each_says_why():
    lines = [
        line
        for file in HOUSE.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "# type: ignore" in line
    ]
    assert len(lines) <= 30
    assert [line for line in lines if not re.search(r"# type: ignore\[[a-z, -]+\]  # \w", line)] == []


def test_one_module_names_the_note_of_an_export():
    files = Path(loquent.__file__).parent.rglob("*.py")
    assert [
        path.name
        for path in files
        if re.search(r"[\"'/]loquent\.json[\"']", path.read_text(encoding="utf-8"))
    ] == ["export_note.py"]


def test_one_function_shortens_values_for_errors():
    rooms = ("agents", "data", "pretrained", "rewards", "files", "models", "training")
    files = [path for room in rooms for path in (Path(loquent.__file__).parent / room).rglob("*.py")]
    assert [
        path.name
        for path in files
        if re.search(r"^def _?short\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


CONTRACTS = ("core/agent.py", "core/algorithm.py", "core/metric.py", "core/task.py")
PROTOCOLS = ("core/rollout/*.py", "adapters/*.py")  # rooms whose protocols are contracts too
LOOKED_UP = {
    ("core/options.py", "Options"),  # `options_of`: a factory may be any function
    ("cli/commands/weights.py", "spec"),  # a task's class has a spec where no option changes it
}


def declared(house):
    """The public names that the classes of our contracts declare: attributes and methods."""
    names = set()
    for pattern in (*CONTRACTS, *PROTOCOLS):
        for file in house.glob(pattern):
            classes = [node for node in sources.nodes(file) if isinstance(node, ast.ClassDef)]
            for node in classes:
                if pattern in CONTRACTS or "Protocol" in {ast.unparse(base) for base in node.bases}:
                    names |= _members(node)
    return {name for name in names if not name.startswith("_")}


def _members(node):
    names = set()
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            names.add(item.name)
        elif isinstance(item, ast.AnnAssign | ast.Assign):
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def looked_up(house, names):
    """(file, name) of each `getattr` and `hasattr` with a constant that is one of the names."""
    return {
        (file.relative_to(house).as_posix(), node.args[1].value)
        for file in house.rglob("*.py")
        for node in sources.nodes(file)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value in names
    }


def test_what_a_contract_declares_is_read_as_an_attribute():
    names = declared(HOUSE)
    assert {"kl_of_choice", "reads", "directions", "higher_is_better", "views", "encode"} <= names
    assert looked_up(HOUSE, names) == LOOKED_UP


def test_a_declared_name_that_is_looked_up_is_found(tmp_path):
    (tmp_path / "a.py").write_text(
        "x = getattr(metric, 'keys', ())\nhasattr(agent, 'answer')\n"
        "getattr(module, 'weight', None)\ngetattr(record, name)\nmetric.keys"
    )
    assert looked_up(tmp_path, declared(HOUSE)) == {("a.py", "keys"), ("a.py", "answer")}
