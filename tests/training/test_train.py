"""Runs: equal ones are equal to the bit, resumed ones are the same run, and every mistake is named."""

import json
import shutil
import sys
from itertools import pairwise

import pytest

import loquent
from loquent.cli import main as cli
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadReward, BadSetting, BrokenMetric
from loquent.files.run_folder import RunFolder
from loquent.training import recipes
from loquent.training.checkpoint import load
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = (
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=200",
    "model.context=512",
)
FEW = (
    "training.updates=3",
    "training.episodes=6",
    "training.evaluate_every=0",
    "training.stop_metric=",
    "training.final_episodes=4",
    "decoding.max_new_tokens=6",
)
QUICK = (
    "algorithm.epochs=2",
    "algorithm.minibatch=4",
    "algorithm.learning_rate=0.003",
    "metrics={diversity: {}}",
    "rewards={lexicon: 1.0}",
)


def small(name, *overrides):
    return recipes.load(name, [*SMALL, *FEW, *QUICK, *overrides])


def run(folder, name, *overrides):
    return train(small(name, *overrides), folder, progress=False)


@pytest.fixture(scope="module")
def ppo(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("runs") / "ppo",
        "reviews_ppo",
        "training.checkpoint_every=1",
        "training.keep=9",
    )


def test_a_schedule_spans_the_run_or_says_that_updates_are_idle(tmp_path):
    """Each of three updates has 2 x 2 gradient steps."""
    falling = ("algorithm.schedule=linear", "algorithm.warmup=0", "algorithm.floor=0")
    whole = Trainer(small("reviews_supervised", *falling, "algorithm.total_steps=0"))
    rates = [whole.update()["learning_rate"] for _ in range(3)]
    assert rates == pytest.approx([0.003 * (12 - step) / 12 for step in (3, 7, 11)])
    with pytest.warns(Remark, match="reviews_supervised: .*total_steps = 8.* is 0 after update 2 of 3"):
        short = run(tmp_path / "short", "reviews_supervised", *falling, "algorithm.total_steps=8")
    assert [line["learning_rate"] > 0 for line in short.metrics] == [True, True, False]


def test_a_run_has_its_parts(ppo):
    assert {path.name for path in ppo.folder.iterdir() if not path.name.startswith(".")} == {
        "config.yaml",
        "config.yaml.mark",
        "machine.json",
        "metrics.jsonl",
        "timings.jsonl",
        "checkpoints",
        "evaluation.json",
        "episodes.jsonl",
    }
    assert [line["update"] for line in ppo.metrics] == [1, 2, 3]
    assert ppo.metrics[0]["kl/reference"] == 0.0  # the models are equal, to the bit
    assert ppo.metrics[2]["kl/reference"] != 0.0
    assert ppo.metrics[0]["policy/ratio_error"] < 1e-4
    assert (
        ppo.recipe.fingerprint
        == small("reviews_ppo", "training.checkpoint_every=1", "training.keep=9").fingerprint
    )
    assert loquent.load_run(ppo.folder).evaluation["n"] == 4


SAME = [
    ("ppo", "reviews_ppo", ("training.checkpoint_every=1",)),
    ("ppo, other micro-batches do not exist", "reviews_ppo", ("algorithm.kl_gain=0.1",)),
    ("nlpo at top_p = 1", "reviews_nlpo", ("algorithm.top_p=1.0",)),
]


@pytest.mark.parametrize(("what", "name", "overrides"), SAME, ids=[what for what, *_ in SAME])
def test_same_runs_are_equal_to_the_bit(ppo, tmp_path, what, name, overrides):
    other = run(tmp_path / "other", name, *overrides)
    for one, two in zip(ppo.metrics, other.metrics, strict=True):
        assert {key: value for key, value in two.items() if not key.startswith("nlpo/")} == one
    ours, theirs = (
        load(RunFolder(ppo.folder).checkpoints.all()[-1]),
        load(RunFolder(other.folder).checkpoints.all()[-1]),
    )
    assert all((ours["actor"][key] == theirs["actor"][key]).all() for key in ours["actor"])


@pytest.mark.sweep("overrides1", "overrides2")
@pytest.mark.parametrize(
    "overrides", [("training.seed=1",), ("algorithm.clip=0.01",), ("decoding.temperature=0.9",)]
)
def test_other_runs_differ(ppo, tmp_path, overrides):
    assert run(tmp_path / "other", "reviews_ppo", *overrides).fingerprint != ppo.fingerprint


def test_a_run_that_stopped_early_is_the_same_when_resumed(tmp_path):
    watch = (
        "training.evaluate_every=1",
        "training.stop_metric=perplexity",
        "metrics={perplexity: {}}",
        "training.patience=1",
        "training.updates=9",
    )
    overrides = (*watch, "algorithm.learning_rate=0.3", "training.evaluate_episodes=4")
    whole = run(tmp_path / "whole", "reviews_supervised", *overrides)
    again = train(small("reviews_supervised", *overrides), whole.folder, progress=False, resume=True)
    assert len(again.metrics) < 9
    assert again.fingerprint == whole.fingerprint


