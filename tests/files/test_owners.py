"""A run's folder has one owner, files are replaced in one place, and no decision reads the text of an
error.
"""

import ast
import re

import pytest

from helpers.sources import HOUSE, nodes
from loquent.files import names

OWNER = "files/names.py"
RUN_FILES = {
    value for name, value in vars(names).items() if name.isupper() and isinstance(value, str) and "." in value
}
REPLACING = {"replace", "rename", "renames", "fsync", "mkdtemp", "NamedTemporaryFile"}
FOREIGN = {
    ("pretrained/folder.py", "error"),  # transformers has no type for a folder that needs its own code
    ("errors.py", "error"),  # torch has no type for memory that runs out on a CPU
}


def sources():
    return [(str(file.relative_to(HOUSE)), nodes(file)) for file in sorted(HOUSE.rglob("*.py"))]


def run_files_named(nodes):
    """The strings of a module, docstrings apart, that are or end with the name of a file of a run."""
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
    ]
    return [text for text in strings if any(text == name or text.endswith(f"/{name}") for name in RUN_FILES)]


def replacements(nodes):
    """Calls that move files or wait for the disk: `os.replace`, `Path.rename`, `os.fsync`, temporary
    files.
    """
    calls = [
        node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    own = [
        call.attr
        for call in calls
        if call.attr in REPLACING
        and isinstance(call.value, ast.Name)
        and call.value.id in ("os", "tempfile", "shutil")
    ]
    return own + [call.attr for call in calls if call.attr == "rename"]


def texts_of_errors_read(nodes):
    """Names of caught errors whose text or arguments decide something: `"x" in str(error)`,
    `str(error).startswith`, `error.args`.
    """
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    read = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            read += [name for side in (node.left, *node.comparators) for name in _texts(side)]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith", "find", "index")
        ):
            read += _texts(node.func.value)
        elif isinstance(node, ast.Attribute) and node.attr == "args" and isinstance(node.value, ast.Name):
            read.append(node.value.id)
    return [name for name in read if name in caught]


def _texts(node):
    """The names N where a node is `str(N)`."""
    text = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args
    )
    return [node.args[0].id] if text and isinstance(node.args[0], ast.Name) else []


def test_only_the_owner_names_the_files_of_a_run():
    named = {place: names for place, nodes in sources() if (names := run_files_named(nodes))}
    found = {place: names for place, names in named.items() if place != OWNER}
    of_datasets = (
        "core/guards/arrow_files.py",
        "data/row_files.py",
    )  # folders saved by datasets
    saved = {place: ["state.json"] for place in of_datasets}
    assert found == {**saved, "data/tables/cache.py": [".lock"]}
    assert len(RUN_FILES) > 15


def test_files_are_replaced_in_one_place():
    assert {place for place, nodes in sources() if replacements(nodes)} == {"files/atomic.py"}


def test_no_decision_reads_the_text_of_an_error():
    assert {(place, name) for place, nodes in sources() for name in texts_of_errors_read(nodes)} == FOREIGN


@pytest.mark.parametrize(
    ("line", "finds"),
    [
        ('folder / "metrics.jsonl"', run_files_named),
        ('x = f"{folder}/config.yaml"', run_files_named),
        ("os.replace(a, b)", replacements),
        ("path.rename(b)", replacements),
        ('try:\n    f()\nexcept E as error:\n    x = "a" in str(error)', texts_of_errors_read),
        ('try:\n    f()\nexcept E as error:\n    x = str(error).startswith("a")', texts_of_errors_read),
        ("try:\n    f()\nexcept E as error:\n    x = error.args[0]", texts_of_errors_read),
    ],
)
def test_each_is_found(line, finds):
    other = '"""metrics.jsonl"""\nos.getpid()\n"a".replace("a", "b")'
    assert finds(list(ast.walk(ast.parse(line))))
    assert not finds(list(ast.walk(ast.parse(other))))


def test_parameters_named_trainer_have_their_type():
    untyped = re.compile(r"\btrainer: Any\b")
    assert [
        file.name for file in HOUSE.rglob("*.py") if untyped.search(file.read_text(encoding="utf-8"))
    ] == []
