"""Episodes of blocks with the rewards, ends and boards that the released code gives, by both rules."""

import dataclasses
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tasks.playing import (
    ALWAYS,
    SA,
    SR,
    STOP,
    TOP_OF_THREE,
    TWO_CORNERS,
    A,
    R,
    play,
    rewards,
    row,
    task,
)
from loquent.core import episode
from loquent.core.rollout.loop import replay
from loquent.core.seeding import Key
from loquent.core.task import OUT_OF_TURNS, Invalid
from loquent.errors import BadRow, BadSetting, EpisodeOver, ProgramError, UnknownName
from loquent.tasks.blocks import task as task_module
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, board_from_json, tower_block
from loquent.tasks.blocks.task import BlocksOptions

BOTH = pytest.mark.parametrize("rules", ["paper", "legacy"])
T, U = (True, False), (False, True)


def flags(world, steps):
    return world.flags(steps[-1].ended)


@BOTH
def test_a_right_stop(rules):
    world = task(rules=rules)
    steps = play(world, [A(0, 0), A(0, 0), A(0, 1), STOP], program=TOP_OF_THREE)
    assert rewards(world, steps) == [-0.1, -0.1, -0.1, 1]
    assert sum(rewards(world, steps)) == pytest.approx(0.7)
    assert (steps[-1].ended, flags(world, steps)) == ("right", T)
    assert world.is_success("right")
    assert world.info(steps[-1].state, "right") == {"accuracy": 1.0, "invalid_reason": None, "truth": True}
    assert steps[-1].state.board[0] == (tower_block(0, 0), tower_block(1, 0), tower_block(2, 1))


@BOTH
def test_a_wrong_stop(rules):
    world = task(rules=rules)
    steps = play(world, [A(0, 0), A(0, 1), STOP], program=TOP_OF_THREE)
    assert sum(rewards(world, steps)) == pytest.approx(-1.2)
    assert (steps[-1].ended, flags(world, steps)) == ("wrong", T)
    assert world.info(steps[-1].state, "wrong") == {"accuracy": 0.0, "invalid_reason": None, "truth": False}
    assert rewards(world, play(world, [STOP], program=TOP_OF_THREE)) == [-1]


@BOTH
def test_an_invalid_action_ends_and_changes_nothing(rules):
    world = task(rules=rules)
    steps = play(world, [R(1)], program=TOP_OF_THREE)
    assert rewards(world, steps) == [-1]
    assert steps[-1].ended == "invalid"
    assert flags(world, steps) == (T if rules == "paper" else U)
    assert steps[-1].state.board == EMPTY_BOARD
    assert steps[-1].invalid == "empty stack"
    assert world.info(steps[-1].state, "invalid") == {"accuracy": 0.0, "invalid_reason": "empty stack"}
    full = play(world, [A(2, 2)] * 5, program=TOP_OF_THREE)
    assert rewards(world, full) == [-0.1] * 4 + [-1]
    assert (full[-1].invalid, len(full[-1].state.board[2])) == ("full stack", 4)
    with pytest.raises(EpisodeOver):
        world.act(full[-1], STOP)


@BOTH
def test_the_last_action_changes_nothing(rules):
    world = task(rules=rules)
    steps = play(world, [*[A(0, 0), R(0)] * 5, A(0, 0)], program=TOP_OF_THREE)
    assert steps[-1].state.board == EMPTY_BOARD
    assert (steps[-1].ended, flags(world, steps)) == (OUT_OF_TURNS, U)
    assert rewards(world, steps)[-1] == (-1 if rules == "paper" else -0.1)
    assert sum(rewards(world, steps)) == pytest.approx(-2 if rules == "paper" else -1.1)


@BOTH
def test_a_stop_at_the_last_turn(rules):
    world = task(rules=rules)
    for target, reward, rule in ((True, 1, "right"), (False, -1, "wrong")):
        steps = play(world, [*[A(0, 0), R(0)] * 5, STOP], program=ALWAYS, target=target)
        assert rewards(world, steps)[-1] == reward
        assert steps[-1].ended == (rule if rules == "paper" else f"{rule} at the limit")
        assert flags(world, steps) == (T if rules == "paper" else (True, True))
        assert world.is_success(steps[-1].ended) == (reward == 1)
        assert world.info(steps[-1].state, steps[-1].ended)["truth"] is True


@BOTH
def test_an_invalid_action_at_the_last_turn(rules):
    world = task(rules=rules)
    steps = play(world, [*[A(0, 0), R(0)] * 5, R(2)], program=ALWAYS)
    assert (rewards(world, steps)[-1], steps[-1].ended) == (-1, "invalid")


