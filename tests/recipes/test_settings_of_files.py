"""Settings of files reach a recipe as nodes, and the gate of trust reads the finished tree."""

import contextlib
import random
import sys

import pytest

from loquent import recipes
from loquent.bench import suite as suites
from loquent.bench.jobs import plan
from loquent.errors import LoquentError
from loquent.files import atomic

BAIT = "loquent_bait_of_the_gate"
RECIPE = "task: {{kind: generation}}\nalgorithm: {{kind: ppo}}\nprofiles: {{cpu: {{{key}: {value}}}}}\n"
SUITE = (
    "name: outside\ntitle: A suite from elsewhere\nversion: 1\ncolumns: {{return: {{}}}}\n"
    "cells: {{a: {{recipe: reviews_ppo, label: a, set: {{{key}: {value}}}}}}}\n"
)


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder that is not under the current one, and a module on the path that must not be imported."""
    for name in ("here", "outside", "modules"):
        (tmp_path / name).mkdir()
    (tmp_path / "modules" / f"{BAIT}.py").write_text("class s:\n    pass\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    yield tmp_path / "outside"
    sys.modules.pop(BAIT, None)


WAYS = [
    (f'"algorithm.kind={BAIT}:s #"', "1"),
    ('"algorithm.kind"', f'"{BAIT}:s"'),
    ("algorithm", f'{{kind: "{BAIT}:s"}}'),
    (f'"algorithm={{kind: {BAIT}:s}} #"', "1"),
    (f'"rewards.{BAIT}:s"', "1"),
    ("rewards", f'{{"{BAIT}:s": 1}}'),
    (f'"metrics={{{BAIT}:s: {{}}}} #"', "1"),
    (f'" algorithm.kind={BAIT}:s\\n"', "1"),
]


@pytest.mark.parametrize(("key", "value"), WAYS)
@pytest.mark.parametrize("imports", ["trusted", "none"])
def test_a_profile_of_a_file_elsewhere_imports_nothing(outside, key, value, imports):
    file = outside / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key=key, value=value))
    with contextlib.suppress(LoquentError):
        recipes.load(file, profile="cpu", imports=imports)
    assert BAIT not in sys.modules


@pytest.mark.parametrize(("key", "value"), WAYS)
def test_a_suite_of_a_file_elsewhere_imports_nothing(outside, key, value):
    file = outside / "suite.yaml"
    atomic.write_text(file, SUITE.format(key=key, value=value))
    with pytest.raises(LoquentError):
        plan(suites.load(file), outside / "runs", "full", 1, {})
    assert BAIT not in sys.modules


def test_the_bait_is_imported_where_it_is_allowed(outside):
    file = outside / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key='"algorithm.kind"', value=f'"{BAIT}:s"'))
    with pytest.raises(LoquentError):
        recipes.load(file, profile="cpu", imports="all")
    assert BAIT in sys.modules


def test_a_key_that_is_no_path_is_named_with_its_line(tmp_path):
    file = tmp_path / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key='"training.updates=7 #"', value="1"))
    with pytest.raises(LoquentError, match=r"recipe\.yaml:3: the key 'training.updates=7 #' is not the path"):
        recipes.load(file, profile="cpu", imports="all")


def test_a_value_of_a_profile_keeps_its_line(tmp_path):
    file = tmp_path / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key="training.updates", value="none"))
    with pytest.raises(LoquentError, match=r"recipe\.yaml:3: training\.updates"):
        recipes.load(file, profile="cpu")


def test_random_keys_import_nothing(outside):
    rng = random.Random(0)
    pieces = [
        "algorithm",
        ".",
        "kind",
        "=",
        f"{BAIT}:s",
        "#",
        " ",
        "{",
        "}",
        "rewards",
        ":",
        "\\n",
        "'",
        "[",
        "]",
    ]
    for number in range(150):
        key = "".join(rng.choices(pieces, k=rng.randint(1, 7)))
        file = outside / f"{number}.yaml"
        atomic.write_text(file, RECIPE.format(key=f'"{key}"', value=rng.choice(["1", f'"{BAIT}:s"'])))
        with contextlib.suppress(LoquentError):
            recipes.load(file, profile="cpu")
        assert BAIT not in sys.modules, key
