"""What a person does wrong first is answered in one sentence that says what would be right.

Nothing is written, nothing lost.
"""

import shutil

import pytest

import loquent
from loquent.cli import main as cli
from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.run import load_run
from loquent.training.train import train

SMALL = ["task.limit=60", "rewards={lexicon: 1.0}", "metrics={diversity: {}}"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run that came to its end."""
    folder = tmp_path_factory.mktemp("mistakes") / "run"
    return train(
        recipes.load("reviews_ppo", [*SMALL, "model.path="], profile="smoke"), folder, progress=False
    ).folder


def said(capsys, *words, code=2):
    """What the command prints on stderr, its exit code as expected."""
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == code
    return capsys.readouterr().err


def test_a_metric_that_nothing_measures_is_refused_before_anything_is_written(tmp_path, capsys):
    given = ["training.stop_metric=foo", "training.evaluate_every=1", "model.path=", *SMALL]
    assert "'foo' cannot be watched" in said(
        capsys, "train", "reviews_ppo", *given, "--profile", "smoke", "--out", tmp_path / "x"
    )
    assert not (tmp_path / "x").exists()


def test_a_base_that_is_not_there_is_not_looked_for_on_the_hub(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = said(
        capsys, "train", "reviews_ppo", *SMALL, "--profile", "smoke", "model.path=runs/base", "--out", "x"
    )
    assert "runs/base: there is no such folder; `loquent train reviews_base --out runs/base` makes it" in told


def test_the_advice_for_a_missing_folder_is_the_command_that_makes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = said(capsys, "generate", "runs/bc", "--prompt", "x")
    assert "runs/bc: there is no such folder; `loquent train wordle_bc --out runs/bc` makes it" in told
    assert (
        said(capsys, "generate", "runs/typo", "--prompt", "x")
        == "BadModel: runs/typo: there is no such folder; check the spelling\n"
    )


def test_evaluate_asks_for_the_task_of_what_is_no_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "BadSetting: expert is an agent, and no task is named; give --task TASK. Known: " in said(
        capsys, "evaluate", "expert"
    )
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "config.json").write_text("{}")
    assert "exp is a model's folder, and no task is named; give --task TASK\n" in said(
        capsys, "evaluate", "exp"
    )
    (tmp_path / "exp" / "loquent.json").write_text('{"task": {"kind": "wordle", "limit": 30}}')
    assert "give --task wordle, and the task's options in exp/loquent.json as --option KEY=VALUE" in said(
        capsys, "evaluate", "exp"
    )
    (tmp_path / "a.jsonl").touch()
    assert "a.jsonl is a file of episodes, and no task is named" in said(capsys, "evaluate", "a.jsonl")


@pytest.mark.parametrize("episodes", [0, -3])
def test_python_refuses_fewer_than_one_episode_too(run, episodes):
    for call in (
        lambda: loquent.play("wordle", "expert", episodes=episodes),
        lambda: loquent.evaluate(run, episodes=episodes),
    ):
        with pytest.raises(BadSetting, match=f"episodes = {episodes}: must be an integer of at least 1"):
            call()
    with pytest.raises(BadSetting, match="at least 1"):
        loquent.check("wordle", episodes=episodes)


def test_one_name_is_a_list_of_one():
    assert recipes.load("reviews_ppo", ["training.trackers=tensorboard"]).training.trackers == (
        "tensorboard",
    )


def test_a_folder_of_several_seeds_asks_for_one(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "several" / "seed-0")
    for command in (["evaluate", tmp_path / "several"], ["export", tmp_path / "several", tmp_path / "out"]):
        assert f"name one of them: {tmp_path / 'several' / 'seed-0'}" in said(capsys, *command)


def test_a_path_that_is_none_and_one_that_is_a_file(run, tmp_path, capsys):
    assert "there is no folder" in said(capsys, "resume", tmp_path / "nothing")
    assert "is a file; name the folder of a run" in said(capsys, "resume", run / "config.yaml")


def test_a_run_stopped_before_its_first_checkpoint_says_so(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    assert "was stopped before its first checkpoint" in said(
        capsys, "evaluate", tmp_path / "run", "--episodes", "2"
    )


def test_evaluation_says_with_which_checkpoint(run, tmp_path, capsys):
    assert cli.main(["evaluate", str(run), "--episodes", "2"]) == 0
    assert "checkpoints/update-" in capsys.readouterr().out.splitlines()[0]
    unfinished = shutil.copytree(run, tmp_path / "run")
    (unfinished / "evaluation.json").unlink()
    (unfinished / "checkpoints" / "best.json").write_text('{"checkpoint": "update-99"}')
    assert "names update-99; the newest checkpoint update-" in said(
        capsys, "evaluate", unfinished, "--episodes", "2", code=0
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_report_has_a_gap_where_a_number_is_none(number, run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    whole, value = (odd / "metrics.jsonl").read_text(), load_run(run).metrics[0]["rollout/return"]
    (odd / "metrics.jsonl").write_text(
        whole.replace(f'"rollout/return": {value}', f'"rollout/return": {number}')
    )
    assert number in (odd / "metrics.jsonl").read_text()
    assert said(capsys, "report", odd, "--out", tmp_path / "page.html", code=0) == ""
    assert said(capsys, "report", odd, run, "--out", tmp_path / "page.html", code=0) == ""


def test_a_report_of_a_torn_recipe_names_it(run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    (odd / "config.yaml").write_text("name: [")
    found = said(capsys, "report", odd, "--out", tmp_path / "page.html")
    assert "config.yaml:1" in found
    assert str(odd) in found


def test_a_report_of_a_torn_evaluation_is_drawn_and_names_it(run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    (odd / "evaluation.json").write_text("{")
    said(capsys, "report", odd, "--out", tmp_path / "page.html", code=0)
    assert "evaluation.json:1: it is not JSON" in (tmp_path / "page.html").read_text()


def test_a_report_of_an_empty_recipe_names_it(run, tmp_path, capsys):
    odd = shutil.copytree(run, tmp_path / "run")
    (odd / "config.yaml").write_text("")
    assert f"{odd / 'config.yaml'} was not written by a run" in said(
        capsys, "report", odd, "--out", tmp_path / "page.html"
    )


def test_a_report_is_a_file(run, tmp_path, capsys):
    assert "is a folder; name a file" in said(capsys, "report", run, "--out", tmp_path)


def test_a_suite_does_not_go_into_a_run(run, capsys):
    assert "holds a run; name another folder for the suite" in said(
        capsys, "bench", "quickstart", "--profile", "smoke", "--out", run
    )


def test_ctrl_c_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    from loquent.training import train as training

    def interrupted(recipe, out):
        out.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    assert f"to go on: loquent resume {tmp_path / 'x'}" in said(
        capsys, "train", "reviews_ppo", *SMALL, "--out", tmp_path / "x", code=130
    )


@pytest.mark.parametrize("name", [":Name", ".:Name", ".x:Name", "a..b:Name", "x:"])
def test_a_name_of_no_module_is_refused(name, capsys):
    for command in (["play", name], ["check", name], ["play", "wordle", "--agent", name]):
        assert "is not of the form 'module:name'" in said(capsys, *command)


def test_a_stopped_quickstart_continues_when_its_command_is_repeated(tmp_path, capsys, monkeypatch):
    from loquent.bench import runner

    made, real = [], runner.runs

    def until_the_base(*args, say, **options):
        def stop(text):
            made.append(text)
            raise KeyboardInterrupt

        return real(*args, say=stop, **options)

    out = tmp_path / "quick"
    line = ["quickstart", "--out", out, "--profile", "smoke", "--processes", "1", "task.limit=200"]
    with monkeypatch.context() as patch:
        patch.setattr(runner, "runs", until_the_base)
        assert "to go on, repeat the same command" in said(capsys, *line, code=130)
    assert len(made) == 1
    assert f"name one of them: {out / 'base'}. To continue a quickstart" in said(capsys, "resume", out)
    assert cli.main([str(word) for word in line]) == 0
    printed = capsys.readouterr().out
    assert "1/6 base: found" in printed
    assert (out / "table.json").is_file()


def test_quickstart_leaves_a_folder_of_other_things_alone(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    told = said(capsys, "quickstart", "--out", tmp_path)
    assert "is not empty and holds no quickstart; name a new folder" in told


def test_a_folder_to_save_a_game_in_is_refused_before_the_game(tmp_path, capsys):
    told = said(capsys, "play", "wordle", "--agent", "expert", "--save", tmp_path)
    assert told == (
        f"BadSetting: --save {tmp_path}: this is a folder; name a file in it, such as "
        f"{tmp_path / 'games.jsonl'}\n"
    )


def test_arguments_of_another_type_are_answered_with_what_is_allowed(tmp_path):
    import gymnasium

    with pytest.raises(BadSetting, match=r"^episodes = '2': must be an integer of at least 1$"):
        loquent.play("wordle", "expert", episodes="2")
    with pytest.raises(BadSetting, match=r"is a dict; it must be a Recipe, the name of one or the path"):
        loquent.train({"task": "x"}, tmp_path / "x")
    with pytest.raises(BadSetting, match=r"^the argument task is missing; give a Task, a registered name"):
        gymnasium.make("loquent/Task-v0")