@pytest.mark.parametrize(
    "end", ['{"update": 3, "episo', '{"update": 3, "episodes": 18}\n'], ids=["torn", "logged, not yet kept"]
)
def test_a_line_logged_before_its_checkpoint_is_made_again(ppo, tmp_path, end):
    half = tmp_path / "half"
    shutil.copytree(ppo.folder, half)
    shutil.rmtree(half / "checkpoints" / "update-3")
    lines = (half / "metrics.jsonl").read_text().splitlines(keepends=True)
    (half / "metrics.jsonl").write_text("".join(lines[:2]) + end)
    resumed = train(ppo.recipe, half, progress=False, resume=True)
    assert resumed.metrics == ppo.metrics
    assert resumed.fingerprint == ppo.fingerprint


def test_python_writes_the_same_report_as_the_command_line(tmp_path):
    tiny = small("reviews_ppo", "training.updates=1", "training.final_episodes=2")
    finished = loquent.train(tiny, tmp_path / "run", progress=False)
    page = (finished.folder / "report.html").read_text()
    assert "evaluation" in page
    assert cli.main(["report", str(finished.folder), "--out", str(tmp_path / "again.html")]) == 0
    assert page == (tmp_path / "again.html").read_text()


def test_a_recipe_that_cannot_be_built_leaves_its_folder_free(tmp_path):
    with pytest.raises(BadSetting):
        run(tmp_path / "run", "reviews_ppo", "model.critic=none")
    assert run(tmp_path / "run", "reviews_ppo", "training.updates=1").metrics


@pytest.mark.parametrize("setting", ["split", "evaluate_split", "final_split"])
def test_a_split_that_the_task_does_not_have_is_named_with_its_setting(tmp_path, setting):
    with pytest.raises(BadSetting, match=f"training.{setting} = 'nowhere': no split .*'nowhere'"):
        run(tmp_path / "run", "reviews_ppo", "training.evaluate_every=1", f"training.{setting}=nowhere")


def test_a_mask_in_evaluation_is_there_when_the_run_is_evaluated_later(tmp_path):
    masked = (
        "algorithm.mask_in_evaluation=true",
        "algorithm.top_p=0.2",
        "training.final_episodes=12",
        "training.seed=3",
    )
    found = run(tmp_path / "run", "reviews_nlpo", *masked)
    later = found.evaluate(episodes=12, seed=3).values
    assert later == found.evaluation["values"]
    bare = run(tmp_path / "bare", "reviews_nlpo", *masked, "algorithm.mask_in_evaluation=false")
    assert bare.evaluation["values"] != later  # the mask is seen


@pytest.mark.sweep("reviews_supervised", "reviews_ppo")
@pytest.mark.parametrize("name", ["reviews_ppo", "reviews_nlpo", "reviews_supervised"])
def test_a_run_cut_off_and_resumed_is_the_same_run(tmp_path, name):
    overrides = ("training.checkpoint_every=1", "training.keep=9")
    overrides += ("algorithm.mu=2", "algorithm.top_p=0.8") if name == "reviews_nlpo" else ()
    whole = run(tmp_path / "whole", name, *overrides)
    half = tmp_path / "half"
    shutil.copytree(whole.folder, half)
    shutil.rmtree(half / "checkpoints" / "update-3")
    shutil.rmtree(half / "checkpoints" / "update-2")
    (half / "evaluation.json").unlink()
    resumed = train(small(name, *overrides), half, progress=False, resume=True)
    assert resumed.metrics == whole.metrics
    assert resumed.fingerprint == whole.fingerprint
    ours, theirs = (
        load(RunFolder(whole.folder).checkpoints.all()[-1]),
        load(RunFolder(half).checkpoints.all()[-1]),
    )
    assert json.dumps(ours["counters"]) == json.dumps(theirs["counters"])


def test_a_checkpoint_of_another_recipe_is_refused(ppo, tmp_path):
    shutil.copytree(ppo.folder, tmp_path / "run")
    with pytest.raises(BadCheckpoint, match=r"its settings differ: .*algorithm.clip was 0.2 and is 0.1 now"):
        train(small("reviews_ppo", "algorithm.clip=0.1"), tmp_path / "run", progress=False, resume=True)
    with pytest.raises(BadCheckpoint, match="holds a run already"):
        run(tmp_path / "run", "reviews_ppo")


broken = True


def fragile(answer):
    """A reward that raises until it is mended."""
    if broken:
        raise ValueError("not yet")
    return 1.0


def test_a_run_that_failed_before_its_first_update_leaves_its_folder_free(tmp_path, monkeypatch, capsys):
    rewards = f"rewards={{'{__name__}:fragile': 1.0}}"
    folder = tmp_path / "run"
    with pytest.raises(BrokenMetric, match="not yet"):
        run(folder, "reviews_ppo", rewards)
    assert RunFolder(folder).is_run
    monkeypatch.setattr(sys.modules[__name__], "broken", False)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(BadCheckpoint, match=r"holds a run already; .*or delete the folder"):
        run(folder, "reviews_ppo", rewards)
    (folder / "notes.txt").unlink()
    assert len(train(small("reviews_ppo", rewards, "training.updates=1"), folder).metrics) == 1
    assert "\r" not in capsys.readouterr().err, "a bar, though stderr is no terminal"


