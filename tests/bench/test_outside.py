"""The profiles `paper`: their numbers, and what they read from outside, named before anything is run."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from loquent.bench import jobs, outside, results, runner
from loquent.bench import suite as suites
from loquent.bench.schema.sets import SetJob
from loquent.bench.schema.suite_schema import Need
from loquent.core.values import Record
from loquent.errors import BadSetting

PAPER = [name for name in suites.names() if name != "quickstart"]
NAMES_FILES = ("path", "classifier", "model", "vectors", "words", "images", "file")
HOLDS = ("builtin", "auto")


@cache
def planned(name, profile="paper", *overrides):
    whole = suites.load(name)
    by_entry = jobs.by_entry(overrides, [*whole.entries], [*whole.data])
    return jobs.plan(whole, Path("out"), profile, 1, by_entry, whole.shown(profile)), whole.profiles[profile]


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """An empty folder to work in, without a hub and its cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.mark.parametrize("name", PAPER)
def test_a_paper_s_profile_plans_and_refuses_each_missing_thing_by_name(name, offline):
    plan, profile = planned(name)
    with pytest.raises(BadSetting) as caught:
        outside.check(plan, profile)
    for place, need in profile.needs.items():
        assert all(text in str(caught.value) for text in (place, need.what, need.source, need.instead))


def test_a_bench_without_its_data_begins_nothing(offline):
    only_its_rows = r"^[^:]*:\n  data/lilgym/tower_scratch_train.json: .*task.path=FOLDER\nput each"
    with pytest.raises(BadSetting, match=only_its_rows):
        runner.bench("lilgym", "out", profile="paper", only=["tower-scratch-random"], say=lambda line: None)
    assert not Path("out").exists()


@pytest.mark.parametrize("name", PAPER)
def test_everything_from_outside_is_among_the_needs(name):
    plan, profile = planned(name)
    made = {str(job.folder) for job in plan.jobs}
    folders = {need.where.get("task.path") for need in profile.needs.values()}
    for job in plan.jobs:
        for path, value in outside.settings(job).items():
            if path.endswith(NAMES_FILES) and isinstance(value, str) and value and value not in HOLDS:
                assert value in {*made, *profile.needs, *folders}, (job.folder.name, path)


def test_a_need_is_met_by_its_files_packed_or_not_by_a_cache_or_by_another_place(offline):
    files = Need(what="rows", source="somewhere", files=("a.json", "b.json"), instead="task.words=FILE")
    plan, profile = planned("ilql-wordle", "paper", "task.words=words")
    profile = replace(profile, needs={"words": files, "some/model": Need(
        what="a model", source="the hub", hub=True, where=Record({"task.limit": 0}), instead="model.path=F"
    )})  # fmt: skip
    assert outside.missing(plan, profile) == [
        "words, with a.json, b.json (each also as .gz): rows; from somewhere; another place: task.words=FILE",
        "some/model (Hugging Face hub): a model; from the hub; another place: model.path=F",
    ]
    Path("words").mkdir()
    for file in ("a.json", "b.json.gz"):
        (Path("words") / file).touch()
    Path("hub/models--some--model").mkdir(parents=True)
    assert outside.missing(plan, profile) == []
    finished = plan.jobs[-1].folder
    finished.mkdir(parents=True)
    (finished / "bench.json").touch()
    alone = replace(plan, jobs=plan.jobs[-1:])
    assert outside.missing(alone, replace(profile, needs={"other": files})) == []


def test_a_given_set_without_episodes_is_named(offline):
    plan, profile = planned("ilql-dialogue", "cpu", "dialogues:path=nowhere", "dialogues:agent=")
    with pytest.raises(BadSetting, match=r"data.dialogues.path = 'nowhere' holds no recorded episodes"):
        outside.check(plan, profile)


def test_numbers_of_the_first_updates_are_no_results():
    whole = suites.load("nlpgym")
    plan, _ = planned("nlpgym", "paper", "tagging-*:training.update_share=0.01")
    found = results.collect(whole, "paper", 1, plan, {})
    assert found.share == 0.01
    assert "no results: runs made the first 1 % of their updates alone" in found.notes[0]
    assert (found.verdicts, found.claim_tallies, found.across) == ((), (), None)
    assert results.collect(whole, "paper", 1, planned("nlpgym")[0], {}).share == 1


ILQL = {"config.gamma": 0.99, "config.double_q": True, "config.backbones": "separate",
    "config.schedule": "constant", "config.target_rate": 0.005, "config.max_grad_norm": None,
    "training.final_episodes": 1024}  # fmt: skip
