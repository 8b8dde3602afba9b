"""How the settings of cells were found: the record of a search in a suite, and what the page says of it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from loquent.bench import exports, jobs, pages, results
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.search import trials
from loquent.errors import BadSetting
from loquent.files.run_folder import Tuning
from loquent.training import recipes

TUNING = (
    "{trials: 4, updates: 72, episodes: 9216, seconds: 310.4, metric: return, split: validation, rows: 300}"
)
RECORD = f"""
    search:
      reviews_ppo: {{set: {{algorithm.learning_rate: 0.02, algorithm.clip: 0.3}}, tuning: {TUNING}}}
"""


@pytest.fixture
def searched(suite):
    """A suite whose recipe `reviews_ppo` has the record of a search in the profile `cpu`."""
    suite.write_text(suite.read_text().replace("    seeds: 2\n", f"    seeds: 2{RECORD}", 1))
    return suite


def plan(file, profile="cpu", seeds=1, overrides=()):
    suite = suites.load(file)
    return jobs.plan(suite, Path("out"), profile, seeds, jobs.by_entry(overrides, list(suite.entries)))


def shown(file, profile="cpu", seeds=1, overrides=()):
    """The results of a suite whose runs all measured nothing but their size."""
    made = plan(file, profile, seeds, overrides)
    evaluation = {"values": {}, "n": 9, "rows": 9, "task": "t-v1", "errors": {}, "decoding": "argmax"}
    outcomes = {job.key: Outcome(job.key, evaluation) for job in made.jobs}
    return results.collect(suites.load(file), profile, seeds or 3, made, outcomes)


def section(text):
    """The part of a page on how settings were found."""
    return text.partition("## How settings were found\n")[2].partition("\n## ")[0]


def row_of(text, cell):
    """The line of a cell in that part."""
    return next(line for line in section(text).splitlines() if re.search(rf"\| .*\b{cell}\b.* \|", line))


def test_the_settings_that_a_search_chose_are_those_of_its_recipe(searched):
    own = {job.name: job.recipe for job in plan(searched).jobs}
    assert (own["zero"].config.learning_rate, own["zero"].config.clip) == (0.02, 0.3)
    assert (own["ppo"].config.learning_rate, own["ppo"].config.clip) == (0.1, 0.3), "a cell's own come last"
    assert own["ppo"].tuning == Tuning(
        trials=4, updates=72, episodes=9216, seconds=310.4, metric="return", split="validation", rows=300
    )
    assert own["base"].tuning is None
    smoke = {job.name: job.recipe for job in plan(searched, "smoke").jobs}
    assert (smoke["zero"].config.clip, smoke["zero"].tuning) == (0.2, None), "a record is of one profile"


def test_the_record_of_a_cell_is_above_its_own_settings_and_of_it_alone(searched):
    own = f"      ppo: {{set: {{algorithm.learning_rate: 0.03}}, tuning: {TUNING.replace('4', '7', 1)}}}\n"
    searched.write_text(searched.read_text().replace("    search:\n", f"    search:\n{own}", 1))
    recipe = {job.name: job.recipe for job in plan(searched).jobs}
    assert (recipe["ppo"].config.learning_rate, recipe["ppo"].config.clip) == (0.03, 0.3)
    assert (recipe["ppo"].tuning.trials, recipe["zero"].tuning.trials) == (7, 4)
    assert recipe["zero"].config.learning_rate == 0.02
    assert re.search(r"\| +searched \| +7 \|", row_of(pages.markdown(shown(searched)), "ppo"))


def test_the_page_says_for_each_method_how_its_settings_were_found(searched):
    found = shown(searched)
    for text in (pages.markdown(found), pages.html(found)):
        assert "How settings were found" in text
    line = row_of(pages.markdown(found), "ppo")
    for part in ("4", "72", "310", "return on 300 rows of the split validation"):
        assert part in line, line
    text = row_of(pages.markdown(found), "expert") + row_of(pages.markdown(found), "zero")
    assert text.count("nothing is trained") == 2, "an agent plays, and a recipe has no update"
    care = exports.as_json(found)["cells"]["ppo"]["care"]
    assert care["tuning"] == {
        **{"trials": 4, "updates": 72, "episodes": 9216, "seconds": 310.4},
        **{"metric": "return", "split": "validation", "rows": 300},
    }


def test_the_page_names_what_was_changed_after_the_search(searched):
    """By a cell's own settings, or by an override; a setting that has its value is not changed."""
    searched.write_text(searched.read_text().replace("algorithm.clip: 0.3}", "algorithm.clip: 3.0e-1}"))
    found = shown(searched)
    assert "searched, then changed: algorithm.learning_rate |" in row_of(pages.markdown(found), "ppo")
    assert exports.as_json(found)["cells"]["ppo"]["care"]["changed"] == ("algorithm.learning_rate",)
    both = shown(searched, overrides=["ppo:algorithm.clip=0.25"])
    assert "searched, then changed: algorithm.learning_rate, algorithm.clip |" in pages.markdown(both)
    same = shown(searched, overrides=["*:algorithm.learning_rate=0.02"])
    assert " searched |" in row_of(pages.markdown(same), "ppo")
    assert "changed" not in section(pages.markdown(same))


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"evaluate_split": "test"}, "test"),
        ({"final_split": "validation"}, "validation"),
    ],
)
def test_early_stopping_on_the_rows_of_the_final_evaluation_is_refused(suite, tmp_path, given, place):
    """In a suite, in a recipe, and by an override; a run that has begun can still be read."""
    [(name, split)] = given.items()
    wrong, says = f"training.{name}={split}", rf"training\.stop_metric = 'perplexity' .* split '{place}'.*Set"
    with pytest.raises(BadSetting, match=f"base: command line: {says}"):
        plan(suite, overrides=[f"base:{wrong}"])
    with pytest.raises(BadSetting, match=f"command line: {says}"):
        recipes.load("reviews_base", [wrong])
    recipe = recipes.load("reviews_base")
    with pytest.raises(BadSetting, match=says):
        recipe.replace(wrong)
    for fine in ("training.stop_metric=", "training.updates=0"):
        recipe.replace(wrong, fine)
    written = replace(recipe, training=replace(recipe.training, **given))
    assert written.replace("training.updates=3").training.updates == 3, "as where a run is extended"
    (tmp_path / "config.yaml").write_text(written.yaml())
    assert recipes.load(tmp_path / "config.yaml", begun=True) == written
    trial = trials.job(recipe, 0, 0, 4, tmp_path)
    assert trial.recipe.training.final_split == trial.recipe.training.evaluate_split == "validation"


