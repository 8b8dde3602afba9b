"""Players on the same rows: paired differences, verdicts, what each kind of player is, and the page."""

import dataclasses
import math

import pytest

import loquent
from helpers.agents.endpoints import Server, chat
from helpers.report.report_folders import HOSTILE
from loquent.bench.comparison.contrasts import contrasts
from loquent.core.agent import Answer, make
from loquent.core.episode import TASK, Episode, Turn
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.errors import BadSetting, UnknownName
from loquent.statistics.intervals import interval
from loquent.training import recipes
from loquent.training.evaluate import Evaluation, evaluate_agent
from loquent.training.start import make_task

RECIPE = recipes.load("wordle_ppo", ["task.limit=8"])
SETTINGS = {"recipe": "wordle_ppo", "overrides": ["task.limit=8"]}


@pytest.fixture(scope="module")
def task():
    return make_task(RECIPE)


@pytest.fixture(scope="module")
def found():
    return loquent.compare("random", "wordle/optimal", **SETTINGS, episodes=20)


def evaluation(task, returns, **more):
    """An evaluation with one episode per row and these returns."""
    rows = task.rows("test")
    turns = (Turn(TASK, "?", to="agent"), Turn("agent", "crane", rewards=Record(guess=0.0)))
    played = [
        Episode(
            task.identity,
            row.id,
            "test",
            0,
            0,
            (turns[0], dataclasses.replace(turns[1], rewards=Record(guess=r))),
        )
        for row, r in zip(rows, returns)
    ]
    columns = {"return": list(returns), "reward/guess": list(returns)}
    assert outcomes.columns(played, task.spec, task.spec.rewards)["return"] == columns["return"]
    values = {key: math.fsum(column) / len(column) for key, column in columns.items()}
    higher = {"return": True, "reward/guess": None, **more}
    return Evaluation(task.identity, "test", len(played), values, episodes=tuple(played), higher=higher)


def test_the_difference_is_paired_by_row(task):
    """Differences 0, 1, 1, 2: mean 1, standard error sqrt(2 / 3) / 2, t = 2.449 with 3 degrees of freedom."""
    first, second = (
        evaluation(task, [0.0, 5.0, 1.0, 2.0]),
        evaluation(task, [0.0, 6.0, 2.0, 4.0]),
    )
    made = contrasts({"a": first, "b": second}, task, RECIPE)
    contrast = next(contrast for contrast in made if contrast.key == "return")
    difference = contrast.step.difference
    assert (first.values["return"], second.values["return"], difference.mean) == (2.0, 3.0, 1.0)
    assert difference.error == pytest.approx(math.sqrt(2 / 3) / 2)
    tail = math.sqrt(2) / 3 + math.atan(math.sqrt(2))  # Student's distribution of 3 degrees in closed form
    assert difference.p == pytest.approx(1 - 2 / math.pi * tail, rel=1e-9)
    half = 3.182446305284263 * math.sqrt(2 / 3) / 2  # by the quantile at .975 of 3 degrees
    assert (difference.low, difference.high) == pytest.approx((1 - half, 1 + half), rel=1e-9)
    assert (contrast.corrected, contrast.verdict) == (difference.p, "undecided")
    assert next(one for one in made if one.key == "reward/guess").verdict == "", "no direction, no verdict"


@pytest.mark.parametrize(("up", "verdict"), [(True, "better"), (False, "worse")])
def test_a_verdict_follows_the_direction_and_counts_all_tests(task, up, verdict):
    base, above = [0.0, 5.0, 1.0, 2.0, 3.0, 7.0], [1.1, 6.0, 2.0, 3.1, 3.9, 8.0]
    more = {"return": up, "reward/guess": up}
    made = contrasts(
        {
            "a": evaluation(task, base),
            "b": evaluation(task, above, **more),
            "c": evaluation(task, base, **more),
        },
        task,
        RECIPE,
    )
    assert [(one.player, one.verdict) for one in made if one.key == "return"] == [
        ("b", verdict),
        ("c", "undecided"),
    ]
    [b, *_] = made
    assert b.corrected == pytest.approx(4 * b.step.difference.p), "two values of two players are tested"


