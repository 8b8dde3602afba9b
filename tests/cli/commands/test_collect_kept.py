"""A collection loses only games under way, and goes on with another address or other patience."""

import json
import signal
import subprocess
import time
from functools import partial

import pytest

from loquent.agents.http import Http
from loquent.cli import main as cli
from loquent.core.episode import read
from loquent.core.options import transport_options, without_transport
from loquent.files.run_records import mark
from loquent.training.datasets import collection, journal

HALTING = '''
import os
from dataclasses import dataclass
from loquent.core.agent import make
from loquent.core.settings import setting

@dataclass(frozen=True)
class Options:
    patience: int = setting(3, "how long", transport=True)
    smart: float = setting(0.5, "how well")

class Halting:
    """Plays Wordle, games of many lengths; after so many questions it is interrupted, killed or broken."""
    Options = Options
    name = "halting"
    answered = 0

    def __init__(self, task, options):
        self.player = make("wordle/random_mixture", task, {"prob_smart": options.smart})

    def answer(self, asked):
        with open("asked", "a") as file:
            file.write("".join(f"{one.game}\\n" for one in asked))
        Halting.answered += len(asked)
        limit, way = os.environ.get("HALT", "0 none").split()
        if int(limit) and Halting.answered > int(limit):
            if way == "kill":
                os._exit(9)
            raise KeyboardInterrupt if way == "interrupt" else ConnectionError("gone")
        return self.player.answer(asked)
'''
LINE = ["collect", "wordle", "limit=30", "--agent", "halting:Halting", "--episodes", "150", "--seed", "7"]


@pytest.fixture
def halting(loquent, folder):
    (folder / "halting.py").write_text(HALTING)
    return loquent


def test_a_collection_that_is_stopped_in_the_middle_of_a_shard_plays_only_the_games_that_had_not_ended(
    halting, folder
):
    assert halting(*LINE, "--out", "whole").returncode == 0
    (folder / "asked").unlink()
    seen, kept = set(), 0
    for way in ("interrupt", "kill", "error"):
        stopped = halting(*LINE, "--out", "cut", HALT=f"150 {way}")
        assert stopped.returncode != 0
        if way == "interrupt":
            assert stopped.returncode == 130
            assert "Traceback" not in stopped.stderr
            assert "of 150 games are finished and stored in cut; the same command continues" in stopped.stderr
        journals = {
            path.stem: journal.read(path, range(150))[0]
            for path in (folder / "cut" / "shards").glob("*.journal")
        }
        ended = {game for one in journals.values() for game in one} | {
            int(path.stem) * 64 + i for path in (folder / "cut" / "shards").glob("*.jsonl") for i in range(64)
        }
        assert len(ended) > kept, "each attempt keeps some more"
        asked = set((folder / "asked").read_text().split())
        (folder / "asked").unlink()
        assert not asked & seen, "a game that has ended is not played again"
        names = [f"{one.row}#{one.number}" for one in read(folder / "whole" / "episodes.jsonl")]
        seen, kept = {names[game] for game in ended}, len(ended)
    assert halting(*LINE, "--out", "cut").returncode == 0
    assert not set((folder / "asked").read_text().split()) & seen
    assert (folder / "cut" / "episodes.jsonl").read_bytes() == (
        folder / "whole" / "episodes.jsonl"
    ).read_bytes()
    assert not (folder / "cut" / "shards").exists()


@pytest.mark.parametrize("design", [[], ["--design", "branching", "--suboptimal", "wordle/random"]])
def test_of_a_journal_a_torn_end_is_played_again_and_damage_is_refused(halting, folder, capsys, design):
    line = ["collect", "wordle", "limit=20", "--agent", "wordle/random_mixture", "--episodes", "12", *design]
    assert cli.main([*line, "--out", "whole"]) == 0
    right = (folder / "whole" / "episodes.jsonl").read_bytes()
    plan = json.loads((folder / "whole" / "collect.json").read_text())
    kept = folder / "kept.journal"
    with journal.Journal(kept, range(12)) as one:
        groups = []
        for episode in read(folder / "whole" / "episodes.jsonl"):
            if not design or episode.meta["kind"] == "expert":
                groups.append([])
            groups[-1].append(episode)
        for number in (5, 2, 9):
            one.add(number, groups[number])
        assert one.missing == [0, 1, 3, 4, 6, 7, 8, 10, 11]
    whole = kept.read_bytes()
    digit = whole.replace(b".0}", b".5}", 1)
    assert digit != whole
    begun = {
        "all": whole,
        "cut": whole[:-40],
        "a line and a piece": whole + b"nonsense",
        "zeros": whole + bytes(40),
        "nothing": b"",
    }
    second = whole.index(b"\n") + 1
    damaged = {1: [digit, b"nonsense\n" + whole, b"\n"], 2: [whole[:second] + whole[second + 1 :]]}
    odd = (b'[99, ["x"]]', b"[3, []]", b'[true, ["x"]]', b'{"3": 4}', b"\xff")
    damaged[4] = [whole + b"[" * 5000 + b"\n", *(whole + _marked(text) for text in odd)]
    cases = [(found, None) for found in begun.values()] + [
        (found, place) for place, some in damaged.items() for found in some
    ]
    for number, (found, place) in enumerate(cases):
        out = folder / f"cut{number}"
        (out / "shards").mkdir(parents=True)
        (out / "collect.json").write_text(json.dumps(plan))
        kept = out / "shards" / "000000.journal"
        kept.write_bytes(found)
        capsys.readouterr()
        assert cli.main([*line, "--out", str(out)]) == (2 if place else 0)
        if place:
            assert (
                f"{kept}:{place}: this line is not what was written; delete this file"
                in capsys.readouterr().err
            )
            kept.unlink()
            assert cli.main([*line, "--out", str(out)]) == 0
        assert (out / "episodes.jsonl").read_bytes() == right