@pytest.mark.data
@BOTH
def test_a_published_board_of_towers(rules, beside):
    world, own = task(rules=rules), published(beside, "tower", "3597-0-0")
    for texts, expected, reason in (
        ([STOP], [-1], ""),
        ([A(1, 1), STOP], [-0.1, 1], ""),
        ([R(0), R(0), A(0, 1), STOP], [-0.1, -0.1, -0.1, 1], ""),
        ([A(0, 1)], [-1], "full stack"),
        ([R(0), STOP], [-0.1, -1], ""),
        ([R(2), A(2, 1), STOP], [-0.1, -0.1, -1], ""),
        ([R(2), R(2)], [-0.1, -1], "empty stack"),
    ):
        steps = play(world, texts, row=own)
        assert rewards(world, steps) == expected
        assert steps[-1].invalid == reason


@BOTH
def test_scattered_items(rules):
    world = task(appearance="scatter", rules=rules)
    for texts, expected, reason in (
        ([SA(0, 0, 2, 1, 0), SA(7, 0, 2, 1, 0), STOP], [-0.1, -0.1, 1], ""),
        ([SA(0, 0, 2, 1, 0), STOP], [-0.1, -1], ""),
        *(([SA(gx, 0, 2, 1, 0)], [-1], "separator") for gx in (5, 6, 12, 13)),
        ([SR(5, 0)], [-1], "separator"),
        ([SA(0, 4, 2, 1, 2)], [-1], "bounds"),
        ([SA(4, 0, 0, 0, 2)], [-1], "bounds"),
        ([SA(0, 0, 1, 1, 2), SA(1, 1, 1, 0, 0)], [-0.1, -1], "overlap"),
        ([SA(0, 0, 1, 1, 1), SA(1, 0, 1, 1, 1)], [-0.1, -0.1], ""),
        ([SA(0, 0, 0, 1, 2), SA(1, 1, 0, 1, 0)], [-0.1, -1], "overlap"),
        ([SA(0, 0, 1, 1, 2), SR(1, 1), SR(0, 0)], [-0.1, -0.1, -1], "empty cell"),
        ([SA(0, 0, 1, 1, 1), SR(1, 0)], [-0.1, -1], "empty cell"),
    ):
        steps = play(world, texts, program=TWO_CORNERS)
        assert (rewards(world, steps), steps[-1].invalid) == (expected, reason), texts


@BOTH
def test_where_items_are_placed(rules):
    world, legacy = task(appearance="scatter", rules=rules), rules == "legacy"
    for texts, box, item in (
        ([SA(3, 3, 0, 0, 2)], 0, Item(60, 60, 0, 0, 30)),
        ([SA(18, 4, 2, 2, 1)], 2, Item(80, 80, 2, 2, 20)),
        ([SA(14, 0, 1, 2, 1)], 2, Item(0, 0, 1, 2, 20)),
        ([SA(0, 0, 1, 1, 1), SA(1, 0, 1, 1, 1)], 0, Item(20, 0, 1, 1, 20)),
        # the truncated snaps overlap by 0.36 and 0.69 square pixels
        ([SA(1, 1, 2, 1, 1), SA(2, 1, 0, 1, 1)], 0, Item(*((37, 22) if legacy else (40, 20)), 0, 1, 20)),
        ([SA(2, 0, 0, 0, 2), SA(1, 1, 0, 0, 1)], 0, Item(*((24, 18) if legacy else (20, 20)), 0, 0, 20)),
    ):
        assert play(world, texts)[-1].state.board[box][-1] == item, texts


def test_a_snap_out_of_the_box():
    board = ((Item(40, 0, 1, 0, 20),), (), ())
    for rules, item in (("legacy", Item(56, -2, 2, 2, 30)), ("paper", Item(60, 0, 2, 2, 30))):
        world = task(appearance="scatter", rules=rules)
        assert play(world, [SA(3, 0, 2, 2, 2)], board=board)[-1].state.board[0][-1] == item


@pytest.mark.data
@BOTH
def test_a_published_scattered_board(rules, beside):
    world, own = task(appearance="scatter", rules=rules), published(beside, "scatter", "366-2-0")
    for texts, expected, reason in (
        ([STOP], [-1], ""),
        ([SA(7, 0, 2, 1, 0), STOP], [-0.1, 1], ""),
        ([SR(4, 4), STOP], [-0.1, -1], ""),
        ([SR(0, 0)], [-1], "empty cell"),
        ([SA(14, 0, 2, 1, 1)], [-1], "overlap"),
        ([SA(18, 0, 2, 1, 2)], [-1], "bounds"),
    ):
        steps = play(world, texts, row=own)
        assert (rewards(world, steps), steps[-1].invalid) == (expected, reason), texts


def published(beside, appearance, id):
    with gzip.open(beside / f"data/lilgym/{appearance}_flipit_dev.json.gz", "rt", encoding="utf-8") as file:
        sample = json.load(file)[id]
    board = board_from_json(sample["structured_rep"])
    return row(sample["lf"].strip(), board, sample["label"] != "true", sample["sentence"])