def test_players_play_the_same_rows_with_the_same_streams(task, found):
    alone = evaluate_agent(task, make("random", task), episodes=16)
    own, best = found.evaluations.values()
    assert own.episodes == alone.episodes
    assert [(one.row, one.number) for one in own.episodes] == [(one.row, one.number) for one in best.episodes]
    assert found.notes == ("16 of 20 episodes are played: 2 per row",)
    by_row = {row.id: [] for row in task.rows("test")}
    for a, b in zip(own.episodes, best.episodes):
        by_row[a.row].append(b.rewards["guess"] - a.rewards["guess"])
    expected = interval([sum(numbers) / 2 for numbers in by_row.values()])
    got = next(one for one in found.contrasts if one.key == "return").step.difference
    assert (got.mean, got.low, got.high) == pytest.approx((expected.mean, expected.low, expected.high))


def test_a_player_does_not_differ_from_itself(task):
    class Twin:
        name = "twin"

        def answer(self, asked):
            return make("random", task).answer(asked)

    found = loquent.compare("random", Twin(), **SETTINGS, episodes=8)
    assert {one.step.difference.mean for one in found.contrasts} == {0.0}
    assert {one.verdict for one in found.contrasts if one.higher is not None} == {"undecided"}


def test_the_page_has_tables_and_answers_and_runs_nothing(found, tmp_path):
    class Liar:
        name = f"liar {HOSTILE}"

        def answer(self, asked):
            return [Answer(HOSTILE) for _ in asked]

    page = loquent.compare("expert", Liar(), **SETTINGS, episodes=2).save(tmp_path / "page.html").read_text()
    assert "<script>" not in page
    assert "<img" not in page
    assert page.count('<article class="sample">') == 2
    assert "Answers side by side" in page
    text = repr(found)
    assert "wordle/optimal against random" in text
    assert text.count("better") == 3
    assert "<table>" in found._repr_html_()


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_endpoint_is_a_player():
    server = Server(chat("crane"))
    try:
        endpoint = f"{{kind: http, base_url: {server.url}, model: served, temperature: 0}}"
        found = loquent.compare("random", endpoint, **SETTINGS, episodes=2)
    finally:
        server.close()
    answers = {turn.text for one in found.evaluations["http/served"].episodes for turn in one.answers()}
    assert answers == {"crane"}
    assert "temperature 0" in repr(found), "decodings that differ are named"


@pytest.mark.parametrize(
    ("players", "settings", "kind", "words"),
    [
        ((), SETTINGS, BadSetting, ["nothing is compared"]),
        (("random", "expert"), {}, BadSetting, ["no recipe", "--recipe RECIPE"]),
        (("random", "random"), SETTINGS, BadSetting, ["random is named twice"]),
        (("random", "exprt"), SETTINGS, UnknownName, ["exprt", "expert"]),
        (("{kind: http", "random"), SETTINGS, BadSetting, ["command line"]),
        (("{http}", "random"), SETTINGS, BadSetting, ["{http}"]),
        (("random", 3), SETTINGS, BadSetting, ["player", "3"]),
        (("random",), {"recipe": "wordle_pp"}, UnknownName, ["wordle_ppo"]),
        (
            ("random",),
            {**SETTINGS, "overrides": ["training.seed=1"]},
            BadSetting,
            ["training.seed", "task can"],
        ),
        (("random",), {**SETTINGS, "split": "tst"}, UnknownName, ["tst", "test"]),
        (("random",), {**SETTINGS, "episodes": 0}, BadSetting, ["episodes", "at least 1"]),
    ],
)
def test_a_mistake_is_said_before_anything_is_played(players, settings, kind, words):
    with pytest.raises(kind) as error:
        loquent.compare(*players, **settings)
    assert [word for word in words if word not in str(error.value)] == []
