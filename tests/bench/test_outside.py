"""The profiles `paper`: their numbers, and what they read from outside, named before anything is run."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from loquent.bench import collecting, jobs, outside, results, runner
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
    return jobs.plan(whole, Path("out"), profile, 1, by_entry, whole.selection(profile)), whole.profiles[
        profile
    ]


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
    job, profile = plan.jobs[-1], replace(profile, needs={"words": replace(files, files=("c.json",))})
    alone = replace(plan, jobs=(job,))
    assert len(outside.missing(alone, profile)) == 1
    job.folder.mkdir(parents=True)
    (job.folder / "bench.json").touch()
    assert outside.missing(alone, profile) == [], "a finished run reads nothing"


def test_a_set_that_is_collected_reads_its_source_no_more(offline):
    plan, profile = planned("ilql-wordle", "cpu", "games-0.25:episodes=2", "task.limit=8")
    need = Need(what="games", source="here", where=Record({"agent.prob_smart": 0.25}), instead="FILE")
    [games] = [job for job in plan.jobs if job.folder.name == "games-0.25"]
    alone, profile = replace(plan, jobs=(games,)), replace(profile, needs={"games": need})
    assert len(outside.missing(alone, profile)) == 1
    collecting.make(games)
    assert outside.missing(alone, profile) == []


def test_scripts_that_know_built_in_scenes_alone_do_not_play_on_other_images():
    assert [job.folder.name for job in planned("ilql-dialogue")[0].jobs if getattr(job, "agent", "")] == []


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


NUMBERS = yaml.safe_load(Path(__file__).with_name("paper_numbers.yaml").read_text())


@pytest.mark.parametrize("name", NUMBERS)
def test_a_paper_s_profile_has_the_paper_s_numbers(name):
    for run, numbers in NUMBERS[name].items():
        [job] = [job for job in planned(name)[0].jobs if job.folder.name == run]
        found = outside.settings(job)
        assert {path: found.get(path) for path in numbers} == numbers, run


@pytest.mark.parametrize("name", ["ilql-wordle", "ilql-dialogue", "ilql-comments"])
def test_learners_of_values_and_the_longer_clone_see_as_many_steps_as_the_paper_s_sweeps(name):
    plan, _ = planned(name)
    assert plan.cells.get("ilql-greedy", plan.cells["ilql"]) == plan.cells["ilql"], "the paper acts greedily"
    steps = {
        job.name: job.recipe.training.updates * job.recipe.training.episodes // job.recipe.config.minibatch
        for job in plan.jobs
        if not isinstance(job, SetJob) and not job.agent
    }
    acting = {run: steps.pop(run) for run in ("clone-greedy", "clone-0.3-greedy") if run in steps}
    assert not any(acting.values()), "other ways to act of the same clones"
    assert {count for run, count in steps.items() if not run.endswith("-long")} == {6144}
    assert {count for run, count in steps.items() if run.endswith("-long")} == {12288}


def test_a_profile_changes_cells_and_leaves_some_out(suite):
    size = (
        "  cpu:\n    cells: {p*: {algorithm.gamma: 0.5}, same: {model.path: <zero>}}\n    without: [exp*]\n"
    )
    suite.write_text(suite.read_text().replace("  cpu:\n", size, 1))
    whole = suites.load(suite)
    assert (whole.selection("cpu"), whole.selection("cpu", ["expert"])) == (
        ["zero", "ppo", "same"],
        ["expert"],
    )
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
