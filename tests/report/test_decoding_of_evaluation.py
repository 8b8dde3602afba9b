"""The decoding of evaluation: agents declare it, evaluations record it, tables, cards and pages name it."""

import dataclasses
import json

import pytest

from helpers.report.report_folders import run as reported
from loquent import load_run
from loquent.agents.http import Http
from loquent.agents.http_options import HttpOptions
from loquent.agents.sb3 import Chooser
from loquent.agents.turns import TurnAgent
from loquent.bench import suite as suites
from loquent.bench.evidence import leaderboard
from loquent.cli import main as cli
from loquent.core.agent import decoding_text
from loquent.core.agent import make as make_agent
from loquent.errors import BadCheckpoint
from loquent.files import final_evaluation, manifest
from loquent.models.decoding_settings import Decoding
from loquent.report.groups import read
from loquent.report.page import html
from loquent.tasks.wordle.task import Wordle
from loquent.training import recipes
from loquent.training.evaluate import evaluate_agent
from loquent.training.loop import TrainingLoop
from loquent.training.train import train


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "sampled, temperature 1"),
        ({"temperature": 0.7, "top_k": 20, "top_p": 0.9}, "sampled, temperature 0.7, top-k 20, top-p 0.9"),
        ({"method": "greedy", "temperature": 0.7}, "greedy"),
        ({"method": "beam", "beams": 5}, "beam search, 5 beams"),
    ],
)
def test_decoding_settings_have_a_short_text(settings, text):
    assert Decoding(**settings).text == text


def test_agents_declare_how_they_choose():
    assert decoding_text(TurnAgent("a", None, greedy=True)) == "argmax"
    assert decoding_text(TurnAgent("a", None, greedy=False)) == "sampled"
    assert decoding_text(Chooser("a", None, greedy=True, actions=None)) == "argmax"
    assert decoding_text(Chooser("a", None, greedy=True, actions=None, explore=0.1)) == "argmax, epsilon 0.1"
    options = HttpOptions(
        base_url="http://127.0.0.1:9/v1", model="m", temperature=0.5, extra={"top_p": 0.9, "user": "x"}
    )
    assert decoding_text(Http(None, options)) == "sampled by an endpoint, temperature 0.5, top_p 0.9"
    assert decoding_text(make_agent("random", Wordle())) == "agent random"


def test_an_evaluation_says_it_in_every_form(capsys):
    found = evaluate_agent(Wordle(), make_agent("expert", Wordle()), episodes=2)
    assert found.as_json()["decoding"] == "agent expert"
    heading = "wordle-v1, test, 2 episodes on 2 rows; decoding: agent expert"
    assert repr(found).startswith(heading)
    assert heading in found._repr_html_()
    assert cli.main(["evaluate", "expert", "--task", "wordle", "--episodes", "2"]) == 0
    assert capsys.readouterr().out.startswith(heading)


def test_a_note_says_where_decodings_are_mixed():
    assert (
        final_evaluation.decoding_note([("a", "argmax"), ("b", "argmax")])
        == "Decoding of evaluation: argmax."
    )
    assert final_evaluation.decoding_note([("a", "argmax"), ("b", "greedy"), ("c", "argmax")]) == (
        "These lines mix decodings of evaluation, so they differ in more than what was trained: "
        "argmax (a, c); greedy (b)."
    )
    assert final_evaluation.decoding_note([]) == ""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A supervised run of two small updates, and what its progress bar showed."""
    shown = []
    patch = pytest.MonkeyPatch()
    own = TrainingLoop._shown
    patch.setattr(TrainingLoop, "_shown", lambda loop, logs: shown.append(own(loop, logs)) or shown[-1])
    overrides = ["training.evaluate_every=2", "evaluation.method=greedy", "training.teacher=expert"]
    run = train(
        recipes.load("tagging_clone", overrides, profile="smoke"), tmp_path_factory.mktemp("run") / "run"
    )
    patch.undo()
    return run, shown


def test_a_run_records_it_and_its_report_and_card_name_it(trained, tmp_path):
    run, _ = trained
    assert run.evaluation["decoding"] == "greedy"
    machine = json.loads(run.files.machine.read_text())
    assert (machine["decoding"], machine["player"]) == ("greedy", "teacher expert")
    page = html(read([run.folder]))
    assert "split at the end; decoding: greedy" in page, "the card"
    assert "<td>greedy</td>" in page, "the table of runs"
    assert "Decoding of evaluation: greedy." in page, "the values at the end"
    assert "player: teacher expert" in page
    assert cli.main(["export", str(run.folder), str(tmp_path / "model")]) == 0
    assert json.loads((tmp_path / "model" / "loquent.json").read_text())["decoding"] == "greedy"


def test_the_bar_never_shows_the_teachers_success_as_the_policys(trained):
    first, second = trained[1]
    assert first == {"teacher expert return": "1.000"}, "the expert is always right"
    assert float(second["held-out return"]) < 1.0, "the policy is not"
    assert "rollout return" not in second


def test_runs_of_earlier_versions_say_that_it_is_not_recorded(tmp_path, capsys):
    folder = reported(tmp_path / "run")
    page = html(read([folder]))
    assert page.count("not recorded") >= 3
    torn = json.loads((folder / "evaluation.json").read_text()) | {"decoding": 5}
    (folder / "evaluation.json").write_text(
        json.dumps(manifest.add_seal({k: v for k, v in torn.items() if k != "seal"}))
    )
    with pytest.raises(BadCheckpoint, match="decoding must be a text, got 5"):
        _ = load_run(folder).evaluation


def test_a_leaderboard_has_a_column_and_says_that_kinds_are_mixed():
    suite = suites.load("grue")
    table = suite.task_tables[0].title
    entry = leaderboard.Entry(task=table, method="a", column="reward", value=0.5, by="me", profile="cpu")
    other = dataclasses.replace(entry, method="b", decoding="greedy")
    page = leaderboard.markdown([entry, other], suite, "cpu")
    assert page.count("| not recorded |") == page.count("|       greedy |") == 1
    assert "These lines mix decodings of evaluation" in page
    assert "not recorded (a by me); greedy (b by me)." in page
    assert leaderboard.as_json(suite, [other])["entries"][0]["decoding"] == "greedy"