NUMBERS = [  # suite, run, and the numbers of the paper or of its released code
    ("imrc", "hard-vocabulary-5-dqn-0", {"config.learning_rate": 2.5e-4, "config.max_grad_norm": 5.0,
        "config.gamma": 0.9, "config.minibatch": 64, "config.learn_every": 5, "config.replay": 500_000,
        "config.target_every": 1000, "config.vary_steps": True, "config.n_step": 3, "config.games": 20,
        "config.draws": "prioritized", "training.most_episodes": 1_000_000, "training.final_episodes": 10570,
        "config.network_settings.vectors": "data/vectors/crawl-300d-2M.vec", "options.match": "substring",
        "config.network_settings.queries": "rows", "config.network_settings.width": 96,
        "config.network_settings.hidden": 150, "config.network_settings.word_size": 300}),
    ("imrc", "easy-question-1-a2c-0", {"config.learning_rate": 2.5e-4, "config.max_grad_norm": 5.0,
        "config.gamma": 0.9, "config.value_coefficient": 0.5, "config.entropy_coefficient": 0.01,
        "training.episodes": 20, "training.updates": 50_000, "training.most_episodes": 1_000_000}),
    ("lilgym", "tower-scratch-cbert-0", {"config.learning_rate": 3e-4, "config.epochs": 10,
        "config.minibatch": 64, "config.clip": 0.2, "config.value_clip": 0.2, "config.gamma": 0.99,
        "config.lam": 0.95, "config.max_grad_norm": 0.5, "config.value_coefficient": 0.5,
        "config.schedule": "linear", "training.updates": 1953, "training.final_episodes": 163,
        "config.total_steps": 1953 * 10 * 2048 // 64, "config.weight_decay": 0.0}),
    ("lilgym", "scatter-flip-it-vilt-sf-0", {"config.learning_rate": 3e-5, "config.weight_decay": 0.01,
        "config.schedule": "cosine", "config.warmup": 0.01, "config.stop_forcing": True,
        "training.final_episodes": 313, "config.critic": "network"}),
    ("nlpgym", "labels-dqn-0", {"config.learning_rate": 1e-3, "config.network": (200, 200),
        "config.gamma": 0.99, "config.minibatch": 32, "config.steps": 10_000,
        "training.updates": 100, "options.max_steps": 10, "training.final_episodes": 3019}),
    ("nlpgym", "choices-ppo-0", {"config.learning_rate": 1e-4, "config.network": (64, 64), "config.clip": 0.2,
        "config.minibatch": 64, "config.entropy_coefficient": 0.0, "training.final_split": "validation"}),
    ("ilql-wordle", "ilql-0", {**ILQL, "config.learning_rate": 1e-5, "config.minibatch": 1024,
        "config.tau": 0.7, "config.cql_weight": 1e-4, "config.adv_beta": 16.0, "config.adv_clip": 0.0,
        "model.layers": 12, "model.path": "", "model.width": 768, "evaluation.method": "greedy"}),
    ("ilql-wordle", "clone-0", {"config.learning_rate": 1e-4, "config.weight_decay": 0.01,
        "config.minibatch": 64, "decoding.max_new_tokens": 6}),
    ("ilql-dialogue", "ilql-yes_no-0", {**ILQL, "config.learning_rate": 1e-5, "config.minibatch": 64,
        "config.tau": 0.8, "config.cql_weight": 1.0, "config.adv_beta": 16.0, "rewards.yes_no": -2.0,
        "options.percentile": 0.5, "decoding.max_new_tokens": 40, "model.path": "gpt2"}),
    ("ilql-dialogue", "clone-0.2-0", {"config.minibatch": 256, "training.data_top": 0.2}),
    ("ilql-comments", "ilql-upvotes-0", {**ILQL, "config.learning_rate": 1e-4, "config.minibatch": 64,
        "config.tau": 0.6, "config.cql_weight": 0.25, "config.adv_beta": 8.0, "rewards.upvotes": 5.0,
        "config.initial_value": None, "decoding.max_new_tokens": 256}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "run", "numbers"), NUMBERS, ids=[run for _, run, _ in NUMBERS])
def test_a_paper_s_profile_has_the_paper_s_numbers(name, run, numbers):
    [recipe] = [job.recipe for job in planned(name)[0].jobs if job.folder.name == run]

    def read(path):
        value = recipe
        for part in path.split("."):
            value = value[part] if isinstance(value, Record) else getattr(value, part)
        return value

    assert {path: read(path) for path in numbers} == numbers


@pytest.mark.parametrize("name", ["ilql-wordle", "ilql-dialogue", "ilql-comments"])
def test_learners_of_values_and_the_longer_clone_see_as_many_steps_as_the_paper_s_sweeps(name):
    plan, _ = planned(name)
    steps = {
        job.name: job.recipe.training.updates * job.recipe.training.episodes // job.recipe.config.minibatch
        for job in plan.jobs
        if not isinstance(job, SetJob) and not job.agent
    }
    assert {count for run, count in steps.items() if not run.endswith("-long")} == {6144}
    assert {count for run, count in steps.items() if run.endswith("-long")} == {12288}


def test_a_profile_changes_cells_and_leaves_some_out(suite):
    size = (
        "  cpu:\n    cells: {p*: {algorithm.gamma: 0.5}, same: {model.path: <zero>}}\n    without: [exp*]\n"
    )
    suite.write_text(suite.read_text().replace("  cpu:\n", size, 1))
    whole = suites.load(suite)
    assert (whole.shown("cpu"), whole.shown("cpu", ["expert"])) == (["zero", "ppo", "same"], ["expert"])
    made = {job.name: job for job in jobs.plan(whole, Path("out"), "cpu", 1, {}).jobs}
    assert [made[name].recipe.config.gamma for name in ("ppo", "same")] == [0.5, 0.9]
    assert made["zero"].key in made["same"].needs
    for old, new, message in (
        ("p*:", "q*:", "cells: .*q"),
        ("[exp*]", "[ex]", "without"),
        ("<zero>", "<x>", "'x'"),
    ):
        text = suite.read_text()
        suite.write_text(text.replace(old, new, 1))
        with pytest.raises(BadSetting, match=message):
            suites.load(suite)
        suite.write_text(text)
