"""What a person does wrong first is answered in one sentence that says what would be right; nothing is written, nothing lost."""

import shutil

import pytest

from loquent import cli, recipe
from loquent.run import load_run
from loquent.train import train

SMALL = ["task.limit=60", "rewards={lexicon: 1.0}", "metrics={diversity: {}}"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run that came to its end."""
    folder = tmp_path_factory.mktemp("mistakes") / "run"
    return train(recipe.load("reviews_ppo", [*SMALL, "model.path="], profile="smoke"), folder, progress=False).folder


def said(capsys, *words, code=2):
    """What the command prints on stderr, its exit code as expected."""
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == code
    return capsys.readouterr().err


def test_a_metric_that_nothing_measures_is_refused_before_anything_is_written(tmp_path, capsys):
    given = ["training.stop_metric=foo", "training.evaluate_every=1", "model.path=", *SMALL]
    assert "'foo' cannot be watched" in said(capsys, "train", "reviews_ppo", *given, "--profile", "smoke", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_base_that_is_not_there_is_not_looked_for_on_the_hub(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = said(capsys, "train", "reviews_ppo", *SMALL, "--profile", "smoke", "model.path=runs/base", "--out", "x")
    assert "runs/base: there is no such folder; a run makes one, as in: loquent train reviews_base --out runs/base" in told


def test_one_name_is_a_list_of_one():
    assert recipe.load("reviews_ppo", ["training.trackers=tensorboard"]).training.trackers == ("tensorboard",)


def test_a_folder_of_several_seeds_asks_for_one(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "several" / "seed-0")
    for command in (["evaluate", tmp_path / "several"], ["export", tmp_path / "several", tmp_path / "out"]):
        assert f"name one of them: {tmp_path / 'several' / 'seed-0'}" in said(capsys, *command)


def test_a_path_that_is_none_and_one_that_is_a_file(run, tmp_path, capsys):
    assert "there is no folder" in said(capsys, "resume", tmp_path / "nothing")
    assert "is a file; the folder of a run is right" in said(capsys, "resume", run / "config.yaml")


def test_a_run_stopped_before_its_first_checkpoint_says_so(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    assert "was stopped before its first checkpoint" in said(capsys, "evaluate", tmp_path / "run", "--episodes", "2")


def test_evaluation_says_with_which_checkpoint(run, tmp_path, capsys):
    assert cli.main(["evaluate", str(run), "--episodes", "2"]) == 0
    assert "checkpoints/update-" in capsys.readouterr().out.splitlines()[0]
    unfinished = shutil.copytree(run, tmp_path / "run")
    (unfinished / "evaluation.json").unlink()
    (unfinished / "checkpoints" / "best.json").write_text('{"checkpoint": "update-99"}')
    assert "names update-99, which is not there; the newest checkpoint is taken" in said(capsys, "evaluate", unfinished, "--episodes", "2", code=0)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_report_has_a_gap_where_a_number_is_none(number, run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    whole, value = (odd / "metrics.jsonl").read_text(), load_run(run).metrics[0]["rollout/return"]
    (odd / "metrics.jsonl").write_text(whole.replace(f'"rollout/return": {value}', f'"rollout/return": {number}'))
    assert number in (odd / "metrics.jsonl").read_text()
    assert said(capsys, "report", odd, "--out", tmp_path / "page.html", code=0) == ""
    assert said(capsys, "report", odd, run, "--out", tmp_path / "page.html", code=0) == ""


TORN = {"config.yaml": ("name: [", "config.yaml:1"), "evaluation.json": ("{", "evaluation.json is torn")}


@pytest.mark.parametrize("name", TORN)
def test_a_report_of_a_torn_file_names_it(name, run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    text, told = TORN[name]
    (odd / name).write_text(text)
    found = said(capsys, "report", odd, "--out", tmp_path / "page.html")
    assert told in found
    assert str(odd) in found


def test_a_report_of_an_empty_recipe_names_it(run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    (odd / "config.yaml").write_text("")
    assert f"{odd / 'config.yaml'} is not what a run writes" in said(capsys, "report", odd, "--out", tmp_path / "page.html")


def test_a_report_is_a_file(run, tmp_path, capsys):
    assert "is a folder; a file is right" in said(capsys, "report", run, "--out", tmp_path)


def test_a_suite_does_not_go_into_a_run(run, capsys):
    assert "holds a run; name another folder for the suite" in said(capsys, "bench", "quickstart", "--profile", "smoke", "--out", run)


def test_ctrl_c_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    from loquent.commands import train as command

    def interrupted(recipe, out):
        out.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", interrupted)
    assert f"to go on: loquent resume {tmp_path / 'x'}" in said(capsys, "train", "reviews_ppo", *SMALL, "--out", tmp_path / "x", code=130)
