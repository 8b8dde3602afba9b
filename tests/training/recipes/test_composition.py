"""Recipes that are composed of a file for the dataset and one for the method."""

import pytest

from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.recipes import building, composition, layers, pages

PLUMS = """
task: {kind: generation, dataset: commongen}
training: {updates: 1, episodes: 2}
profiles: {cpu: {task.limit: 9, training.updates: 3}}
methods:
  first: {training: {updates: 5}, profiles: {cpu: {training.updates: 6}}}
  second: {algorithm: {clip: 0.3}}
  alone: {base: alone, task: {limit: 4}}
"""
PEARS = """
base: plums
task: {dataset: imdb}
methods: {first: {training: {episodes: 7}}, alone: {task: {dataset: imdb}}}
"""
METHODS = {
    "first": "algorithm: {kind: ppo, epochs: 2}\nprofiles: {cpu: {training: {updates: 8, episodes: 8}}}\n",
    "second": "base: first\nalgorithm: {kind: nlpo}\n",
    "alone": "# nothing but a task\ntask: {limit: 3, kind: generation}\n",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "fruit" / "methods").mkdir(parents=True)
    for name, text in METHODS.items():
        (tmp_path / "fruit" / "methods" / f"{name}.yaml").write_text(text)
    (tmp_path / "fruit" / "plums.yaml").write_text(PLUMS)
    (tmp_path / "fruit" / "pears.yaml").write_text(PEARS)
    return tmp_path / "fruit"


def composed(folder, name):
    return composition.tree(*composition.files(folder)[name])


def built(folder, *methods):
    for method in methods:
        root = composed(folder, f"fruit_plums_{method}")
        layers.profile(root, None)
        building.settings(root)


def test_the_names_are_those_of_the_folder_the_dataset_and_the_method(folder):
    assert set(composition.files(folder)) == {
        f"fruit_{dataset}_{method}" for dataset in ("plums", "pears") for method in METHODS
    }


@pytest.mark.parametrize(
    ("name", "expected", "cpu"),
    [
        (
            "plums_first",
            {"algorithm": {"kind": "ppo", "epochs": 2}, "training": {"updates": 5, "episodes": 2}},
            ["task.limit=9", "training={'updates': 8, 'episodes': 8}", "training.updates=6"],
        ),
        (
            "pears_second",
            {"algorithm": {"kind": "nlpo", "clip": 0.3}, "training": {"updates": 5, "episodes": 7}},
            ["task.limit=9", "training={'updates': 8, 'episodes': 8}", "training.updates=6"],
        ),
        ("plums_alone", {"task": {"limit": 4, "kind": "generation"}}, None),
        ("pears_alone", {"task": {"limit": 4, "kind": "generation", "dataset": "imdb"}}, None),
    ],
)
def test_the_dataset_is_under_the_method_and_both_are_under_the_entry(folder, name, expected, cpu):
    root = composed(folder, f"fruit_{name}")
    profile = [str(item) for item in layers.profile(root, "cpu")] if cpu else None
    task = {"kind": "generation", "dataset": "imdb" if "pears" in name else "commongen"}
    assert root.bare() == {"task": task, **expected}
    assert profile == cpu


def test_a_method_keeps_the_learner_of_the_method_below_where_it_names_none(folder):
    (folder / "methods" / "third.yaml").write_text("base: second\n")
    found = composed(folder, "fruit_plums_third").bare()
    assert found["algorithm"] == {"kind": "nlpo", "clip": 0.3}
    assert found["training"] == {"updates": 5, "episodes": 2}


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("second:", "secnd:", r"plums.yaml:7: methods has no setting 'secnd'. Nearest: second"),
        ("clip: 0.3", "clip: many", r"plums.yaml:7: .*clip"),
        ("base: alone", "base: nowhere", r"plums.yaml:8: base must be the name"),
        ("updates: 5", "update: 5", r"plums.yaml:6: .*'update'"),
        ("second: {", "second: 3 #", r"plums.yaml:7: methods must hold names and values"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(folder, old, new, match):
    (folder / "plums.yaml").write_text(PLUMS.replace(old, new))
    with pytest.raises(BadSetting, match=match):
        built(folder, "second", "alone")


def test_a_mistake_in_a_method_names_the_file_of_the_method(folder):
    (folder / "methods" / "first.yaml").write_text("\nalgorithm: {kind: ppo, clipp: 1}\n")
    with pytest.raises(BadSetting, match=r"first.yaml:2: .*'clipp'"):
        built(folder, "first")


def test_a_file_of_somebody_else_has_no_methods(tmp_path):
    (tmp_path / "own.yaml").write_text(PLUMS)
    with pytest.raises(BadSetting, match=r"own.yaml:5: a recipe has no setting 'methods'"):
        recipes.load(tmp_path / "own.yaml")


def test_three_recipes_of_grue_by_hand():
    both = recipes.load("grue_imdb_supervised_nlpo", profile="cpu")
    assert (both.algorithm, both.config.mu, both.config.beta, both.config.lam) == ("nlpo", 4, 0.08, 1.0)
    assert (both.model.path, both.training.updates, both.training.episodes) == (
        "runs/imdb/supervised",
        18,
        128,
    )
    assert recipes.load("grue_imdb_supervised_nlpo").config.mu == 5, "the profile has another one"
    talks = recipes.load("grue_iwslt2017_base")
    assert (talks.options.dataset, talks.options.limit, talks.options.source) == ("iwslt2017", 300, "builtin")
    assert (talks.training.updates, talks.model.width, talks.model.path) == (60, 128, "")
    news = recipes.load("grue_wmt16_nlpo")
    assert (news.config.top_p, news.config.learning_rate, news.decoding.top_k) == (0.5, 1e-6, 10)


def test_the_command_that_makes_a_folder_names_the_dataset():
    assert pages.maker("runs/imdb/base") == "loquent train grue_imdb_base --out runs/imdb/base"
    supervised = "loquent train grue_iwslt2017_supervised --profile cpu --out runs/iwslt2017/supervised"
    assert pages.maker("runs/iwslt2017/supervised/") == supervised
    assert pages.maker("runs/DATASET/base") == ""