def test_one_truth_value_for_every_form_of_an_action():
    # arrays of numpy once made numpy bools, which `All` did not count as true
    import numpy as np
    import torch

    program = "All(filter_obj(all_items, is_black), is_touching_wall)"
    world = task(appearance="scatter")
    actions = world.actions
    forms = [
        actions.number(np.array([1, 0, 0, 1, 1, 1])),
        actions.number((1, 0, 0, 1, 1, 1)),
        actions.index(SA(0, 0, 1, 1, 1)),
        np.int64(actions.index(SA(0, 0, 1, 1, 1))),
        actions.number(torch.tensor([1, 0, 0, 1, 1, 1])),
        torch.tensor(actions.index(SA(0, 0, 1, 1, 1))),
    ]
    for form in forms:
        steps = play(world, [actions.text(form), STOP], program=program)
        assert rewards(world, steps) == [-0.1, 1]


def test_the_observation_tells_what_is_new():
    world = task()
    steps = play(world, [A(0, 0), A(0, 1), "REMOVE left ", R(1)], program=TOP_OF_THREE, sentence="It is so.")
    assert [step.observation.text for step in steps] == [
        "Statement: It is so.\nMake it true.\nleft: empty\nmiddle: empty\nright: empty\n",
        "left: yellow\n",
        "left: yellow, black\n",
        "left: yellow\n",
        "invalid: empty stack\n",
    ]
    world = task(appearance="scatter")
    steps = play(world, [SA(7, 1, 0, 2, 2), SR(7, 1)], target=False)
    assert [step.observation.text for step in steps[1:]] == [
        "middle: large blue circle at 140 20\n",
        "middle: empty\n",
    ]
    assert "Make it false." in steps[0].observation.text


def test_read_takes_only_actions():
    world = task()
    state = play(world, [])[0].state
    assert world.read(state, " Add Black LEFT\n") == world.actions.index("add black left")
    for text in ("", "add", "add black", "add black left left", "add  black left", "0", "stop!", "\ud800"):
        assert world.read(state, text) == Invalid("no action", text)


def test_truth_is_a_question_to_the_task():
    world = task()
    steps = play(world, [A(0, 0), A(0, 0), A(0, 1), R(0)], program=TOP_OF_THREE)
    assert [world.truth(step.state) for step in steps] == [False, False, False, True, False]
    assert [world.satisfied(step.state) for step in steps] == [False, False, False, True, False]
    flipped = play(world, [], program=TOP_OF_THREE, target=False)[0]
    assert world.satisfied(flipped.state)
    assert not world.truth(flipped.state)


def test_the_truth_is_not_computed_before_it_is_asked(monkeypatch):
    from loquent.tasks.blocks.programs.program import Program

    asked = []
    monkeypatch.setattr(Program, "__call__", lambda self, board: asked.append(board) or True)
    world = task()
    play(world, [A(0, 0), R(0), R(0)], program=ALWAYS)
    assert asked == []
    play(world, [STOP], program=ALWAYS)
    assert len(asked) == 1


def test_another_horizon():
    world = task(horizon=3)
    assert world.spec.turn_limit == 3
    assert play(world, [A(0, 0)] * 3)[-1].ended == OUT_OF_TURNS
    assert world.spec.return_range == pytest.approx((-1.2, 1))
    with pytest.raises(BadSetting, match="horizon"):
        BlocksOptions(horizon=0)
    with pytest.raises(UnknownName):
        world.rows("dev")


@given(st.lists(st.integers(0, 12), max_size=12))
def test_returns_stay_in_their_range(actions):
    for rules in ("paper", "legacy"):
        world = task(rules=rules)
        step = world.start(row(TOP_OF_THREE), Key(0))
        total = 0.0
        for i in actions:
            if step.ended is None:
                step = world.act(step, world.actions.text(i))
                total += world.total(step.rewards)
        low, high = world.spec.return_range
        assert low - 1e-9 <= total <= high + 1e-9


GOLDEN = (({}, 3), ({"rules": "legacy"}, 1), ({"appearance": "scatter"}, 2))
ROWS = (
    ("A tower of three blocks has a black block at its top.", TOP_OF_THREE, [[], [], []], True),
    ("Two boxes have a triangle near a corner.", TWO_CORNERS, [[], [], []], True),
    (
        "Two boxes have a triangle near a corner.",
        TWO_CORNERS,
        [[[1, 0, 2, 1, 10]], [[90, 90, 2, 2, 10]], []],
        False,
    ),
)
TOTALS = (0.7, -1.4, -1.1, -1.1, 0.8, 0.7)


