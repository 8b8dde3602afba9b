"""Actions as numbers of parts: they walk to every legal action, and to no other."""

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.tasks.blocks.edits.positions import GridEdits, PlacedEdits
from loquent.tasks.blocks.edits.towers import TowerEdits
from loquent.tasks.blocks.task import Blocks, BlocksOptions

SETS = {"tower": TowerEdits(), "grid": GridEdits(), "native": PlacedEdits(1)}


def boards(name, seed, count=6):
    """Boards of random legal actions."""
    options = {
        "tower": {},
        "grid": {"appearance": "scatter"},
        "native": {"appearance": "scatter", "actions": "native"},
    }
    task = Blocks(BlocksOptions(horizon=count + 1, **options[name]))
    rng = Key(seed).generator()
    step = task.start(task.rows("train")[0], Key(0))
    for _ in range(count):
        yield task, step.observation.legal
        while step.turn < count:
            i = task.actions.draw(step.observation.legal, rng)
            if i:  # not `stop`
                step = task.act(step, task.actions.text(i))
                break


def reached(actions, legal, numbers=()):
    """All actions that the parts walk to."""
    mask = actions.following(legal, numbers)
    if not len(mask):
        return [actions.join(numbers)]
    return [i for n in np.flatnonzero(mask) for i in reached(actions, legal, (*numbers, int(n)))]


@pytest.mark.parametrize("name", ["tower", "grid"])
def test_parts_walk_to_the_legal_actions(name):
    for seed in range(2):
        for task, legal in list(boards(name, seed))[::2]:
            actions = task.actions
            assert sorted(reached(actions, legal)) == np.flatnonzero(actions.mask(legal)).tolist()


def test_parts_of_pixels_agree_with_legality():
    rng = Key(1).generator()
    for task, legal in boards("native", 3):
        actions = task.actions
        for _ in range(30):
            numbers = actions.split(actions.draw(legal, rng))
            for k, number in enumerate(numbers):
                assert actions.following(legal, numbers[:k])[number]
            walked = []
            while len(mask := actions.following(legal, walked)):
                walked.append(int(rng.choice(np.flatnonzero(mask))))
            assert actions.contains(legal, actions.join(walked))
        place = np.argwhere(~actions.following(legal, (1,)))[0]  # a separator
        assert not actions.following(legal, (1, *place)).any()


@pytest.mark.parametrize("name", SETS)
def test_split_and_join_are_inverse(name):
    actions = SETS[name]
    drawn = np.random.default_rng(0).integers(0, len(actions), 500).tolist()
    for i in (0, 1, len(actions) - 1, *drawn):
        numbers = actions.split(i)
        assert actions.join(numbers) == i
        assert all(0 <= n < size for n, size in zip(numbers, actions.parts))
    with pytest.raises(IndexError, match="no action has the numbers"):
        actions.join((1,))


def test_finishing_is_stop_where_the_statement_is_true():
    task = Blocks()
    row = next(row for row in task.rows("train") if row["sentence"].startswith("There is at least one tower"))
    step = task.start(row, Key(0))
    seen = set()
    for _ in range(10):
        stopped = task.act(step, "stop")
        assert (task.finishing(step.state) == "stop") == (stopped.ended == "right")
        seen.add(task.finishing(step.state))
        text = task.expert(step.state)
        if text == "stop":
            break
        step = task.act(step, text)
    assert seen == {None, "stop"}
