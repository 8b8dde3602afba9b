"""Shipped recipes evaluate often enough for the watch for reward hacking, which then has something to say."""

import json
import shutil
from pathlib import Path

import pytest

from helpers.states import difference
from loquent import pretrained
from loquent.bench import jobs
from loquent.bench import suite as suites
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint
from loquent.files import evaluation_rows, names
from loquent.report import watch, witnesses, write_report
from loquent.report.groups import read
from loquent.training import recipes
from loquent.training.train import train

ENOUGH = 5  # evaluations: with fewer a fall is seen late
CORPUS = {"watch/distinct_2", "watch/same"}  # scores of all answers together, which have pseudo-values
IMITATION = {"supervised", "cloning", "filtered_cloning", "sb3/cloning"}
SHIPPED = {
    name: recipes.load(name)
    for name in sorted(path.stem for path in recipes.FOLDER.iterdir() if path.name.endswith(".yaml"))
}
LEARNING = [name for name, whole in SHIPPED.items() if whole.algorithm not in IMITATION]
SMALL = (
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=200",
    "model.context=512",
)
TINY = (
    "training.episodes=4",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "decoding.max_new_tokens=6",
    "algorithm.epochs=1",
)
CHEAP = (
    "task.limit=60",
    "task.prompt_words=6",
    "algorithm.minibatch=4",
    "metrics={watch: {}, again: {of: lexicon}}",
    "rewards={lexicon: 1.0}",
)


def test_the_recipes_that_are_meant_are_there():
    assert {"reviews_ppo", "reviews_nlpo", "tagging_dqn", "wordle_ilql"} <= set(LEARNING)
    assert not {"reviews_base", "wordle_clone", "tagging_supervised"} & set(LEARNING)


@pytest.mark.parametrize("name", LEARNING)
def test_a_recipe_of_reinforcement_learning_evaluates_often_enough_for_the_watch(name):
    training = SHIPPED[name].training
    assert training.evaluations >= ENOUGH
    assert training.evaluate_every <= training.updates // (ENOUGH - 1)


@pytest.mark.sweep("nlpgym-cpu", "quickstart-cpu")
@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for name in suites.names() for profile in suites.load(name).profiles],
)
def test_so_does_each_run_of_a_suite_that_rewards_something(name, profile):
    planned = jobs.plan(suites.load(name), Path("out"), profile, 1, {})
    made = [
        job
        for job in planned.jobs
        if isinstance(job, jobs.Job) and not job.agent and job.recipe.algorithm not in IMITATION
    ]
    few = [
        job.name
        for job in made
        if job.recipe.rewards and job.recipe.training.updates and job.recipe.training.evaluations < ENOUGH
    ]
    assert few == []


@pytest.mark.parametrize(
    ("settings", "evaluations"),
    [
        (("training.updates=18", "training.evaluate_every=2", "training.evaluate_first=true"), 10),
        (("training.updates=18", "training.evaluate_every=4", "training.evaluate_first=false"), 4),
        (("training.updates=18", "training.evaluate_every=0", "training.evaluate_first=true"), 0),
        (("training.updates=0", "training.evaluate_every=2", "training.evaluate_first=true"), 0),
    ],
)
def test_evaluations_by_hand(settings, evaluations):
    assert SHIPPED["reviews_ppo"].replace(*settings).training.evaluations == evaluations


def small(*overrides):
    return recipes.load("reviews_ppo", [*SMALL, *TINY, *CHEAP, *overrides])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The recipe's own updates and evaluations, with a tiny model and few episodes."""
    return train(
        small("training.checkpoint_every=16", "training.evaluate_episodes=8"),
        tmp_path_factory.mktemp("runs") / "whole",
        progress=False,
    )


def test_the_watch_gives_a_verdict(whole):
    [group] = read([whole.folder])
    keys = list(dict.fromkeys(key for line in whole.metrics for key in line))
    found = witnesses.judge(group, keys, whole.evaluation["higher_is_better"])
    assert len(found.updates) == whole.recipe.training.evaluations == 10
    assert {"watch/distinct_2", "watch/overlap"} <= set(found.divergence.witnesses)
    assert watch.statement(found).mark in ("verdict calm", "verdict price", "verdict alarm"), "not unknown"


def test_the_evaluation_at_the_end_records_ranges_and_what_is_rewarded(whole):
    assert whole.evaluation["rewarded"] == ["again/lexicon/balance"]
    ranges = whole.evaluation["ranges"]
    assert ranges["return"] == ranges["reward/lexicon"] == [-1.0, 1.0]
    assert (ranges["watch/repetition"], ranges["watch/words"]) == ([0.0, 1.0], [0.0, None])
    assert "answers" not in ranges, "no range is known"


