"""Designed collections on the command line: whatever the number of processes, killed or not, the same file.

And what does not fit is told.
"""

import json
import sys
import time

import pytest

from helpers import commands
from loquent.cli import main as cli
from loquent.core import episode

PLAYERS = ["--agent", "expert", "--suboptimal", "counting:Counter"]
ADVERSARIAL = [
    *PLAYERS,
    "--adversary",
    "random",
    "--design",
    "adversarial",
    "design.rollouts=2",
    "design.games=1",
    "design.before=2",
]
BRANCHING = [*PLAYERS, "--design", "branching"]
TWEETS = ["--design", "tweets", "design.file=tweets.csv"]
LINES = {
    "branching": ["counting:Count", *BRANCHING],
    "adversarial": ["counting:Count", *ADVERSARIAL],
    "tweets": ["wordle", "limit=50", *TWEETS],
}


@pytest.fixture(autouse=True)
def _own_modules(folder, monkeypatch):

    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    sys.modules.pop("counting", None)
    grids = ("🟩🟩🟩🟩🟩", "⬛⬛⬛⬛⬛\n🟩🟩🟩🟩🟩", "no grid")
    rows = "".join(f'21{i},"{text}"\n' for i, text in enumerate(grids))
    (folder / "tweets.csv").write_text("wordle_id,tweet_text\n" + rows)
    yield
    sys.modules.pop("counting", None)


def collected(folder, name, line, *more):
    assert (
        cli.main(["collect", *line, "--episodes", "130", "--seed", "3", "--out", str(folder / name), *more])
        == 0
    )
    return (folder / name / "episodes.jsonl").read_bytes()


@pytest.mark.parametrize("design", LINES)
def test_the_number_of_processes_changes_nothing(folder, design):
    one = collected(folder, "one", LINES[design])
    assert one == collected(folder, "two", LINES[design], "--processes", "2")
    assert one != collected(folder, "other", LINES[design], "--seed", "4"), "the comparison can fail"
    games = [(found.row, found.number) for found in episode.read(folder / "one" / "episodes.jsonl")]
    assert len(set(games)) == len(games)


def test_what_is_made_is_counted_by_kind(folder, capsys):
    collected(folder, "one", LINES["adversarial"], "--json")
    *said, found = capsys.readouterr().out.splitlines()
    found = json.loads(found)
    assert {kind: made["episodes"] for kind, made in found["kinds"].items()} == {
        "expert": 130,
        "adversarial": 260,
        "suboptimal": 130,
    }
    assert found["episodes"] == 520
    assert found["kinds"]["expert"]["return"] == 3.0
    read = list(episode.read(folder / "one" / "episodes.jsonl"))
    forks = [one.rewards["right"] for one in read if one.meta["kind"] == "adversarial"]
    assert found["kinds"]["adversarial"]["return"] == pytest.approx(sum(forks) / 260)
    assert min(forks) >= 1.0, "the first answer is the expert's"
    assert "  130 expert, mean return 3" in said


@pytest.mark.sweep("1")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_killed_and_called_again_it_makes_the_same_file(folder, processes, loquent):
    line = ["counting:Slow", *ADVERSARIAL]
    whole = collected(folder, "whole", line)
    words = [
        "collect",
        *line,
        "--episodes",
        "130",
        "--seed",
        "3",
        "--out",
        str(folder / "killed"),
        "--processes",
        processes,
    ]
    first = commands.Command(["loquent", *words], folder)
    limit = time.monotonic() + 60
    while not list((folder / "killed").glob("shards/*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.005)
    first.process.kill()
    first.ended()
    assert not (folder / "killed" / "episodes.jsonl").exists(), "the kill came too late to show anything"
    assert list((folder / "killed").glob("shards/*.jsonl"))
    again = loquent(*words)
    assert again.returncode == 0, again.stderr
    assert (folder / "killed" / "episodes.jsonl").read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [["design.rollouts=3"], ["--suboptimal", "random"], ["--adversary", "expert"], ["--design", "branching"]],
)
def test_a_folder_of_another_design_is_refused(folder, change, capsys):
    before = collected(folder, "one", LINES["adversarial"])
    line = list(LINES["adversarial"])
    if change == ["--design", "branching"]:
        line, change = LINES["branching"], []
    assert (
        cli.main(
            ["collect", *line, "--episodes", "130", "--seed", "3", "--out", str(folder / "one"), *change]
        )
        == 2
    )
    assert "holds another collection" in capsys.readouterr().err
    assert (folder / "one" / "episodes.jsonl").read_bytes() == before


def test_other_tweets_make_another_collection(folder, capsys):
    collected(folder, "one", LINES["tweets"])
    (folder / "tweets.csv").write_text((folder / "tweets.csv").read_text() + "214,🟩🟩🟩🟩🟩\n")
    assert (
        cli.main(
            ["collect", *LINES["tweets"], "--episodes", "130", "--seed", "3", "--out", str(folder / "one")]
        )
        == 2
    )
    assert "inputs is" in capsys.readouterr().err


def test_plain_collections_are_written_down_as_before(folder):
    assert (
        cli.main(["collect", "counting:Count", "--agent", "expert", "--episodes", "2", "--out", "plain"]) == 0
    )
    assert set(json.loads((folder / "plain" / "collect.json").read_text())) == {
        "task", "options", "identity", "agent", "episodes", "split", "seed", "version", "weights"
    }  # fmt: skip
    assert b'"meta"' not in (folder / "plain" / "episodes.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--agent is missing: the design 'games' takes --agent"),
        (
            ["--agent", "expert", "--suboptimal", "random"],
            "--suboptimal is one too many: the design 'games' takes --agent",
        ),
        (
            ["--agent", "expert", "--design", "branching"],
            "--suboptimal is missing: the design 'branching' takes --agent, --suboptimal",
        ),
        ([*PLAYERS, "--design", "adversarial"], "--adversary is missing"),
        (
            ["--agent", "expert", "--design", "tweets", "design.file=tweets.csv"],
            "--agent is one too many: the design 'tweets' takes no player",
        ),
        (
            ["--agent", "expert", "--design", "branchin"],
            "no design is named 'branchin'. Did you mean 'branching'?",
        ),
        ([*BRANCHING, "design.rollout=2"], "design branching has no setting 'rollout'. Nearest: rollouts"),
        ([*BRANCHING, "design.rollouts=0"], "rollouts must be at least 1, got 0"),
        ([*BRANCHING, "adversary.x=2"], "adversary.x=2 is an option of --adversary, which is missing"),
        ([*BRANCHING, "suboptimal.x=2"], "the agent counting:Counter has no options"),
        (
            ["--agent", "expert", "--suboptimal", "human", "--design", "branching"],
            "--suboptimal human: a person cannot play a collection",
        ),
        (["--design", "tweets"], "design tweets needs file"),
        (["--design", "tweets", "design.file=none.csv"], "none.csv"),
        (["--design", "tweets", "design.file=tweets.csv"], "tweets need the task wordle with secret=row"),
    ],
)
def test_what_does_not_fit_is_told(folder, words, says, capsys):
    assert cli.main(["collect", "counting:Count", *words, "--episodes", "2", "--out", "o"]) == 2
    assert says in capsys.readouterr().err
