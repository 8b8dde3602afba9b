"""An extended run equals, bit for bit, the run that had all its updates from the start."""

import json
from types import SimpleNamespace

import pytest

from helpers.training.small_runs import recipe_of, results
from loquent.bench.seeds import train_seeds
from loquent.cli import main as cli
from loquent.core import registry
from loquent.errors import AnotherRun, BadCheckpoint, BadSetting, Damaged
from loquent.files.run_folder import RunFolder
from loquent.training import identity
from loquent.training.extending import extend_recipe
from loquent.training.run import load_run
from loquent.training.train import train


@pytest.mark.sweep("ppo", "supervised", "ilql", "turn_ppo", "sb3/a2c")
@pytest.mark.parametrize("learner", registry.names("algorithm"))
def test_an_extended_run_equals_one_that_had_its_updates_from_the_start(learner, recorded, tmp_path):
    recipe = recipe_of(learner, recorded)
    run = train(recipe, tmp_path / "run", progress=False)
    assert [line["update"] for line in run.metrics][-1] == 1
    train(extend_recipe(run, ["training.updates=3"]), run.folder, progress=False, resume=True)
    whole = train(recipe.replace("training.updates=3"), tmp_path / "whole", progress=False)
    assert results(run.folder) == results(whole.folder)
    assert load_run(run.folder).recipe == whole.recipe


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_refused_extension_changes_no_file(short_copy, capsys):
    folder = short_copy.folder
    state = short_copy.files.checkpoints.all()[-1] / "state.json"
    state.write_text(state.read_text().replace("1", "2", 1))  # a checkpoint that is refused
    before = files_of(folder)
    assert cli.main(["resume", str(folder), "training.updates=3"]) == 2
    assert "is refused" in capsys.readouterr().err
    assert files_of(folder) == before


def test_python_extends_a_run_and_refuses_fewer_updates(short_copy):
    recipe, run = recipe_of("ppo", None), short_copy
    train(recipe.replace("training.updates=2"), run.folder, progress=False, resume=True)
    assert run.recipe.training.updates == len(run.metrics) == 2
    before = run.evaluation
    with pytest.raises(BadCheckpoint, match="updates = 2 in the saved state"):
        train(recipe, run.folder, progress=False, resume=True)
    assert run.evaluation == before


def test_the_seeds_of_a_folder_keep_their_extension(tmp_path):
    folder = tmp_path / "seeds"
    recipe = recipe_of("ppo", None)
    train_seeds(recipe, folder, 2, progress=False)
    longer = RunFolder(folder / "seed-1")
    longer.extend(2)  # an extension that was interrupted before its first update
    assert cli.main(["resume", str(folder)]) == 0
    assert [len(load_run(folder / f"seed-{n}").metrics) for n in (0, 1)] == [1, 2]
    assert "different numbers of updates: seed-0 1, seed-1 2." in (folder / "table.md").read_text()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.updates=0", "training.updates"),
        ("algorithm.clip=0.1", r"'algorithm.clip=0.1' cannot change in a run that is resumed; only"),
        ("training.updates=many", "training.updates"),
    ],
)
def test_other_changes_are_refused(short, override, message):
    with pytest.raises(BadSetting, match=message):
        extend_recipe(short, [override])
    assert short.files.has_ended


@pytest.mark.parametrize("learner", ["ppo", "sb3/ppo"])
def test_model_path_is_named_where_it_is_read(learner):
    """A learner without a language model ignores it, so a new run would begin from nothing."""
    recipe = recipe_of(learner, None)
    with pytest.raises(BadSetting, match=r"train a new run.*loquent train") as changed:
        extend_recipe(SimpleNamespace(recipe=recipe, folder="runs/a"), ["algorithm.gamma=0.5"])
    now = identity.settings(recipe)
    with pytest.raises(AnotherRun, match="start a new run in another folder") as differs:
        identity.compare(
            {"settings": {**now, "algorithm.gamma": 0.5}, "machine": {}}, {"settings": now, "machine": {}}
        )
    assert ["model.path" in str(error.value) for error in (changed, differs)] == [learner == "ppo"] * 2


def test_fewer_updates_are_refused(short, tmp_path):
    longer = short.recipe.replace("training.updates=2")
    run = train(longer, tmp_path / "run", progress=False)
    with pytest.raises(BadSetting, match=r"training.updates = 1 is less than the 2 of"):
        extend_recipe(run, ["training.updates=1"])
    assert extend_recipe(run, ["training.updates=2"]) == longer
    assert run.files.has_ended


@pytest.mark.parametrize(
    ("learner", "override", "reason"),
    [
        ("sb3/ppo", "algorithm.schedule=linear", "schedule = 'linear'"),
        ("sb3/double_dqn", "algorithm.explore_last=0.02", "explore_share = "),
    ],
)
def test_a_schedule_over_all_updates_is_refused(learner, override, reason, tmp_path):
    run = train(recipe_of(learner, None, override), tmp_path / "run", progress=False)
    with pytest.raises(BadSetting, match=f"depend on the number of updates: {reason}"):
        extend_recipe(run, ["training.updates=3"])
    assert run.files.has_ended
    with pytest.raises(BadCheckpoint, match=r"training.updates was 1 and is 3 now"):
        train(run.recipe.replace("training.updates=3"), run.folder, progress=False, resume=True)


def test_a_run_that_stopped_early_is_refused(tmp_path):
    recipe = recipe_of(
        "ppo",
        None,
        "training.updates=4",
        "training.stop_metric=return",
        "training.patience=1",
        "training.margin=1000",
    )
    run = train(recipe, tmp_path / "run", progress=False)
    assert len(run.metrics) < 4
    with pytest.raises(BadCheckpoint, match="was stopped early, after update"):
        extend_recipe(run, ["training.updates=9"])
    assert run.files.has_ended


def test_the_command_extends_a_run_and_shows_it(short_copy, capsys):
    folder = short_copy.folder
    assert cli.main(["resume", str(folder), "training.updates=2"]) == 0
    assert len(load_run(folder).metrics) == 2
    capsys.readouterr()
    assert cli.main(["show", str(folder)]) == 0
    assert "updates: 2" in capsys.readouterr().out
    assert cli.main(["resume", str(folder), "algorithm.clip=0.1"]) == 2


def test_a_kill_between_the_two_files_loses_only_the_last_evaluation(short_copy):
    run, folder = short_copy, short_copy.folder
    before = results(folder)
    for file in (run.files.evaluation_file, run.files.episodes):
        file.unlink()  # the first half of `RunFolder.extend`
    train(load_run(folder).recipe, folder, progress=False, resume=True)
    assert results(folder) == before


@pytest.mark.parametrize("content", ['{"updates": 0}', '{"updates": "3"}', "{}", "[1]", "{"])
def test_a_damaged_note_is_named(content, tmp_path, short):
    folder = RunFolder(tmp_path)
    folder.extended.write_text(content)
    with pytest.raises(Damaged, match=r"extended\.json"):
        folder.overrides()
    folder.extended.write_text(json.dumps({"updates": 3}))
    assert folder.overrides() == ["training.updates=3"]