def test_the_first_evaluation_is_before_the_first_update(whole):
    first = whole.metrics[0]
    assert (first["update"], first["episodes"]) == (0, 0)
    assert all(key.startswith("evaluation/") for key in first.keys() - {"update", "episodes"})
    assert (whole.folder / "episodes" / "update-0.jsonl").is_file()
    assert [line["update"] for line in whole.metrics] == list(range(19))
    assert [line["update"] for line in whole.metrics if "evaluation/return" in line] == list(range(0, 19, 2))


def test_each_evaluation_keeps_its_values_by_row(whole):
    kept = evaluation_rows.load(whole.folder)
    lines = [line for line in whole.metrics if "evaluation/return" in line]
    assert [one.update for one in kept] == [line["update"] for line in lines]
    for one, line in zip(kept, lines, strict=True):
        episodes = whole.episodes("validation", update=one.update)
        assert one.rows == tuple(episode.row for episode in episodes)
        assert one.values["return"] == tuple(episode.total({"lexicon": 1.0}) for episode in episodes)
        assert one.values.keys() >= {"reward/lexicon", "answers", "watch/words", *CORPUS}
        for key in one.values.keys() - CORPUS:
            column = [value for value in one.values[key] if value is not None]
            assert sum(column) / len(column) == pytest.approx(line[f"evaluation/{key}"], abs=1e-12)
    assert len({str(one.values) for one in kept}) > 1, "the policy has learned"


def test_evaluations_of_a_policy_that_does_not_learn_are_equal_by_row(tmp_path, monkeypatch):
    """Same rows, same random streams, whatever training has drawn in between; no second pass of a network."""
    frozen = small(
        "algorithm.learning_rate=0",
        "training.updates=2",
        "training.evaluate_every=1",
        "metrics={watch: {}, perplexity: {}, other: {of: bleu}, length: {of: self_bleu}}",
    )
    passes = []
    monkeypatch.setattr(pretrained, "nll_of_rows", _noting(passes, pretrained.nll_of_rows))
    monkeypatch.setattr(pretrained, "nll", _noting(passes, pretrained.nll))
    with pytest.warns(Remark, match="learning_rate = 0"):
        run = train(frozen, tmp_path / "run", progress=False)
    first, *rest = evaluation_rows.load(run.folder)
    assert len(rest) == 2
    assert all((one.rows, one.values) == (first.rows, first.values) for one in rest)
    assert first.values.keys() >= {"perplexity", "other/bleu", "other/bleu/bleu1", *CORPUS}
    assert not any("self_bleu" in key for key in first.values)
    assert len(passes) == 4, "one for each evaluation"
    for key in ("watch/words", "perplexity"):
        assert len(set(first.values[key])) > 1, "rows differ"
    perplexity = run.metrics["evaluation/perplexity"][0]
    assert sum(first.values["perplexity"]) / 4 == pytest.approx(perplexity, rel=0.2), "up to its bias"


def _noting(calls, function):
    def noted(*given, **named):
        calls.append(function)
        return function(*given, **named)

    return noted


def test_looking_first_changes_nothing_that_comes_after(whole, tmp_path):
    other = train(
        small("training.evaluate_first=false", "training.updates=4", "training.evaluate_episodes=8"),
        tmp_path / "other",
        progress=False,
    )
    assert other.metrics == whole.metrics[1:5]


def test_a_run_that_was_evaluated_first_is_resumed(whole, tmp_path):
    half = tmp_path / "half"
    shutil.copytree(whole.folder, half)
    shutil.rmtree(half / "checkpoints" / "update-18")
    (half / "evaluation.json").unlink()
    rows = (half / names.EVALUATION_ROWS).read_bytes()
    train(whole.recipe, half, progress=False, resume=True)
    assert difference(whole.folder, half) is None
    (half / names.EVALUATION_ROWS).write_bytes(rows.replace(b"1", b"2", 1))
    with pytest.raises(BadCheckpoint, match=rf"{names.EVALUATION_ROWS}:1: this line is not what"):
        train(whole.recipe, half, progress=False, resume=True)
    (half / names.EVALUATION_ROWS).write_bytes(rows)
    lines = (half / "metrics.jsonl").read_text().splitlines(keepends=True)
    (half / "metrics.jsonl").write_text("".join(lines[1:]))
    with pytest.raises(BadCheckpoint, match="a line is missing"):
        train(whole.recipe, half, progress=False, resume=True)
    assert json.loads(lines[0])["update"] == 0


def test_a_report_of_a_run_under_way_reads_evaluations_that_are_newer_than_its_checkpoint(tmp_path):
    often = small("training.updates=2", "training.evaluate_every=1", "training.checkpoint_every=1")
    made = train(often, tmp_path / "run", progress=False).folder
    shutil.rmtree(made / "checkpoints" / "update-2")
    for name in ("evaluation.json", "episodes.jsonl"):
        (made / name).unlink()
    assert write_report([made], tmp_path / "page.html").is_file()
