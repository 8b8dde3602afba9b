"""Recorded episodes of a suite: collected once where they are needed, given, gone on with, ranked, and set in
the tables.
"""

import json
from pathlib import Path

import pytest

from loquent.bench import jobs, outside, pages, runner
from loquent.bench import suite as suites
from loquent.bench.evidence.verdicts import UNDECIDED
from loquent.bench.schema.sets import SetJob
from loquent.bench.schema.suite_schema import Profile
from loquent.errors import BadCheckpoint, BadSetting, UnknownName
from loquent.statistics.intervals import student

pytest.importorskip("torch")

SUITE = """
title: Recorded
set: {task.limit: 20, training.data: [<games>, <others>]}
optimum: wordle/optimal
data:
  games: {label: "half", agent: {kind: wordle/random_mixture, prob_smart: 0.5}}
  others: {agent: wordle/random, seed: 1}
  unused: {agent: wordle/random}
  branching: {design: {kind: branching, rollouts: 1}, agent: wordle/optimal, suboptimal: wordle/wrong}
ranking:
  forks: {data: branching, pairs: branch}
columns:
  return: {metric: return, better: higher}
  forks: {metric: ranking/forks, better: higher}
profiles:
  cpu: {data: {any: {episodes: 50}, others: {episodes: 60}}}
cells:
  player: {recipe: wordle_bc, agent: {kind: wordle/random_mixture, prob_smart: 1.0}, set: {training.data: []}}
  clone: {recipe: wordle_bc}
  ilql: {recipe: wordle_bc, set: {algorithm: {kind: ilql, backbones: shared}}}
orderings:
  - {claim: "a player above a clone", column: return, rising: [clone, player]}
"""


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """The suite's file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets.yaml").write_text(SUITE)
    return tmp_path / "sets.yaml"


def planned(path, profile="cpu", overrides=()):
    whole = suites.load(path)
    return jobs.plan(
        whole, Path("out"), profile, 2, jobs.by_entry(overrides, list(whole.entries), list(whole.data))
    )


def bench(path, overrides=(), **options):
    said = []
    found = runner.bench(
        path, "out", profile="smoke", seeds=1, processes=1, overrides=overrides, say=said.append, **options
    )
    return found, said


def test_sets_that_are_needed_come_once_and_before_what_needs_them(sets):
    plan = planned(sets)
    made = [job for job in plan.jobs if isinstance(job, SetJob)]
    assert [job.name for job in made] == ["games", "others", "branching"] == list(plan.sets)
    assert [job.data.episodes for job in made] == [50, 60, 50]
    assert {dict(job.task_options)["limit"] for job in made} == {20}, "the task of the runs that need them"
    by_name = {job.folder.name: job for job in plan.jobs}
    assert by_name["clone-0"].recipe.training.data == ("out/games", "out/others")
    assert set(by_name["clone-1"].needs) == {job.key for job in made}
    assert by_name["player-0"].needs == ()
    names = [job.folder.name for job in plan.jobs]
    assert names.index("branching") < names.index("clone-0")
    assert {job.data.episodes for job in planned(sets, "smoke").jobs if isinstance(job, SetJob)} == {20}


def test_a_key_is_of_what_is_collected(sets):
    here, there = planned(sets), planned(sets, overrides=["games:episodes=51"])
    keys = [{job.folder.name: job.key for job in plan.jobs} for plan in (here, there)]
    assert {name for name in keys[0] if keys[0][name] != keys[1][name]} == {
        "games",
        "clone-0",
        "clone-1",
        "ilql-0",
        "ilql-1",
    }


def test_other_sets_may_be_given(sets, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "episodes.jsonl").write_text("")
    plan = planned(sets, overrides=["training.data=[mine]"])
    assert list(plan.sets) == ["branching"]
    plan = planned(sets, overrides=["games:path=mine"])
    clone = next(job for job in plan.jobs if job.folder.name == "clone-0")
    assert clone.recipe.training.data == ("mine", "out/others")
    assert outside.missing(plan, Profile()) == []
    [gone] = outside.missing(planned(sets, overrides=["games:path=gone"]), Profile())
    assert "'gone' holds no recorded episodes" in gone
    with pytest.raises(BadSetting, match=r"data.games has no setting 'episode'. Nearest: episodes"):
        planned(sets, overrides=["games:episode=1"])
    with pytest.raises(BadSetting, match="two tasks"):
        planned(sets, overrides=["ilql:task.limit=30"])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[<games>,", "[<gamse>,", "'gamse'.*games"),
        ("{data: branching, pairs: branch}", "{data: brunching, pairs: branch}", "'brunching'"),
        ("pairs: branch}", "pairs: both}", "'both'"),
        ("  unused:", "  clone:", "'clone' is a set of episodes and a stage or cell"),
        ("any: {episodes: 50}", "all: {episodes: 50}", "'all'"),
        ("agent: wordle/random, seed: 1", "agnet: wordle/random", "'agnet'"),
    ],
)
def test_a_mistake_is_named(sets, old, new, says):
    assert old in SUITE
    sets.write_text(SUITE.replace(old, new))
    with pytest.raises((BadSetting, UnknownName), match=says):
        suites.load(sets)


def test_a_suite_collects_learns_and_ranks(sets):
    found, said = bench(sets)
    assert not found.failures, found.failures
    assert [line.split()[1].rstrip(":") for line in said] == [
        "player-0",
        "games",
        "others",
        "branching",
        "clone-0",
        "ilql-0",
    ]
    games = found.sets["games"]
    assert (games["episodes"], games["label"], games["optimum_of"]) == (20, "half", "wordle/optimal")
    assert len(Path("out/games/episodes.jsonl").read_text().splitlines()) == 20
    assert games["best"] > games["return"] > -6
    assert -1.2 < games["optimum"] < -1.1
    assert games["exact"] == pytest.approx(-2.2512, abs=1e-4)
    assert found.sets["branching"]["exact"] is None
    assert "unused" not in found.sets
    row = found.rows["ilql"]
    assert 0 <= row.values["forks"][0] <= 1
    assert found.rows["clone"].values["forks"] == {}, "a clone has no values"
    assert (
        row.error("forks")
        == json.loads(Path("out/ilql-0/ranking.json").read_text())["found"]["forks"]["online_error"]
    )
    (step,) = found.verdicts[0].steps
    assert found.rows["clone"].error("return") is None, "it loses all of its games"
    error = found.rows["player"].error("return")
    assert step.difference.error == pytest.approx(error)
    assert step.difference.high - step.difference.mean == pytest.approx(
        student(step.difference.freedom) * error
    )
    assert found.verdicts[0].verdict == UNDECIDED, "one seed decides nothing about methods"
    text = pages.markdown(found)
    assert "## Recorded episodes" in text
    [line] = [line for line in text.splitlines() if line.startswith("| half ")]
    assert [cell.strip() for cell in line.split("|")][3:5] == ["20", str(games["rows"])]
    assert "exact value of wordle/optimal" in text
    assert "over rows (one seed; 4 episodes on 4 rows)" in text
    assert "undecided about the methods (one seed); on these rows: " in text
    assert "Recorded episodes" in Path("out/table.html").read_text()
    assert json.loads(Path("out/table.json").read_text())["data"]["games"]["return"] == games["return"]
    _gone_on_with(sets, found)


def _gone_on_with(sets, found):
    """Torn sets are collected to the same bytes; another ranking is read without training again."""
    before = Path("out/games/episodes.jsonl").read_bytes()
    for name in ("episodes.jsonl", "set.json"):
        (Path("out/games") / name).unlink()
    again, said = bench(sets)
    assert [line.split()[1] for line in said if not line.endswith("found")] == ["games:"]
    assert Path("out/games/episodes.jsonl").read_bytes() == before
    assert again.sets == found.sets
    assert again.rows["ilql"].values == found.rows["ilql"].values
    sets.write_text(SUITE.replace("forks: {data", "splits: {data").replace("ranking/forks", "ranking/splits"))
    weights = {
        path: path.stat().st_mtime_ns for path in Path("out/ilql-0/checkpoints").rglob("*.safetensors")
    }
    again, said = bench(sets)
    assert {line.split()[1] for line in said if not line.endswith("found")} == {"clone-0:", "ilql-0:"}
    assert again.rows["ilql"].values["forks"] == found.rows["ilql"].values["forks"]
    assert weights == {
        path: path.stat().st_mtime_ns for path in Path("out/ilql-0/checkpoints").rglob("*.safetensors")
    }
    with pytest.raises(BadCheckpoint, match="clone-0 holds a run of other settings"):
        bench(sets, ["games:episodes=21"])
    again, _ = bench(sets, ["branching:episodes=21"])
    assert "holds another collection: episodes is 20 there and 21 here" in again.failures["branching"]
    assert again.failures["ilql-0"].startswith("not made: a job that it needs failed (")
