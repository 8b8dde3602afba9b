"""Targets, replays and noise of QA-DQN by hand: I-18, I-19 and I-20 of the reading task's specification."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from loquent.algorithms.deep_q import targets
from loquent.algorithms.deep_q.replay import ENDED, GOES_ON, Prioritized, Queues, Replay, Step
from loquent.algorithms.deep_q.sum_tree import SumTree
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import BadCheckpoint
from loquent.tasks.reading.network.answers import Memories
from loquent.tasks.reading.network.inputs import Situation
from loquent.tasks.reading.network.texts import Situations

GAMMA = 0.9
FIELDS = {"question": "who ?", "queries": ("who",)}


def at(name):
    return Observation("", Record(FIELDS, memory=(f"sentence {name}",)))


def situation(name):
    return Situation("who ?", (f"sentence {name}",), "who")


def replay_of(kind, size, most, **more):
    """A replay of situations with up to three sentences."""
    read = SimpleNamespace(sentences=3, situation=lambda each: situation(each.fields["memory"][0].split()[1]))
    return kind(size, Situations(read), most, GAMMA, **more)


def episode(*rewards, first=0):
    """Transitions between the situations first, first + 1, ...; the last one ends the episode."""
    last = len(rewards) - 1
    return [
        Step(at(first + i), i, reward, at(first + i + 1), ENDED if i == last else GOES_ON)
        for i, reward in enumerate(rewards)
    ]


def drawn(replay, place, steps, ring=None):
    ring = ring or replay.rings[0]
    return ring.draw(np.array([place]), np.array([steps]), GAMMA, np.ones(1, np.float32))


def situations(replay, drawn, side="now"):
    return replay.store.batch(getattr(drawn, side))


@pytest.mark.parametrize(
    ("steps", "returns", "discount", "following", "alive"),
    [
        (1, 0.0, 0.9, "1", True),
        (2, 0.0, 0.81, "2", True),
        (3, 0.81, 0.729, "3", False),
        (9, 0.81, 0.729, "3", False),
    ],
)
def test_returns_of_n_steps_by_hand(steps, returns, discount, following, alive):
    replay = replay_of(Replay, 10, 3)
    replay.add(episode(0, 0, 1))
    found = drawn(replay, 0, steps)
    assert found.returns.tolist() == pytest.approx([returns])
    assert found.discount.tolist() == pytest.approx([discount])
    assert situations(replay, found, "following") == [situation(following)]
    assert found.alive.tolist() == [alive]


def test_the_target_bootstraps_only_where_the_episode_goes_on():
    online = torch.tensor([[1.0, 5.0, -torch.inf], [1.0, 5.0, 2.0]])
    target = torch.tensor([[7.0, 3.0, -torch.inf], [7.0, 3.0, 9.0]])
    arguments = (
        torch.tensor([0.0, 0.81]),
        torch.tensor([0.81, 0.729]),
        torch.tensor([True, False]),
        online,
        target,
    )
    assert targets.double_q_target(*arguments).tolist() == pytest.approx([0.81 * 3, 0.81])
    assert targets.double_q_target(*arguments, double=False).tolist() == pytest.approx([0.81 * 7, 0.81])


def test_the_loss_has_one_number_for_each_transition():
    values = torch.tensor([[0.0, 0.5, 2.0, -torch.inf], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]])
    loss, error = targets.q_loss(values, torch.tensor([1, 0, 3]), torch.tensor([1.0, 1.0, 0.0]))
    assert loss.shape == (3,)
    assert loss.tolist() == pytest.approx([0.125, 0.0, 2.5])
    assert error.tolist() == pytest.approx([0.5, 0.0, -3.0])


def test_the_fixed_point_of_stopping_with_the_answer_is_one():
    value = torch.zeros(1, 2)
    for _ in range(200):
        y = targets.double_q_target(
            torch.ones(1), torch.full((1,), GAMMA), torch.tensor([False]), value, value
        )
        value[0, 1] += 0.5 * (y[0] - value[0, 1])
    assert float(value[0, 1]) == pytest.approx(1.0)


def test_exploration_falls_by_games_whatever_their_number_at_a_time():
    assert targets.exploration(0, 1.0, 0.1, 100_000) == 1.0
    assert targets.exploration(50_000, 1.0, 0.1, 100_000) == pytest.approx(0.55)
    assert targets.exploration(100_000, 1.0, 0.1, 100_000) == pytest.approx(0.1)
    assert targets.exploration(900_000, 1.0, 0.1, 100_000) == pytest.approx(0.1)


def test_a_sum_tree_draws_in_proportion():
    tree = SumTree(5)
    tree.put(np.arange(5), np.array([1.0, 0.0, 2.0, 3.0, 4.0]))
    tree.put(np.array([4, 4]), np.array([9.0, 0.5]))
    assert tree.total == 6.5
    assert tree.find(np.array([0.0, 0.99, 1.0, 2.9, 3.0, 5.9, 6.0, 6.4])).tolist() == [0, 0, 2, 2, 3, 3, 4, 4]
    assert tree.weights(np.arange(5)).tolist() == [1.0, 0.0, 2.0, 3.0, 0.5]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100])
def test_a_sum_tree_agrees_with_running_sums(size):
    rng = np.random.default_rng(size)
    tree, weights = SumTree(size), np.zeros(size)
    for _ in range(5):
        places = rng.integers(size, size=9)
        for place, weight in zip(places, rng.integers(0, 5, size=9) + 0.0):
            tree.put(np.array([place]), np.array([weight]))
            weights[place] = weight
        if not weights.any():
            continue
        reached = rng.random(50) * weights.sum()
        assert (
            tree.find(reached).tolist() == np.searchsorted(weights.cumsum(), reached, side="right").tolist()
        )


def test_priorities_and_weights_of_importance_by_hand():
    replay = replay_of(Prioritized, 8, 1, alpha=0.5, beta=1.0)
    replay.add(episode(0, 0, 0, 1))
    first = replay.draw(8, Key(0))
    assert first.weight.tolist() == [1.0] * 8
    assert sorted(first.place.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]  # equal parts of equal priorities
    replay.note_errors(first, np.array([4.0 if place == 2 else 1.0 for place in first.place]))
    weights = replay.tree.weights(np.arange(4))
    assert weights == pytest.approx([1, 1, 2, 1], abs=1e-5)
    second = replay.draw(5, Key(0))
    assert sorted(second.place.tolist()) == [0, 1, 2, 2, 3]
    assert [float(w) for w in second.weight] == pytest.approx(
        [0.5 if p == 2 else 1.0 for p in second.place], abs=1e-5
    )
    replay.add(episode(0))
    assert replay.tree.weights(np.array([4]))[0] == pytest.approx(2.0, abs=1e-5)  # as the greatest so far


def test_the_two_queues_hold_episodes_by_their_return():
    replay = replay_of(Queues, 8, 1)
    replay.add(episode(0, 1, first=10))
    assert set(replay.draw(6, Key(0)).returns.tolist()) <= {0.0, 1.0}
    replay.add(episode(0, 0, 0, first=20))
    assert [len(ring) for ring in replay.rings] == [2, 3]
    names = [each.memory[0] for each in situations(replay, replay.draw(6, Key(1)))]
    assert sum(name in ("sentence 10", "sentence 11") for name in names) == 2  # all that the first queue has


def test_a_full_replay_forgets_the_oldest():
    replay = replay_of(Replay, 4, 3)
    replay.add(episode(0, 0, 1))
    replay.add(episode(0, 1, first=10))
    assert len(replay) == 4
    # places 3, 0 are the second episode; 1, 2 the rest of the first
    assert drawn(replay, 3, 3).returns.tolist() == pytest.approx([0.9])
    assert drawn(replay, 1, 3).returns.tolist() == pytest.approx([0.9])
    replay.add(episode(*[0] * 9, first=20))
    kept = situations(replay, replay.draw(50, Key(0)))
    assert [each.memory[0] for each in kept if each.memory[0] < "sentence 25"] == []


@pytest.mark.parametrize("kind", [Replay, Queues, Prioritized])
def test_texts_are_forgotten_with_their_transitions(kind):
    exponents = {"alpha": 0.6, "beta": 0.4} if kind is Prioritized else {}
    replay = replay_of(kind, 10, 1, **exponents)
    for i in range(300):
        replay.add(episode(0, 0, i % 2, first=10 * i))
        for ring in replay.rings:
            for place in range(len(ring)):
                found = drawn(replay, place, 1, ring)
                (before,), (after,) = (situations(replay, found, name) for name in ("now", "following"))
                assert int(after.memory[0].split()[1]) == int(before.memory[0].split()[1]) + 1
                assert (before.question, before.queries) == ("who ?", "who")
    # the two rings hold transitions with two sentences each; between two beginnings come as many again
    assert len(replay.store.texts) <= 2 + 2 * 2 * len(replay)
    assert len(replay.state_dict()["store"]["texts"]) == len(replay.store.texts)


def test_texts_are_forgotten_with_their_answers():
    answers = Memories(4, 3)
    for i in range(100):
        answers.add(f"question {i}", (f"sentence {i}",), [(0, 2)])
    assert len(answers.texts) <= 2 * 2 * 4
    found = {(each.question, each.memory) for each in answers.draw(50, Key(0))[0]}
    assert found == {(f"question {i}", (f"sentence {i}",)) for i in range(96, 100)}


@pytest.mark.parametrize("kind", ["uniform", "queues", "prioritized"])
def test_a_replay_is_restored_to_the_bit(kind):
    def fresh(size=6):
        if kind == "prioritized":
            return replay_of(Prioritized, size, 3, vary=True, alpha=0.6, beta=0.4)
        return replay_of(Queues if kind == "queues" else Replay, size, 3, vary=True)

    replay = fresh()
    for i in range(4):
        replay.add(episode(0, i % 2, first=10 * i))
    replay.note_errors(one := replay.draw(3, Key(2)), np.array([0.3, 0.2, 0.1]))
    again, packed = fresh(), replay.store.pack(at(1))
    again.load_state_dict(replay.state_dict(), packed)
    for other in (replay, again):
        other.add(episode(1, first=90))
    one, two = replay.draw(20, Key(5)), again.draw(20, Key(5))
    assert situations(replay, one) == situations(again, two)
    assert all(
        np.array_equal(getattr(one, name), getattr(two, name)) for name in ("returns", "place", "weight")
    )
    with pytest.raises(BadCheckpoint):
        fresh(4).load_state_dict(replay.state_dict(), packed)