def test_early_stopping_keeps_the_best(tmp_path):
    watch = (
        "training.evaluate_every=1",
        "training.stop_metric=perplexity",
        "metrics={perplexity: {}}",
        "training.patience=2",
        "training.updates=9",
    )
    # a decay that overshoots: every gradient step makes the matrices larger by half, whatever is learned, and
    # the model surer of nonsense
    spoilt = (
        "algorithm.schedule=constant",
        "algorithm.warmup=0",
        "algorithm.learning_rate=0.01",
        "algorithm.weight_decay=250",
    )
    found = run(tmp_path / "run", "reviews_supervised", *watch, *spoilt, "training.evaluate_episodes=4")
    seen = [line["evaluation/perplexity"] for line in found.metrics]
    assert len(seen) == 3  # the first was the best, then two in vain
    assert all(2 * a < b for a, b in pairwise(seen)), seen
    best = json.loads((found.folder / "checkpoints" / "best.json").read_text())
    assert found.evaluation["checkpoint"] == best["checkpoint"] == "update-1"
    with pytest.raises(BadSetting, match=r"perplexty.*perplexity"):
        run(
            tmp_path / "typo",
            "reviews_supervised",
            *watch,
            "training.stop_metric=perplexty",
            "training.evaluate_episodes=4",
        )


def letters(answer):
    """A reward that a model loses while it learns to write: the number of different characters."""
    return float(len(set(answer)))


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_early_stopping_by_the_reward_keeps_the_best_reward_not_the_best_perplexity(tmp_path, weight):
    settings = (
        *("training.evaluate_every=1", "training.stop_metric=return", "training.patience=2"),
        *("training.updates=6", "training.evaluate_episodes=12", "algorithm.learning_rate=0.02"),
        *("metrics={perplexity: {}}", f"rewards={{'{__name__}:letters': {weight}}}"),
    )
    found = run(tmp_path / "run", "reviews_supervised", *settings, "decoding.max_new_tokens=24")
    rewards = [line["evaluation/return"] for line in found.metrics]
    losses = [line["evaluation/perplexity"] for line in found.metrics]
    kept = 1 + rewards.index(max(rewards))
    assert kept == 1 or weight < 0
    assert losses == sorted(losses, reverse=True), "perplexity falls all the time"
    assert len(rewards) == min(6, kept + 2)
    assert found.evaluation["checkpoint"] == f"update-{kept}"


def test_a_margin_stops_what_improves_too_little_and_keeps_the_best_all_the_same(tmp_path):
    watch = (
        "training.evaluate_every=1",
        "training.stop_metric=perplexity",
        "metrics={perplexity: {}}",
        "training.patience=2",
        "training.updates=9",
    )
    slow = (*watch, "algorithm.learning_rate=1e-4", "training.evaluate_episodes=4")
    free = run(tmp_path / "free", "reviews_supervised", *slow)
    seen = [line["evaluation/perplexity"] for line in free.metrics]
    assert len(seen) == 9
    assert all(0.5 * a < b < a for a, b in pairwise(seen))  # it falls all the time, but never by half
    bound = run(tmp_path / "bound", "reviews_supervised", *slow, "training.margin=0.5")
    # the first counts, then two in vain
    assert [line["evaluation/perplexity"] for line in bound.metrics] == seen[:3]
    assert bound.evaluation["checkpoint"] == "update-3"


def test_only_the_rows_asked_for_are_trained_on(tmp_path):
    trainer = Trainer(small("reviews_supervised"))
    assert {row["label"] for row in trainer.experience.rows.values()} == {"positive"}
    assert len(trainer.experience.rows) < len(trainer.task.rows("train"))


def nan_reward(samples):
    return [float("nan")] * len(samples.predictions)


def short_reward(samples):
    return [0.0] * (len(samples.predictions) - 1)


@pytest.mark.parametrize("name", ["nan_reward", "short_reward"])
def test_a_reward_that_is_broken_is_named(tmp_path, name):
    with pytest.raises(BadReward, match=name):
        run(tmp_path / "run", "reviews_ppo", "rewards={" + f"'{__name__}:{name}'" + ": 1.0}")


def test_a_prompt_longer_than_the_context_is_cut_and_counted(tmp_path):
    found = run(tmp_path / "run", "reviews_ppo", "model.context=16", "training.updates=1")
    assert found.metrics[0]["rollout/cut_tokens"] > 0


@pytest.mark.parametrize("metric", ["diversity/distinct-1", "answers"])
def test_what_has_no_direction_stops_no_run(tmp_path, metric):
    with pytest.raises(BadSetting, match=f"training.stop_metric: '{metric}' .* neither"):
        run(
            tmp_path / "run",
            "reviews_ppo",
            "training.evaluate_every=1",
            f"training.stop_metric={metric}",
            "training.evaluate_episodes=4",
        )
