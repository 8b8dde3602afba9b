"""What cells start from varies with their seed: stages and stages of stages; the page says what does not."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from safetensors.torch import load_file

from loquent.bench import exports, jobs, notes, pages, runner
from loquent.bench import suite as suites
from loquent.bench.jobs import Starts
from loquent.errors import BadSetting

torch = pytest.importorskip("torch")

STAGES = "stages:\n  base: {recipe: reviews_base}\n"
CHAIN = """stages:
  base: {recipe: reviews_base}
  middle: {recipe: reviews_supervised, set: {model.path: <base>}}
"""
SETTINGS = "training.final_episodes=2", "task.limit=60", "base:model={layers: 1, width: 16, heads: 2}"


def planned(suite, seeds=2, overrides=(), only=()):
    whole = suites.load(suite)
    by_entry = jobs.by_entry(overrides, list(whole.entries))
    return jobs.plan(whole, Path("out"), "cpu", seeds, by_entry, only)


def change(suite, old, new):
    text = suite.read_text()
    assert old in text
    suite.write_text(text.replace(old, new))


def start(plan, folder):
    """The folder of the run that a run starts from, and that run's seed."""
    runs = {job.folder.name: job for job in plan.jobs}
    path = Path(runs[folder].recipe.model.path).name
    assert runs[path].key in runs[folder].needs
    return path, runs[path].recipe.training.seed


@pytest.mark.parametrize("own", [0, 5])
def test_seed_k_of_a_cell_starts_from_seed_k_of_its_stage(suite, own):
    change(suite, "{recipe: reviews_base}", f"{{recipe: reviews_base, set: {{training.seed: {own}}}}}")
    plan = planned(suite, seeds=3)
    assert [start(plan, f"ppo-{k}") for k in range(3)] == [("base", own), ("base-1", own + 1),
        ("base-2", own + 2)]  # fmt: skip
    keys = {job.folder.name: job.key for job in plan.jobs}
    assert len(set(keys.values())) == len(keys)
    alone = {job.folder.name: job.key for job in planned(suite, seeds=1).jobs}
    assert alone.items() <= keys.items(), "seed 0 is the run of one seed"


def test_stages_of_stages_vary_too_and_a_shared_one_takes_seed_0(suite):
    change(suite, STAGES, CHAIN)
    change(suite, "set: {model.path: <base>}\ncolumns", "set: {model.path: <middle>}\ncolumns")
    plan = planned(suite)
    assert [start(plan, "ppo-1"), start(plan, "middle-1")] == [("middle-1", 1), ("base-1", 1)]
    change(suite, "reviews_supervised,", "reviews_supervised, shared: true,")
    plan = planned(suite)
    assert [start(plan, "ppo-1"), start(plan, "middle")] == [("middle", 0), ("base", 0)]
    assert {job.folder.name for job in plan.jobs if job.name in ("base", "middle")} == {"base", "middle"}


def test_a_stage_that_no_cell_needs_is_not_made(suite):
    for override in ("model.path=mine", "model={path: mine}"):
        assert not {"base"} & {job.name for job in planned(suite, overrides=[override]).jobs}
    plan = planned(suite, overrides=["ppo:model.path=mine"])
    assert {job.folder.name: job.needs for job in plan.jobs if job.name == "ppo"}["ppo-0"] == ()
    assert plan.starts == Starts(runs=("base",), models=("mine",))


def test_a_cell_is_not_shared_and_two_runs_have_two_folders(suite):
    change(suite, "  zero: {recipe: reviews_ppo,", "  zero: {recipe: reviews_ppo, shared: true,")
    with pytest.raises(BadSetting, match=r"small.yaml:\d+: shared: 'zero' is a cell"):
        suites.load(suite)
    change(suite, "reviews_ppo, shared: true,", "reviews_ppo,")
    change(suite, "stages:\n", "stages:\n  base-1: {recipe: reviews_base, set: {training.updates: 7}}\n")
    change(
        suite,
        "  same: {recipe: reviews_ppo, set: {",
        "  same: {recipe: reviews_ppo, set: {model.path: <base-1>, ",
    )
    with pytest.raises(BadSetting, match=r"base-1: seed 0: the folder out/base-1 is that of base too"):
        planned(suite)
    planned(suite, seeds=1)