def _marked(text):
    return mark(text + b"\n").encode() + b" " + text + b"\n"


def test_options_of_transport_do_not_make_another_collection(halting, folder):
    assert halting(*LINE, "agent.patience=1", "--out", "cut", HALT="200 interrupt").returncode == 130
    other = halting(*LINE, "agent.smart=0.9", "--out", "cut")
    assert (other.returncode, "holds another collection" in other.stderr) == (2, True)
    assert halting(*LINE, "agent.patience=9", "--out", "cut").returncode == 0
    assert json.loads((folder / "cut" / "collect.json").read_text())["options"] == ["limit=30"]
    assert halting(*LINE, "--out", "whole").returncode == 0
    assert (folder / "cut" / "episodes.jsonl").read_bytes() == (
        folder / "whole" / "episodes.jsonl"
    ).read_bytes()


def test_what_decides_a_collection_is_looked_for_in_players_of_players_too():
    find = collection.designs.identifying_options
    http = [
        "limit=2",
        "agent.retries=3",
        " agent.timeout =1",
        "agent.model=m",
        "agent.base_url=x",
        "retries=3",
    ]
    assert find({"agent": "http"}, http) == ["limit=2", "agent.model=m", "retries=3"]
    assert find({"agent": "expert"}, ["agent.retries=3"]) == ["agent.retries=3"]
    inside = "agent.first={kind: http, base_url: 'http://x/v1', model: m}"
    assert find({"agent": "wordle/mixture"}, [inside, "agent.prob_first=0.1"]) == [
        'agent.first={"kind": "http", "model": "m"}',
        "agent.prob_first=0.1",
    ]


def test_the_transport_of_a_judge_is_no_part_of_a_task():
    import loquent
    from loquent import Record
    from loquent.training import recipes

    def judge(**options):
        return Record(kind="dialogue/remote", **{"model": "a", "url": "http://x", **options})

    def identity(**options):
        return loquent.task("dialogue", judge=judge(**options)).identity

    def fingerprint(**options):
        text = ", ".join(f"{name}: {value}" for name, value in judge(**options).items())
        return recipes.load("dialogue_bc", [f"task.judge={{{text}}}", "training.data=[x]"]).fingerprint

    for same in (identity, fingerprint):
        assert same() == same(url="http://y", timeout=3.0, retries=0, pause=0.5, concurrency=1)
        assert same() != same(model="b")
        assert same() != same(reward="fetch_reward")
    assert identity() != loquent.task("dialogue").identity
    find = collection.designs.identifying_options
    assert find({"agent": "expert"}, ["judge={kind: dialogue/remote, model: a, retries: 3}", "limit=3"]) == [
        'judge={"kind": "dialogue/remote", "model": "a"}',
        "limit=3",
    ]


def test_a_teacher_s_transport_is_no_part_of_a_recipe(folder):
    from loquent.training import recipes

    def fingerprint(teacher):
        return recipes.load("wordle_bc", [f"training.teacher={teacher}", "training.data=[]"]).fingerprint

    one = "{kind: http, base_url: 'http://x/v1', model: m"
    assert fingerprint(one + "}") == fingerprint(
        one.replace("//x", "//y") + ", retries: 9, timeout: 3, concurrency: 2, pause: 0.5}"
    )
    assert fingerprint(one + "}") != fingerprint(one + ", temperature: 0.5}")
    assert transport_options(Http) == {
        "base_url",
        "api_key_variable",
        "timeout",
        "retries",
        "pause",
        "concurrency",
    }
    assert without_transport("http") == "http"
    assert dict(without_transport({"kind": "nobody:Here", "x": 1})) == {"kind": "nobody:Here", "x": 1}, (
        "a name that stands in a file is not imported"
    )


def test_ctrl_c_waits_for_no_process(folder, command):
    task = (folder / "counting.py").read_text().replace("time.sleep(0.005)", "time.sleep(30)")
    (folder / "counting.py").write_text(task)
    line = [
        "collect",
        "counting:Slow",
        "--agent",
        "counting:Counter",
        "--episodes",
        "200",
        "--out",
        str(folder / "o"),
        "--processes",
        "2",
    ]
    # a shell's background jobs are started deaf to it
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    parent = subprocess.Popen(command(*line), cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    limit = time.monotonic() + 60
    while len(children := _children(parent.pid)) < 3 and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(0.5)
    begun = time.monotonic()
    parent.send_signal(signal.SIGINT)
    errors = parent.communicate(timeout=60)[1]
    assert time.monotonic() - begun < 10
    assert parent.returncode == 130
    assert "Traceback" not in errors
    while (alive := [pid for pid in children if _state(pid) != "Z"]) and time.monotonic() < begun + 10:
        time.sleep(0.05)
    assert not alive


def _children(pid):
    return [
        int(one)
        for one in subprocess.run(
            ["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False
        ).stdout.split()
    ]


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
