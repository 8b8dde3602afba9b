"""`loquent values` on a run of an algorithm of one's own that acts by values."""

import json
import sys

import pytest

from loquent.agents.baselines import Random
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.tasks.wordle.task import Wordle

pytest.importorskip("torch")

SMALL = [
    "task={kind: wordle, limit: 20, instruct: false}",
    "model={layers: 1, width: 16, heads: 2, context: 160, vocabulary: 260, critic: none, reference: none}",
    "decoding.max_new_tokens=6",
    "training={updates: 1, episodes: 4, evaluate_every: 0, final_episodes: 2}",
    "algorithm.kind=own_values:Valued",
]
OWN = '''
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.policy_gradient.nlpo import tensors
from loquent.algorithms.imitation.supervised import LOGGED, Supervised
from loquent.models.values.perturb import Perturbation
from loquent.models.values.networks import TokenValues
from loquent.core.seeding import Key


class Valued(Supervised):
    """Imitates, and acts by values that nobody taught."""

    name = "valued"

    def __init__(self, config, model, *, key=Key(0)):
        super().__init__(config, model, key=key)
        self.values = TokenValues.build(model.policy, key=key)

    def agent(self, model, evaluating):
        return LanguageModelAgent(
            model.policy, model.format, model.decoding, perturbation=Perturbation(self.values), name=self.name
        )

    def state_dict(self):
        values = {name: tensor.detach().clone() for name, tensor in tensors(self.values).items()}
        return {**super().state_dict(), "values": values}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.values.load_state_dict(state["values"])
'''


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with the run, another run without values, and two files of games."""
    folder = tmp_path_factory.mktemp("values")
    (folder / "own_values.py").write_text(OWN)
    sys.path.append(str(folder))
    for name, line in (("run", SMALL), ("plain", SMALL[:-1])):
        assert cli.main(["train", "wordle_clone", *line, "--out", str(folder / name)]) == 0
    task = Wordle(Wordle.Options(limit=20, instruct=False))
    for name, seed in (("one", 1), ("two", 2)):
        (folder / name).mkdir()
        episode.write(
            folder / name / "episodes.jsonl",
            play(task, games(task.rows("train")[:6]), Random(task), seed=seed),
        )
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("own_values", None)


def said(capsys, *line):
    capsys.readouterr()
    assert cli.main([*map(str, line), "--json"]) == 0
    printed = capsys.readouterr().out
    return printed, json.loads(printed.splitlines()[-1])


def test_the_best_and_the_worst_utterances(room, capsys):
    printed, found = said(capsys, "values", room / "run", room / "one", "--number", 3)
    texts = {turn.text for one in episode.read(room / "one" / "episodes.jsonl") for turn in one.answers()}
    assert found["texts"] == len(texts)
    best, worst = ([one["advantage"] for one in found[name]] for name in ("best", "worst"))
    assert best == sorted(best, reverse=True)
    assert worst == sorted(worst)
    assert best[-1] > worst[-1]
    assert {one["text"] for one in [*found["best"], *found["worst"]]} <= texts
    assert all(one["text"] in printed for one in found["best"])
    _, pairs = said(
        capsys, "values", room / "run", room / "one" / "episodes.jsonl", "--ngram", 2, "--least", 2
    )
    assert all(one["count"] >= 2 for one in pairs["best"])
    assert pairs["best"] != found["best"]
    _, few = said(capsys, "values", room / "run", room / "one", "--least", 1000)
    assert few == {"run": str(room / "run"), "texts": 0, "best": [], "worst": []}


def test_the_ranking_of_two_sets(room, capsys):
    line = ("values", room / "run", room / "one", "--against", room / "two", "--answer", 1, "--draws", 60)
    printed, found = said(capsys, *line)
    assert [one["place"] for one in found["ranking"]] == [1, 2, 3, 4, 5, 6]
    assert found["ranking"][0]["n"] > 30
    assert all(one["n"] == 0 or 0 <= one["online"] <= 1 for one in found["ranking"])
    assert f"{found['ranking'][0]['online']:.3f}" in printed
    assert said(capsys, *line)[1] == found
    assert said(capsys, *line, "--seed", 1)[1] != found
    swapped = said(
        capsys, "values", room / "run", room / "two", "--against", room / "one", "--answer", 1, "--draws", 600
    )[1]["ranking"][0]
    whole = said(capsys, *line[:-1], 600)[1]["ranking"][0]
    assert abs(swapped["online"] + whole["online"] - 1) < 4 * (
        swapped["online_error"] + whole["online_error"]
    )


def test_what_cannot_be_read_is_said(room, capsys):
    for line, words in (
        (("values", room / "plain", room / "one"), "has learned no values"),
        (
            ("values", room / "run", room / "one", "--against", room / "two", "--answer", 6),
            "no state in which both answered for time 6",
        ),
        (("values", room / "run", room / "three"), "no such file"),
    ):
        capsys.readouterr()
        assert cli.main([*map(str, line)]) == 2
        assert words in capsys.readouterr().err
    task = Wordle(Wordle.Options(limit=20))
    episode.write(room / "other.jsonl", play(task, games(task.rows("train")[:2]), Random(task), seed=1))
    for more in ((), ("--against", room / "two")):
        assert cli.main([*map(str, ("values", room / "run", room / "other.jsonl", *more))]) == 2
        assert (
            f"other.jsonl:1: an episode of {task.identity}; the run's task is wordle-v1#"
            in capsys.readouterr().err
        )
    (room / "none.jsonl").write_text("")
    assert cli.main(["values", str(room / "run"), str(room / "none.jsonl")]) == 2
    assert "holds no episode" in capsys.readouterr().err


def test_pairs_are_drawn_at_states_that_both_met():
    from loquent.models.inspect.ranking import shared_states

    task = Wordle(Wordle.Options(limit=20, instruct=False))
    one, two = (play(task, games(task.rows("train")[:8]), Random(task), seed=seed) for seed in (1, 2))
    pairs = shared_states(one, [*two, *one[:2]], Key(0), draws=300)
    assert len(pairs) == 300
    for mine, its, turn in pairs:
        assert [(a.seat, a.text) for a in mine.turns[:turn]] == [(b.seat, b.text) for b in its.turns[:turn]]
        assert mine.turns[turn].seat == its.turns[turn].seat == "agent"
    assert {turn for *_, turn in pairs} > {1}  # the games that are in both sides share later states too
    assert {turn for *_, turn in shared_states(one, two, Key(0), draws=50, answer=0)} == {1}
    drawn = [len({id(pair[side]) for pair in pairs}) for side in (0, 1)]
    assert min(drawn) > 4
    assert shared_states(one, [], Key(0)) == []
    assert shared_states(one, two, Key(0), draws=50) == shared_states(one, two, Key(0), draws=50)
