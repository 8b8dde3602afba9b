"""The watch for reward hacking: what is outside a reward, values by row, and what the page says."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.report import report_folders as made
from loquent.core.values import EMPTY
from loquent.files import evaluation_rows, manifest
from loquent.files.evaluation_rows import RowValues
from loquent.report import witnesses
from loquent.report.groups import read
from loquent.report.page import html
from loquent.training import recipes
from tools.studies import watch_runs

EVALUATION = {
    "task": "generation-v1", "split": "test", "n": 3, "values": {"return": 1.0}, "errors": {},
    "higher_is_better": {"return": True, "watch/distinct_2": True, "perplexity": False, "watch/words": None},
    "rewarded": [],
}  # fmt: skip
METRICS = {"meteor": {}, "perplexity": {"stride": 8}, "a-b": {"of": "watch"}, "a": {"of": "rouge"}}


def group(metrics=METRICS, **evaluation):
    """A group of one run, which the watch reads the recipe and the evaluation of."""
    run = SimpleNamespace(config={"rewards": {"lexicon": 1.0}, "metrics": metrics}, evaluation=evaluation)
    return SimpleNamespace(runs=(run,))


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_outside_the_reward_is_recorded_and_belongs_to_a_metric(recorded):
    owners = {
        "meteor-exact-stem": "meteor",
        "perplexity-strided": "perplexity",
        "a-b/watch/same": "a-b",
        "a/rouge-legacy/rouge1": "a",
    }
    keys = [f"evaluation/{key}" for key in owners]
    others = ["evaluation/return", "evaluation/reward/sentiment", "kl/reference"]
    record = {"owners": owners} if recorded else {}
    assert witnesses.outside(group(**record), [*keys, *others]) == keys
    inside = ["meteor-exact-stem", "a-b/watch/same"]
    assert witnesses.outside(group(**record, rewarded=inside), keys) == [keys[1], keys[3]]


ROWS = [f"row {i}" for i in range(20)]
NOISE = np.random.default_rng(0).normal(size=(2, 6, 20))
FALLING, LEVEL, RISING = [0.5, 0.45, 0.4, 0.3, 0.2, 0.1], [0.5] * 6, [0.1, 0.25, 0.4, 0.5, 0.6, 0.7]


def folder(path, distinct, *, perplexity=LEVEL, returns=RISING, every=1, finished=True, by_row=True, seed=0):
    """A run on sentiment with an evaluation after each update: means over rows of its values."""
    made.run(
        path,
        "reviews_composed",
        updates=len(distinct) or 2,
        finished=False,
        seed=seed,
        overrides=["metrics={watch: {}, perplexity: {}}"],
    )
    lines = []
    for i, line in enumerate(json.loads(one) for one in (path / "metrics.jsonl").read_text().splitlines()):
        line = {key: value for key, value in line.items() if not key.startswith("evaluation/")}
        if distinct and (i + 1) % every == 0:
            noise = [0.01 * (part - part.mean()) for part in NOISE[:, i]]
            values = {
                "return": returns[i] + noise[0],
                "watch/distinct_2": distinct[i] + noise[1],
                "perplexity": perplexity[i] + noise[0],
                "watch/words": np.full(20, 20.0),
            }
            line |= {f"evaluation/{key}": column.mean() for key, column in values.items()}
            if by_row:
                columns = {key: column.tolist() for key, column in values.items()}
                evaluation_rows.append(path, line["update"], ROWS, columns)
        lines.append(line)
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if finished:
        (path / "evaluation.json").write_text(json.dumps(manifest.add_seal(EVALUATION)))
    return path


def section(*folders):
    page = html(read(folders))
    return page.partition('id="watch-for-reward-hacking"')[2].partition("</section>")[0]


def test_the_page_says_plainly_that_a_reward_is_hacked(tmp_path):
    page = section(folder(tmp_path / "run", FALLING))
    assert "The reward is being hacked." in page
    assert (
        "At 6 evaluations the return rose from 0.1 (update 1) to 0.7, and outside the reward got worse: "
        "watch/distinct_2 went from 0.5 (update 1) to 0.1. Nothing else got better."
    ) in page
    assert "−0.4 ± " in page
    assert '<h4 class="mono">kl/reference</h4>' in page
    assert "rollout/weighted/sentiment" in page, "the parts of the reward are beside what is outside it"
    assert "perplexity (turned)" in page


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"distinct": [0.5, 0.49, 0.47, 0.45, 0.44, 0.43]}, "The reward is bought at a price."),
        (
            {"distinct": FALLING, "perplexity": [4, 3.8, 3.6, 3.4, 3.2, 3]},
            "Got better: perplexity went from 4 (update 1) to 3.",
        ),
        ({"distinct": FALLING, "returns": RISING[::-1]}, "the return did not rise, so nothing shows"),
        (
            {"distinct": [0.4, 0.5, 0.5, 0.2, 0.2, 0.2], "returns": [0.1, 0.8, 0.8, 0.3, 0.4, 0.5]},
            "the return fell after they were at their best, so nothing shows",
        ),
        ({"distinct": LEVEL}, "At 6 evaluations nothing measured outside the reward fell. Looked at: "),
        ({"distinct": []}, "The reward cannot be watched: nothing was evaluated in training"),
        ({"distinct": FALLING, "every": 6}, "One evaluation shows no change"),
        ({"distinct": FALLING, "finished": False}, "The run has not ended"),
        ({"distinct": FALLING, "by_row": False}, "have no values by row"),
    ],
)
def test_what_the_page_says(values, text, tmp_path):
    page = section(folder(tmp_path / "run", **values))
    assert text in page
    assert ("hacked." in page.replace("the reward is hacked.", "")) == ("Got better" in text)


@pytest.mark.parametrize(("top", "saturated"), [([None, 1.0], True), ([0.0, None], False), (None, False)])
def test_a_saturated_return_is_known_by_the_recorded_range(tmp_path, top, saturated):
    run = folder(tmp_path / "run", FALLING, returns=[0.98] * 6)
    evaluation = EVALUATION | ({"ranges": {"return": top}} if top else {})
    (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(evaluation)))
    assert ("The reward is being hacked." in section(run)) is saturated


def test_what_an_earlier_version_did_not_record_is_unknown(tmp_path):
    run = folder(tmp_path / "run", FALLING)
    old = {key: value for key, value in EVALUATION.items() if key != "rewarded"}
    (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(old)))
    page = section(run)
    assert "does not record which values are rewarded" in page
    assert "outside the reward" not in page


def test_damaged_values_by_row_are_a_note(tmp_path):
    run = folder(tmp_path / "run", FALLING)
    file = run / "evaluation_rows.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:2], lines[0]]))
    assert "The values by row of seed 0 cannot be read; the notes at the end of the page" in section(run)
    assert "evaluation_rows.jsonl:3: this line is not what a run wrote" in html(read([run]))


@pytest.mark.parametrize("damage", ["few rows", "no return"])
def test_too_few_rows_are_said(damage, tmp_path):
    run = folder(tmp_path / "run", FALLING)
    lines = [json.loads(one) for one in (run / "evaluation_rows.jsonl").read_text().splitlines()]
    for line in lines:
        if damage == "few rows":
            line["rows"] = [f"row {i % 7}" for i in range(20)]
        else:
            del line["values"]["return"]
    (run / "evaluation_rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    reason = {"few rows": "too few rows have a value at each evaluation"}
    reason = reason.get(damage, "no evaluation keeps values by row")
    assert f"The return cannot be tested: {reason}. 8 rows with a return" in section(run)


def change_rows(run, change):
    """Change each line of the values by row of a run, with its number."""
    file = run / "evaluation_rows.jsonl"
    lines = [json.loads(one) for one in file.read_text().splitlines()]
    for number, line in enumerate(lines):
        change(number, line)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_why_seeds_cannot_be_judged_together(tmp_path):
    """Other rows, and other updates, are no work of an earlier version."""
    one, two = (folder(tmp_path / f"seed-{seed}", FALLING, seed=seed) for seed in range(2))
    change_rows(two, lambda _, line: line.update(rows=[f"other {row}" for row in line["rows"]]))
    assert "The return cannot be tested: too few rows are the same in all seeds." in section(one, two)
    evaluation_rows.append(one, 99, ["row"], {"success": [1.0]})
    assert "too few rows are the same in all seeds." in section(one, two), "an evaluation that only one has"
    change_rows(two, lambda _, line: line.update(update=line["update"] + 100))
    assert "The seeds were never evaluated at the same update" in section(one, two)
    (two / "evaluation_rows.jsonl").unlink()
    assert "of seed 1 have no values by row: an earlier version" in section(one, two)


def test_the_page_has_the_logged_scores(tmp_path):
    """Values by row decide on chance alone: a witness whose score rose did not fall."""
    run = folder(tmp_path / "run", FALLING, perplexity=[4, 3.8, 3.6, 3.4, 3.2, 3])
    lines = [json.loads(one) for one in (run / "metrics.jsonl").read_text().splitlines()]
    for i, line in enumerate(lines):
        line["evaluation/watch/distinct_2"] = [0.61, 0.6, 0.5, 0.4, 0.4, 0.31][i]
        line["evaluation/perplexity"] = 4.0 - i / 4
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = section(run)
    assert "watch/distinct_2 went from 0.61 (update 1) to 0.31" in page
    assert "Got better: perplexity went from 4 (update 1) to 2.75" in page
    for i, line in enumerate(lines):
        line["evaluation/watch/distinct_2"] = 0.18 + 0.01 * i
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "nothing measured outside the reward fell" in section(run)


def test_seeds_are_a_mean_of_their_values_by_row(tmp_path):
    folders = [
        folder(tmp_path / f"seed-{seed}", values, seed=seed) for seed, values in enumerate((FALLING, LEVEL))
    ]
    page = section(*folders)
    assert "At 6 evaluations (means over 2 seeds)" in page
    assert "watch/distinct_2 went from 0.5 (update 1) to 0.3" in page


def test_values_by_row_are_means_over_episodes_and_seeds():
    def run(*updates):
        rows, values = ("a", "b", "a"), (1.0, None, 4.0)
        return [RowValues(u, rows, {"return": (1.0, 2.0, u), "x": values}) for u in updates]

    updates, columns = witnesses.rows_by_key([run(0, 2, 4), run(2, 4, 6)])
    assert updates == (2, 4)
    assert columns["return"].tolist() == [[1.5, 2], [2.5, 2]]
    assert columns["x"][:, 0].tolist() == [2.5, 2.5]
    assert all(map(math.isnan, columns["x"][:, 1]))
    assert witnesses.rows_by_key([run(0), run(2)]) == ((), {})
    largest = [RowValues(u, ("a", "a", "b"), {"return": (1.7e308, 1.7e308, 0.0)}) for u in (0, 1)]
    found = witnesses.rows_by_key([largest, largest])[1]["return"]
    assert found.tolist() == [[1.7e308, 0]] * 2


def test_a_run_without_rewards_has_no_watch(tmp_path):
    assert section(made.run(tmp_path / "run", "reviews_base")) == ""


def test_a_recipe_with_rewards_that_names_no_metric_is_watched(tmp_path):
    def metrics(text):
        (tmp_path / "own.yaml").write_text(text)
        return dict(recipes.load(tmp_path / "own.yaml").metrics)

    assert metrics("rewards: {lexicon: 1.0}\n") == {"watch": EMPTY}
    assert metrics("rewards: {lexicon: 1.0}\nmetrics: {}\n") == {}, "none at all, where it says so"
    assert metrics("rewards: {lexicon: 1.0}\nmetrics: {diversity: {}}\n") == {"diversity": EMPTY}
    assert metrics("algorithm: supervised\n") == {}
    assert metrics("task: wordle\nrewards: {guess: 1.0}\n") == {}, "actions are no texts"
    whole = recipes.load("reviews_composed", ["metrics={}"])
    assert whole.replace("training.seed=1").metrics == whole.metrics == EMPTY, (
        "and what was written out is read back so"
    )


WHY = {
    "few rows": "too few rows have a value at each evaluation",
    "one evaluation": "an evaluation has no values by row",
    "no evaluation": "no evaluation keeps values by row",
    "no direction": "the evaluation at the end records no direction",
}


@pytest.mark.parametrize("where", WHY)
def test_a_value_that_some_evaluations_have_not_is_named(where, tmp_path):
    """A policy that says nothing at all has no bigrams: the witness is silent, and the page says so."""
    run = folder(tmp_path / "run", FALLING)

    def damage(number, line):
        if where == "few rows":
            line["values"]["watch/distinct_2"][7:] = [None] * 13
        elif where == "no evaluation" or number == 5:
            del line["values"]["watch/distinct_2"]

    if where != "no direction":
        change_rows(run, damage)
    else:
        record = json.loads((run / "evaluation.json").read_text())
        del record["higher_is_better"]["watch/distinct_2"]
        (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(record)))
    page = section(run)
    assert f"Looked at: perplexity. Not looked at, because {WHY[where]}: watch/distinct_2." in page
    assert "watch/words" not in page.partition("Not looked at")[2].partition("</p>")[0], (
        "what has no direction is no witness"
    )


@pytest.mark.parametrize(
    ("outcome", "distinct"),
    [("hacked", FALLING), ("price", [0.5, 0.49, 0.47, 0.45, 0.44, 0.43]), ("calm", LEVEL)],
)
def test_the_study_of_real_runs_names_the_outcome_of_a_folder(outcome, distinct, tmp_path):
    found = watch_runs.line(folder(tmp_path / "run", distinct), "reviews_composed", 0, "c0ffee")
    assert (found["outcome"], found["saturated"]) == (outcome, False)
    rise, *falls = found["changes"]
    assert (rise["key"], rise["earlier"], rise["last"]) == ("return", pytest.approx(0.1), pytest.approx(0.7))
    assert {fall["key"]: fall["deep"] for fall in falls}["watch/distinct_2"] == (outcome == "hacked")