def test_a_suite_without_a_record_says_that_nothing_was_searched(suite):
    text = pages.markdown(shown(suite))
    assert "No settings of this suite were searched: all were set by hand." in section(text)
    assert "by hand, not searched" in row_of(text, "ppo")


def test_the_page_says_which_checkpoint_is_evaluated(suite):
    watched = "set: {training.stop_metric: sentiment/positive, metrics.sentiment: {}, "
    suite.write_text(suite.read_text().replace("set: {algorithm.gamma: 0.9, ", watched, 1))
    text = pages.markdown(shown(suite))
    assert "the best sentiment/positive of 64 episodes of the split validation" in row_of(text, "ppo")
    assert "the last update" in row_of(text, "same")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("split: validation", "split: test", ["small.yaml:", "split = 'test'", "never", "validation"]),
        ("trials: 4", "trials: 0", ["small.yaml:", "trials", "at least 1"]),
        ("metric: return, ", "", ["small.yaml:", "metric"]),
        ("      reviews_ppo: {set", "      reviews_pop: {set", ["small.yaml:", "reviews_pop", "reviews_ppo"]),
        (
            "      reviews_ppo: {set",
            "      any: {set",
            ["small.yaml:", "search: no recipe", "'any'", "reviews_ppo"],
        ),
    ],
)
def test_a_record_that_cannot_be_is_refused_with_its_place(searched, old, new, says):
    searched.write_text(searched.read_text().replace(old, new, 1))
    with pytest.raises(BadSetting) as error:
        suites.load(searched)
    for part in says:
        assert part in str(error.value), error.value


def test_a_search_on_the_rows_of_the_final_evaluation_is_refused(searched):
    text = searched.read_text().replace(
        "any: {task", 'any: {training.final_split: validation, training.stop_metric: "", task', 1
    )
    searched.write_text(text)
    with pytest.raises(BadSetting, match=r"zero: .*'validation'.*training\.final_split"):
        plan(searched)


def test_some_cells_may_have_fewer_runs_than_the_others(suite):
    fewer = "    seeds: 3\n    fewer: {'p*': 1, expert: 2}\n"
    suite.write_text(suite.read_text().replace("    seeds: 2\n", fewer, 1))
    for seeds, expected in ((None, (3, 1, 3, 2)), (3, (3, 3, 3, 3)), (2, (2, 2, 2, 2))):
        assert tuple(map(len, plan(suite, seeds=seeds).cells.values())) == expected, "--seeds is for all"
    text = pages.markdown(shown(suite, seeds=None))
    assert "profile `cpu`, 1 to 3 seeds;" in text
    assert "of 3" not in text, "no run is missing"
    for wrong, says in (
        ("'x*': 1", r"'x\*'"),
        ("'p*': 0", r"p\* = 0, .*at least 1 run and at most the 3"),
        ("'p*': -2", r"p\* = -2, "),
        ("'p*': 4", r"p\* = 4, "),
    ):
        (suite.parent / "wrong.yaml").write_text(suite.read_text().replace("'p*': 1", wrong))
        with pytest.raises(BadSetting, match=rf"wrong\.yaml:.* fewer: .*{says}"):
            suites.load(suite.parent / "wrong.yaml")


def test_a_recipe_says_of_no_search_that_it_was_on_the_test_split(tmp_path):
    recipe = recipes.load("reviews_ppo")
    made = Tuning(trials=9, updates=1, episodes=5, seconds=1.0, metric="return", split="validation")
    before, mark, after = replace(recipe, tuning=made).yaml().partition("\ntuning:\n")
    (tmp_path / "best.yaml").write_text(before + mark + after.replace("split: validation", "split: test"))
    with pytest.raises(BadSetting, match="split = 'test'"):
        recipes.load(tmp_path / "best.yaml")
    assert json.loads(json.dumps(vars(made)))["rows"] == 0, "an earlier record does not know its rows"
