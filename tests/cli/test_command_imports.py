"""Commands that only print load no networks: lists and reports no torch, recipes and help no transformers.

What `import loquent` and `--help` load is tested in `tests/test_imports.py`.
"""

import subprocess
import sys

import pytest

AT_EXIT = (
    "import atexit, sys\n"
    "atexit.register(lambda: print(*sorted({name.partition('.')[0] for name in sys.modules})))\n"
)
COMMAND = "from loquent.cli.main import main\nsys.exit(main({words!r}))"
WITH_NETWORKS = {"torch", "transformers", "tokenizers", "safetensors", "sklearn", "datasets"}
KINDS = ("tasks", "algorithms", "agents", "rewards", "metrics", "featurizers", "recipes", "suites")


def loaded(code):
    """The top-level modules that a fresh process has loaded when it exits after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def loaded_by(*words):
    """The top-level modules that one command line loads."""
    return loaded(COMMAND.format(words=list(words)))


@pytest.fixture
def run_folder(tmp_path):
    """The folder of a finished run, with evaluations and episodes, as the tests of reports write it."""
    from helpers.report import report_folders

    return report_folders.run(tmp_path / "run")


def test_the_room_of_reports_loads_no_networks():
    assert loaded("import loquent.report").isdisjoint(WITH_NETWORKS)


def test_a_report_loads_no_networks(run_folder, tmp_path):
    page = tmp_path / "page.html"
    assert loaded_by("report", str(run_folder), "--out", str(page)).isdisjoint(WITH_NETWORKS)
    assert "reviews_ppo" in page.read_text()


def test_lists_load_no_networks():
    lines = [f"assert main({['list', kind]!r}) == 0\n" for kind in KINDS]
    assert loaded("".join(["from loquent.cli.main import main\n", *lines])).isdisjoint(WITH_NETWORKS)


@pytest.mark.sweep("reviews_ppo")
@pytest.mark.parametrize("recipe", ["reviews_ppo", "reviews_gamed", "wordle_ilql", "tagging_dqn"])
def test_a_shown_recipe_loads_no_transformers(recipe):
    assert loaded_by("show", recipe).isdisjoint({"transformers", "sklearn", "datasets"})


def test_the_recipe_of_a_run_is_shown_without_transformers(run_folder):
    assert loaded_by("show", str(run_folder)).isdisjoint({"transformers", "sklearn", "datasets"})


@pytest.mark.sweep("nlpo", "training.updates", "wordle")
@pytest.mark.parametrize("name", ["clip", "preset", "nlpo", "sb3/double_dqn", "training.updates", "wordle"])
def test_help_of_a_name_loads_no_transformers(name):
    assert loaded_by("help", name).isdisjoint({"transformers", "sklearn", "datasets"})


def test_it_can_fail():
    assert "torch" in loaded_by("show", "reviews_ppo")  # an algorithm's settings stand beside its code