def test_the_golden_episodes_are_played_again():
    recorded = list(episode.read(Path(task_module.__file__).with_name("golden.jsonl")))
    worlds = [task(**options) for options, count in GOLDEN for _ in range(count)]
    for world, one, total in zip(worlds, recorded, TOTALS, strict=True):
        rows = [
            world.row_from({"sentence": sentence, "program": program, "board": board, "target": target})
            for sentence, program, board, target in (ROWS[:1] if world.tower else ROWS)
        ]
        [own] = [each for each in rows if each.id == one.row]
        assert replay(world, one, own) == dataclasses.replace(one, task=world.identity)
        assert one.total(world.spec.rewards) == pytest.approx(total)
        wrong = dataclasses.replace(
            one, turns=(*one.turns[:-1], dataclasses.replace(one.turns[-1], text="x"))
        )
        assert replay(world, wrong, own) != wrong


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence": ""}, "sentence"),
        ({"program": "exist(all_items"}, "program"),
        ({"program": "__import__('os')"}, "program"),
        ({"target": 1}, "target"),
        ({"board": [[], []]}, "board must be three lists"),
        ({"board": [[[0, 0, 3, 0, 10]], [], []]}, "inside the box"),
        ({"board": [[[95, 0, 1, 0, 10]], [], []]}, "inside the box"),
        ({"board": [[[0, 0, 1, 0, 10.0]], [], []]}, "inside the box"),
        ({"board": [[{"x_loc": 0}], [], []]}, "board"),
        ({"board": [[{"x_loc": 0}], 5, []]}, "board must be three lists"),
        ({"board": [[{"x_loc": 0}, [1, 2, 3, 4, 5]], [], []]}, r"board\[0\]\[0\] lacks the field 'y_loc'"),
        ({"program": "1"}, "program: .*its value must be a bool, got int"),
        ({"program": "count(all_items)"}, "program: .*its value must be a bool, got int"),
        ({"board": [[[0, 0, 1, 0, 10]] * 101, [], []]}, "the board has 101 items"),
        ({"board": 5}, "board"),
        ({"extra": 1}, "no field 'extra'"),
    ],
)
def test_a_bad_row_is_refused_in_words(change, message):
    world = task(appearance="scatter")
    good = {"sentence": "s", "program": ALWAYS}
    assert world.row_from(good)["board"] == EMPTY_BOARD
    with pytest.raises(BadRow, match=message):
        world.row_from({**good, **change})


def test_a_tower_task_takes_towers_only():
    board = [[[40, 80, 1, 2, 20], [40, 59, 1, 0, 20]], [], []]
    fields = {"sentence": "s", "program": ALWAYS, "board": board}
    assert task().row_from(fields)["board"][0] == (tower_block(0, 2), tower_block(1, 0))
    with pytest.raises(BadRow, match="stack"):
        task().row_from({**fields, "board": [[[0, 0, 1, 2, 20]], [], []]})


def test_a_program_that_fails_on_a_later_board_ends_the_episode_without_a_value():
    program = "count(all_items) == 0 or is_black(unique(all_items))"
    for rules in ("paper", "legacy"):
        world = task(rules=rules)
        own = world.row_from({"sentence": "s", "program": program, "target": False})
        steps = play(world, [A(0, 0), A(1, 1), STOP], row=own)
        assert (steps[-1].ended, rewards(world, steps)) == ("no value", [-0.1, -0.1, -1])
        info = world.info(steps[-1].state, "no value")
        assert "unique needs exactly 1" in info.pop("program_error")
        assert info == {"accuracy": 0.0, "invalid_reason": None}
        assert (world.is_success("no value"), flags(world, steps)) == (False, T)
        assert world.finishing(steps[2].state) is None
        assert not world.satisfied(steps[2].state)
        with pytest.raises(ProgramError, match="unique needs exactly 1"):
            world.truth(steps[2].state)
        assert play(world, [A(0, 0), STOP], row=own)[-1].ended == "right"
        assert world.expert(steps[0].state).startswith("add ")  # boards without a value are passed over


def test_what_a_statement_of_ones_own_is_to_become():
    fields = {"sentence": "s", "program": "exist(all_items)"}
    board = [[[40, 80, 1, 2, 20]], [], []]
    world, flips = task(), task(start="flip_it")
    assert [world.row_from({**fields, "board": each})["target"] for each in (EMPTY_BOARD, board)] == [
        True
    ] * 2
    assert [flips.row_from({**fields, "board": each})["target"] for each in (EMPTY_BOARD, board)] == [
        True,
        False,
    ]
    assert flips.row_from({**fields, "board": board, "target": False})["target"] is False
    with pytest.raises(BadRow, match="the statement is true on the board already"):
        flips.row_from({**fields, "board": board, "target": True})
    row = world.row_from(fields)
    assert "target" in row
    assert "other" not in row
