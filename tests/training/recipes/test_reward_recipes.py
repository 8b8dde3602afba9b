"""The recipes of a composed reward and of one that can be gamed, at smoke size: what is logged, and what
their report says.
"""

import json
import math

import pytest

from loquent.report import write_report
from loquent.training import recipes
from loquent.training.train import train

SMALL = [
    "training.evaluate_every=1",
    "training.evaluate_episodes=8",
    "training.updates=5",
    "training.episodes=6",
    "algorithm.minibatch=3",
    "algorithm.learning_rate=0.003",
]


@pytest.fixture(scope="module")
def composed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "composed"
    return train(
        recipes.load("reviews_composed", [*SMALL, "training.checkpoint_every=2"], profile="smoke"),
        folder,
        progress=False,
    )


def test_each_part_of_a_composed_reward_is_logged_raw_and_weighted(composed):
    weights = {
        name: given if isinstance(given, float) else given["weight"]
        for name, given in composed.recipe.rewards.items()
    }
    assert weights == {"sentiment": 1.0, "praise": 0.2, "like_a_review": 0.1, "repetition": 1.0}
    assert composed.metrics[0]["update"] == 0, "evaluated before the first update"
    for line in composed.metrics[1:]:
        weighted = {
            key.removeprefix("rollout/weighted/"): value
            for key, value in line.items()
            if key.startswith("rollout/weighted/")
        }
        assert weighted.keys() <= weights.keys()
        assert sum(weighted.values()) == pytest.approx(line["rollout/return"])
        assert line["rollout/reward/sentiment"] == pytest.approx(line["rollout/weighted/sentiment"]), (
            "every episode has one, and it weighs 1"
        )
        assert 0.0 <= line["rollout/reward/like_a_review/raw"] <= 1.0
    state = json.loads((composed.folder / "checkpoints/update-5/state.json").read_text())
    statistics = state["experience"]["rewards"]
    raw = [line["rollout/reward/like_a_review/raw"] for line in composed.metrics[1:]]
    assert statistics["like_a_review"]["count"] == 30
    assert statistics["like_a_review"]["mean"] == pytest.approx(sum(min(value, 0.6) for value in raw) / 5)
    first = composed.metrics[1]["rollout/reward/like_a_review"]
    assert abs(first) < 1e-9, "the first collection is normalised by itself"


def test_an_evaluation_counts_scores_as_they_are(composed):
    values = composed.evaluation["values"]
    assert values["reward/like_a_review"] == pytest.approx(min(values["reward/like_a_review/raw"], 0.6))
    assert values["reward/like_a_review/raw"] == pytest.approx(values["watch/overlap"])
    assert math.isfinite(values["return"])


@pytest.mark.parametrize("name", ["reviews_composed", "reviews_gamed"])
def test_the_report_of_a_run_watches_its_reward(name, composed, tmp_path):
    run = (
        composed
        if name == "reviews_composed"
        else train(recipes.load(name, SMALL, profile="smoke"), tmp_path / "gamed", progress=False)
    )
    page = write_report([run.folder], tmp_path / "report.html").read_text()
    watch = page.partition('id="watch-for-reward-hacking"')[2].partition("</section>")[0]
    assert 'class="verdict' in watch
    assert "cannot be watched" not in watch
    assert "cannot be tested" not in watch
    for key in (
        "evaluation/judge/positive",
        "evaluation/watch/distinct_2",
        "rollout/weighted/sentiment",
        "kl/reference",
        "evaluation/perplexity",
    ):
        assert key in watch, key
