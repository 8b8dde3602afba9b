"""The recipes of GRUE: at smoke each of them trains, from one base and one supervised model for each task."""

import math
import re
from pathlib import Path

import pytest
import torch

from loquent.bench.evidence import episode_scores
from loquent.core.settings import Remark
from loquent.core.values import Record
from loquent.files.run_folder import RunFolder
from loquent.training import recipes
from loquent.training.train import train

METHODS = ("zero_shot", "supervised", "ppo", "nlpo", "supervised_ppo", "supervised_nlpo")
EPOCHS = {"two": 2, "four": 4, "five": 5, "ten": 10, "twenty": 20}
RECIPES = Path(recipes.__file__).parent / "grue"
TASKS = sorted(file.stem for file in RECIPES.glob("*.yaml"))
SMALL = ("task.limit=40", "decoding.live=16", "training.checkpoint_every=2")
SIZES = {"imdb": 2000, "commongen": 1000, "cnn_daily_mail": 1000, "totto": 1000, "narrative_qa": 1000,
         "wmt16": 300, "iwslt2017": 300, "daily_dialog": 300}  # fmt: skip
PAPER = {  # 2210.01241, tables 4, 11, 16, 22, 27, 29, 32: learning rate, first beta, target, answers, updates
    "imdb": ((1e-6, 0.1, 0.1, 27, 50), (1e-6, 0.1, 0.1, 27, 50)),
    "commongen": ((2e-6, 0.001, 2.0, 64, 200), (2e-6, 0.01, 1.0, 64, 100)),
    "cnn_daily_mail": ((2e-6, 0.001, 0.2, 51, 100), (2e-6, 0.01, 0.2, 51, 50)),
    "totto": ((2e-6, 0.001, 2.0, 51, 100), (5e-7, 0.01, 0.2, 51, 100)),
    "narrative_qa": ((2e-6, 0.001, 1.0, 102, 100), (5e-7, 0.001, 0.2, 51, 200)),
    "iwslt2017": ((1e-6, 0.001, 0.2, 40, 50), (5e-7, 0.001, 0.2, 20, 100)),
    "wmt16": ((1e-6, 0.001, 0.2, 40, 50), (5e-7, 0.001, 0.2, 20, 100)),
    "daily_dialog": ((1e-6, 0.2, 0.5, 26, 100), (1e-6, 0.2, 0.5, 26, 50)),
}


def test_each_task_has_a_recipe_for_each_method_and_a_base():
    names = {name for name in recipes.names() if name.startswith("grue_")}
    assert names == {f"grue_{task}_{method}" for task in TASKS for method in (*METHODS, "base")}
    assert set(TASKS) >= PAPER.keys()


@pytest.mark.parametrize("task", PAPER)
def test_a_recipe_has_the_settings_of_the_paper(task):
    for sup, expected in zip(("", "supervised_"), PAPER[task], strict=True):
        for method in ("ppo", "nlpo"):
            found = recipes.load(f"grue_{task}_{sup}{method}")
            rl, run = found.config, found.training
            assert (rl.learning_rate, rl.beta, rl.kl_target, run.episodes, run.updates) == expected
            assert (rl.epochs, rl.gamma, rl.lam, rl.clip, rl.kl_gain) == (5, 0.99, 0.95, 0.2, 0.2)
            if method == "nlpo":
                assert (rl.top_p, rl.mu) == (
                    0.5 if task in ("wmt16", "iwslt2017") else 0.9,
                    5 if task == "imdb" else 20,
                )
            assert found.options.source in ("hub", "path")
    assert recipes.load(f"grue_{task}_zero_shot").training.updates == 0


@pytest.mark.parametrize("task", TASKS)
def test_a_supervised_recipe_makes_the_epochs_of_its_comment(task):
    text = (RECIPES / f"{task}.yaml").read_text()
    epochs, rows = re.search(r"supervised:.*#.*?(\w+) epochs of (?:the paper's )?([\d,]+)", text).groups()
    count = EPOCHS[epochs] * int(rows.replace(",", ""))
    run = recipes.load(f"grue_{task}_supervised").training
    assert run.updates == math.ceil(count / run.episodes)


@pytest.mark.parametrize("task", TASKS)
def test_the_profile_cpu_needs_no_file_and_no_network(task):
    for method in METHODS:
        found = recipes.load(f"grue_{task}_{method}", profile="cpu")
        start = "supervised" if method.startswith("supervised_") else "base"
        assert (found.options.source, found.model.path) == ("builtin", f"runs/{task}/{start}")
        assert found.training.final_episodes == 300
        shown = found.yaml()
        assert "rajkumarrrk" not in shown
        assert "roberta" not in shown


@pytest.mark.parametrize("profile", [None, "cpu"])
@pytest.mark.parametrize("task", TASKS)
def test_a_supervised_model_is_stopped_by_what_policies_optimise(task, profile):
    found = recipes.load(f"grue_{task}_supervised", profile=profile)
    run = found.training
    assert (run.stop_metric, run.evaluate_split, run.final_split) == ("return", "validation", "test")
    assert found.rewards == recipes.load(f"grue_{task}_ppo", profile=profile).rewards
    assert run.checkpoint_every == run.evaluate_every <= run.updates
    if profile == "cpu":
        assert run.updates % run.evaluate_every == 0
        assert (run.patience, run.margin, run.evaluate_episodes) == (4, 0.0, 200)


