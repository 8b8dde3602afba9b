"""Recorded games of tagging, labelling and answering: played again and found equal.

And what evaluation says of a corpus.
"""

import json
from pathlib import Path

import pytest

import loquent
from loquent.agents.baselines import Expert
from loquent.core import episode, registry
from loquent.core.rollout.loop import replay
from loquent.training.evaluate import evaluate_agent
from loquent.training.metrics import higher_is_better

# derived by hand from the rows: the rewards under the task's own weights, and the end
GAMES = {
    "tagging": [
        # five of ten tokens are O: the running share of right labels is 0, 0, 1/3, 2/4, 2/5, 2/6, 3/7, 3/8,
        # 3/9, 4/10
        ([0, 0, 1 / 3, 1 / 6, -1 / 10, -1 / 15, 2 / 21, -3 / 56, -1 / 24, 1 / 15], "tagged"),
        ([1, *[0] * 9], "tagged"),
        # 1, 1/2, 2/3, 2/4, 3/5, 4/6, 5/7
        ([1, -1 / 2, 1 / 6, -1 / 6, 1 / 10, 1 / 15, 1 / 21], "tagged"),
    ],
    "multilabel": [
        ([2 / 3, 1 / 3, 0], "terminate"),
        # one right label of three, repeated, then a word that is none: 2/4, 2/5, 2/6
        ([1 / 2, -1 / 10, -1 / 15, 0], "terminate"),
        ([0] * 5, "out of turns"),
    ],
    "multiple_choice": [
        ([0, 1], "answered"),
        ([0], "answered"),
        ([0] * 4, "last choice"),
        ([0] * 8, "no answer"),
    ],
    "reading": [
        # the answer stands in sentence 20, which the first search finds
        ([0, 1], "stopped"),
        # sentences 20, 21, 22 and 23: the memory of three holds 21, 22 and 23
        ([0] * 5, "stopped"),
        ([0], "stopped"),
        # two invalid commands, then sentences 20 and 19
        ([0] * 4 + [1], "stopped"),
        # 20 times next in 25 sentences: 18, 19 and 20 are in memory
        ([0] * 19 + [1], "budget"),
    ],
}


@pytest.mark.parametrize("name", GAMES)
def test_the_golden_games_are_played_again(name):
    task = loquent.task(name)
    file = Path(registry.import_name(registry.target("task", name).split(":")[0] + ":__file__")).with_name(
        "golden.jsonl"
    )
    recorded = list(episode.read(file))
    assert [replay(task, one) for one in recorded] == recorded
    for one, (rewards, ended) in zip(recorded, GAMES[name], strict=True):
        assert [task.total(turn.rewards) for turn in one.answers()] == pytest.approx(rewards, abs=1e-9)
        assert one.ended == ended
    first = json.loads(file.read_text().splitlines()[0])
    first["turns"][0]["text"] += "x"
    assert replay(task, episode.from_json(first)) != episode.from_json(first)


@pytest.mark.parametrize(
    ("name", "key"), [("tagging", "token_f1"), ("multilabel", "micro_f1"), ("multiple_choice", "accuracy")]
)
def test_evaluation_measures_the_corpus(name, key):
    task = loquent.task(name, limit=20)
    best = evaluate_agent(task, Expert(task), episodes=20)
    assert best.values[f"score/{key}"] == 1.0
    worst = evaluate_agent(task, Silent(), episodes=20)
    assert worst.values[f"score/{key}"] == 0.0
    assert higher_is_better(f"score/{key}", [], task.spec.rewards)


class Silent:
    name = "silent"

    def answer(self, asked):
        from loquent.core.agent import Answer

        return [Answer("") for _ in asked]
