"""What a user meets first: suggestions, lists, tracebacks, and evaluations with other settings."""

import json

import pytest

from loquent.cli import main as cli
from loquent.core import registry
from loquent.core.catalogue import CORPUS_METRICS
from loquent.core.metric import Context, traits
from loquent.errors import BadSetting, UnknownName
from loquent.files.run_folder import RunFolder

SMALL = (
    "task.limit=60",
    "model={layers: 1, width: 16, heads: 2, context: 512, vocabulary: 260, tokenizer_texts: 50}",
    "decoding={max_new_tokens: 4}",
    "metrics={diversity: {}}",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first") / "run"
    assert cli.main(["train", "reviews_supervised", "--profile", "smoke", *SMALL, "--out", str(folder)]) == 0
    return folder


def test_a_misspelled_command_gets_a_suggestion(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["trian", "reviews_ppo"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "no command is named 'trian'. Did you mean 'train'?" in error
    assert "Known: train, " in error
    assert " more; loquent --help lists all" in error
    assert "annotate" not in error, "only the nearest commands are listed"
    with pytest.raises(SystemExit):
        cli.main(["--debug", "trian"])
    assert "Did you mean 'train'?" in capsys.readouterr().err


def test_a_misspelled_choice_gets_a_suggestion(capsys):
    with pytest.raises(SystemExit):
        cli.main(["list", "recipe"])
    assert "'suites', got 'recipe'. Did you mean 'recipes'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train", "import"])
def test_help_of_a_command_is_that_of_the_command(name, capsys):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    expected = capsys.readouterr().out
    assert cli.main(["help", name]) == 0
    assert capsys.readouterr().out == expected


def test_help_has_the_command_and_the_settings_of_a_name(capsys):
    assert cli.main(["help", "values"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: loquent values")
    assert "\n\nreward.token_specified.values (default" in shown


def test_debug_shows_the_traceback(capsys, monkeypatch):
    monkeypatch.delenv("LOQUENT_DEBUG", raising=False)
    assert cli.main(["check", "wrodle"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert cli.main(["check", "wrodle", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
    assert cli.main(["check", "wrodle"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert cli.main(["--debug", "check", "wrodle"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("", False), ("0", False)])
def test_the_variable_of_debug_is_off_when_empty_or_0(value, shown, capsys, monkeypatch):
    monkeypatch.setenv("LOQUENT_DEBUG", value)
    assert cli.main(["check", "wrodle"]) == 2
    assert ("Traceback" in capsys.readouterr().err) == shown


def test_a_long_list_of_names_is_cut_with_the_nearest_first():
    names = [f"name_{i:02}" for i in range(30)]
    text = str(UnknownName("thing", "name_17x", names))
    assert "Did you mean 'name_17'? Known: name_17, " in text
    assert text.endswith(", and 25 more")
    assert str(UnknownName("thing", "b", ["a", "c"])).endswith("Known: a, c")


def test_score_without_a_score_fails(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": ""}) + "\n")
    assert cli.main(["score", "--metrics", "lexicon", str(tmp_path / "a.jsonl")]) == 1
    assert "nothing was scored" in capsys.readouterr().err


def test_the_list_of_rewards_has_every_metric_that_can_be_one(capsys):
    assert cli.main(["list", "rewards", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[-1])["summaries"]
    assert set(listed) == {*registry.names("reward"), *registry.names("metric")} - set(CORPUS_METRICS)
    assert not [name for name, text in listed.items() if len(text) < 20 or "registered" in text]


@pytest.mark.parametrize("name", registry.names("metric"))
def test_the_metrics_of_whole_corpora_are_listed_as_such(name):
    try:
        metric = traits(registry.find("metric", name)(Context()))
    except BadSetting:
        pytest.skip(f"{name} needs a model or a task to be made")
    assert (not set(metric.keys) - set(metric.corpus_only)) == (name in CORPUS_METRICS)


def test_training_ends_with_a_short_list(run, capsys):
    capsys.readouterr()
    assert cli.main(["resume", str(run)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sum("diversity/" in line for line in lines) == 4
    assert any("more values of diversity, in evaluation.json" in line for line in lines)


def test_an_evaluation_takes_settings_and_is_saved(run, tmp_path, capsys):
    folder = tmp_path / "evaluated"
    command = ["evaluate", str(run), "--episodes", "3", "--save", str(folder), "--json"]
    assert cli.main([*command, "metrics={repetition_rate: {}}", "evaluation.max_new_tokens=2"]) == 0
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    saved = RunFolder(folder).evaluation()
    assert saved["values"] == printed["values"]
    assert "scored/repetition_rate" in saved["values"]
    assert not [name for name in saved["values"] if name.startswith("diversity/")]
    lengths = [
        len(turn["text"].split())
        for line in (folder / "episodes.jsonl").read_text().splitlines()
        for turn in json.loads(line)["turns"]
        if turn["seat"] == "agent"
    ]
    assert len(lengths) == 3
    assert max(lengths) <= 2
    assert cli.main(command) == 2
    assert "exists already; name a new folder" in capsys.readouterr().err


@pytest.mark.parametrize("override", ["training.updates=9", "algorithm.clip=0.1", "model.width=8"])
def test_an_evaluation_refuses_settings_of_training(run, override, capsys):
    assert cli.main(["evaluate", str(run), "--episodes", "2", override]) == 2
    assert "cannot change when a run is evaluated; settings of evaluation, metrics" in capsys.readouterr().err


def test_an_evaluation_of_an_agent_takes_options_of_the_task(capsys):
    command = ["evaluate", "random", "--task", "wordle", "--episodes", "2", "--json"]
    assert cli.main([*command, "task.limit=30"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert cli.main([*command, "--option", "limit=30"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == first


def test_an_error_in_a_reward_names_file_and_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken_reward.py").write_text(
        "def score(samples):\n    return [1 / 0 for _ in samples.rows]\n"
    )
    command = ["train", "reviews_ppo", "--profile", "smoke", *SMALL, "--out", "run"]
    assert cli.main([*command, 'rewards={"broken_reward:score": 1.0}']) == 2
    error = capsys.readouterr().err
    assert (
        f"{tmp_path / 'broken_reward.py'}:2: reward 'broken_reward:score' raised ZeroDivisionError" in error
    )