def test_only_a_language_model_from_nothing_is_stopped_by_perplexity():
    """Others are compared by another value, which may rise long after the perplexity does."""
    stopped = {name: recipes.load(name) for name in recipes.names()}
    watched = {name: own.training.stop_metric for name, own in stopped.items() if own.training.stop_metric}
    assert {name for name, metric in watched.items() if "perplexity" in metric} == {"reviews_base"}
    assert watched["reviews_supervised"] == "sentiment/positive"
    assert all(stopped[name].training.evaluate_split == "validation" for name in watched)


@pytest.mark.parametrize("task", SIZES)
def test_no_task_has_fewer_rows_than_when_its_first_result_was_recorded(task):
    """Rows that are cut after a look at test prompts choose by test prompts."""
    for method in ("base", *METHODS):
        found = recipes.load(f"grue_{task}_{method}", profile=None if method == "base" else "cpu")
        assert found.options.limit == SIZES[task]


@pytest.mark.sweep("commongen")
@pytest.mark.parametrize("task", TASKS)
def test_every_recipe_trains_at_smoke(task, tmp_path):
    base = _run(f"grue_{task}_base", tmp_path, "training.updates=25", "training.episodes=16")
    supervised = _run(
        f"grue_{task}_supervised", tmp_path, f"model.path={base.folder}", "training.episodes=16"
    )
    assert _moved(base, supervised)
    idle = _run(f"grue_{task}_zero_shot", tmp_path, f"model.path={base.folder}", "training.updates=0")
    assert not _moved(base, idle)
    assert math.isfinite(idle.evaluation["values"]["return"])
    for method in METHODS[2:]:
        start = supervised if method.startswith("supervised_") else base
        run = _run(f"grue_{task}_{method}", tmp_path, f"model.path={start.folder}", *_fast())
        assert _moved(start, run), f"{method} changed no parameter"
        rewards = (*_rewards(run), *(line["rollout/return"] for line in run.metrics))
        assert all(map(math.isfinite, rewards))
        assert len(set(rewards)) > 1, f"{method}: every reward is {rewards[0]}"


def _fast():
    """A step that a float32 parameter can show, and answers long enough to share a word with a reference."""
    return (
        "algorithm.learning_rate=1e-3",
        "algorithm.epochs=1",
        "training.episodes=8",
        "decoding.max_new_tokens=32",
        "training.final_episodes=8",
    )


def _run(name, folder, *settings):
    recipe = recipes.load(name, [*SMALL, *settings], profile="smoke")
    return train(recipe, folder / name, progress=False)


def _rewards(run):
    """The reward of each episode of the last evaluation."""
    return episode_scores.read(RunFolder(run.folder), run.recipe, run.evaluation).columns["return"]


def _moved(before, after):
    first, second = (_weights(run) for run in (before, after))
    return any(not torch.equal(first[name], second[name]) for name in first)


def _weights(run):
    from safetensors.torch import load_file

    return load_file(
        sorted(RunFolder(run.folder).path.glob("checkpoints/update-*"))[-1] / "policy/model.safetensors"
    )


def test_smoke_rewards_tables_by_their_metric():
    assert set(recipes.load("grue_totto_ppo", profile="smoke").rewards) == {"meteor", "parent"}
    assert "lexicon" not in str(recipes.load("grue_totto_ppo", profile="smoke").rewards)


@pytest.mark.parametrize(
    ("dataset", "replaced"), [("cnn_daily_mail", True), ("texts", True), ("totto", False)]
)
def test_smoke_asks_a_metric_which_fields_of_rows_it_needs(dataset, replaced, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"task: {{kind: generation, dataset: {dataset}, source: path, path: nowhere}}\n"
        "metrics: {parent: {}, mine: {of: parent}, bleu_totto: {}}\nalgorithm: supervised\n"
    )
    with pytest.warns(Remark, match="the profile smoke takes built-in rows"):
        metrics = recipes.load(file, profile="smoke").metrics
    found = [name for name, options in metrics.items() if options.get("of") == "lexicon"]
    assert found == (["parent", "mine"] if replaced else [])
    assert metrics["bleu_totto"] == Record()


@pytest.mark.parametrize(
    ("task", "tokens"),
    [("narrative_qa", 512), ("cnn_daily_mail", 512), ("totto", 512), ("wmt16", 128), ("iwslt2017", 128)],
)
def test_long_texts_lose_their_end_as_in_the_paper(task, tokens):
    """Prompts that are cut on the left lose the question of NarrativeQA; the profile cpu has short texts."""
    recipe = recipes.load(f"grue_{task}_ppo")
    for decoding in (recipe.decoding, recipe.evaluation):
        assert (decoding.max_prompt_tokens, decoding.truncation_side) == (tokens, "right")
    assert recipes.load(f"grue_{task}_ppo", profile="cpu").decoding.max_prompt_tokens == 0