def test_the_page_names_what_varies_and_what_does_not(suite):
    def note(seeds=2, **starts):
        found = SimpleNamespace(suite=suites.load(suite), seeds=seeds, starts=Starts(**starts))
        return notes.start_note(found)

    varies = (
        "Seed k of a run starts from seed k of base: intervals over seeds hold what another start changes."
    )
    out = ": the intervals leave out what another start would change."
    assert note() == ""
    assert note(runs=("base",)) == varies
    assert note(1, runs=("base",)) == f"All seeds start from one base{out}"
    both = note(runs=("base",), models=("gpt2", "t5"), data=("games",))
    assert both == (
        f"{varies} All seeds start from the given gpt2 and the given t5{out} All seeds learn from the same "
        "recorded episodes (games): the intervals leave out what another recording would change."
    )
    change(suite, "{recipe: reviews_base}", "{recipe: reviews_base, shared: true}")
    assert (
        note(runs=("base", "middle"))
        == f"{varies.replace('base', 'middle')} All seeds start from one base{out}"
    )


@pytest.mark.parametrize(
    ("name", "profile", "runs", "models", "data"),
    [
        ("quickstart", "cpu", ("base",), (), ()),
        ("grue", "paper", ("wmt16-start",), ("t5-base",), ()),
        ("grue", "cpu", ("wmt16-base", "wmt16-start"), (), ()),
        ("imrc", "cpu", ("easy-lm",), (), ("easy-games",)),
    ],
)
def test_the_starts_of_shipped_suites(name, profile, runs, models, data):
    cells = {"quickstart": ["ppo"], "grue": ["wmt16-supervised-ppo"], "imrc": ["easy-lm-ppo"]}[name]
    plan = jobs.plan(suites.load(name), Path("out"), profile, 3, {}, only=cells)
    assert plan.starts == Starts(runs, models, data)
    by_folder = {job.folder.name for job in plan.jobs}
    assert {f"{run}-2" for run in runs} <= by_folder


def bench(suite, seeds):
    said = []
    small = {"profile": "smoke", "processes": 1, "only": ["zero"], "overrides": SETTINGS}
    found = runner.bench(suite, "out", seeds=seeds, say=said.append, **small)
    return found, {line.split()[1].rstrip(":"): line.endswith("found") for line in said}


def weights(folder):
    return load_file(folder / "checkpoints" / "update-2" / "policy" / "model.safetensors")


def test_bases_differ_and_a_failing_one_leaves_the_other_seed_whole(suite):
    out, (alone, _) = Path("out"), bench(suite, 1)
    (out / "base-1").write_text("in the way")
    found, was_there = bench(suite, 2)
    assert was_there == {"base": True, "zero-0": True, "base-1": False, "zero-1": False}
    assert set(found.failures) == {"base-1", "zero-1"}
    assert found.failures["zero-1"].startswith("not made: a job that it needs failed (")
    assert found.rows["zero"].values == alone.rows["zero"].values
    (out / "base-1").unlink()
    found, was_there = bench(suite, 2)
    assert was_there == {"base": True, "zero-0": True, "base-1": False, "zero-1": False}
    values = found.rows["zero"].values
    assert {name: {0: own[0]} for name, own in values.items()} == alone.rows["zero"].values
    one, other = weights(out / "base"), weights(out / "base-1")
    assert any(not one[name].equal(other[name]) for name in one)
    line = "Seed k of a run starts from seed k of base"
    assert line in pages.markdown(found)
    assert line in pages.html(found)
    assert any(text.startswith(line) for text in exports.as_json(found)["cautions"])
    assert found.machine["peak_gib"] > 0
