"""Names of installed packages: recipes among them, and names that are broken harm no others."""

import os
import subprocess
import sys

import pytest

POINTS = """[loquent]
recipe.from_a_package = recipes_of_a_test:small.yaml
recipe.without_a_file = recipes_of_a_test:none.yaml
task.broken = recipes_of_a_test.nothere:X
metric.plain = recipes_of_a_test:plain
"""
CODE = """
def plain(context):
    raise NotImplementedError
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder on the path, as an installed package leaves it."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "recipes_of_a_test").mkdir()
    (folder / "recipes_of_a_test" / "__init__.py").write_text(CODE)
    (folder / "recipes_of_a_test" / "small.yaml").write_text(
        "# A recipe of a package.\ntask: {kind: wordle}\nalgorithm: {kind: ppo}\n"
    )
    about = folder / "recipes_of_a_test-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: recipes-of-a-test\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    return folder


@pytest.fixture
def call(package, tmp_path):
    def call(*words):
        path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-m", "loquent", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_a_recipe_of_a_package_is_listed_and_shown(call):
    listed = call("list", "recipes")
    assert listed.returncode == 0, listed.stderr
    lines = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert lines["from_a_package"].endswith("A recipe of a package.")
    assert "recipes-of-a-test has the entry point recipe.without_a_file" in lines["without_a_file"]
    shown = call("show", "from_a_package")
    assert shown.returncode == 0, shown.stderr
    assert "kind: wordle" in shown.stdout


def test_a_broken_name_is_said_with_its_package_and_harms_no_other(call):
    helped = call("help", "metric.plain")
    assert (helped.returncode, helped.stdout) == (0, "metric.plain has no settings\n"), helped.stderr
    assert call("help", "clip").returncode == 0
    broken = call("check", "broken")
    assert broken.returncode == 2
    assert broken.stderr.startswith(
        "BadSetting: the package recipes-of-a-test has the entry point task.broken = "
        "'recipes_of_a_test.nothere:X': "
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def X(:\n", r"mine.py:1: SyntaxError: "),
        ("\nraise RuntimeError('too early')\n", r"mine.py:2: RuntimeError: too early"),
        ("import there_is_no_such_library\n", r"mine.py:1: ModuleNotFoundError: No module named"),
        ("Y = 1\n", r"the module mine has no 'X'; it was read from "),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(call, tmp_path, code, why):
    (tmp_path / "mine.py").write_text(code)
    done = call("check", "mine:X")
    assert done.returncode == 2
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1
