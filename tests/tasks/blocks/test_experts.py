"""The searching expert of blocks: shortest plans for towers, plans for scattered items, and its limits."""

import gzip
import json
from collections import Counter
from itertools import product

import pytest

from helpers.tasks.playing import ALWAYS, STOP, TOP_OF_THREE, TWO_CORNERS, A, R, play, row, task
from loquent.core.seeding import Key
from loquent.tasks.blocks import experts
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.programs.program import compile_program

NEVER = "not (count(all_boxes) == 3)"


def played(world, own):
    step, texts = world.start(own, Key(0)), []
    while step.ended is None:
        texts.append(world.expert(step.state))
        step = world.act(step, texts[-1])
    return step, texts


def shortest(world, program, target, board, most):
    """The fewest edits after which the program has the value, by trying all sequences."""
    compute = compile_program(program)
    front, seen = {board}, {board}
    for edits in range(most + 1):
        if any(compute(each) == target for each in front):
            return edits
        front = {
            world._applied(each, i)
            for each, i in product(front, range(1, len(world.actions)))
            if not world.actions.problem(each, i)
        } - seen
        seen |= front
    return None


@pytest.mark.parametrize(
    ("program", "target", "board"),
    [
        (TOP_OF_THREE, True, EMPTY_BOARD),
        (TOP_OF_THREE, False, ((tower_block(0, 0), tower_block(1, 0), tower_block(2, 1)), (), ())),
        ("count(filter_obj(all_items, is_blue)) == 2", True, ((tower_block(0, 1),), (), ())),
        ("All(all_boxes, lambda b: len(b) == 1)", True, EMPTY_BOARD),
        (ALWAYS, True, EMPTY_BOARD),
        ("exist(all_items)", False, ((tower_block(0, 1), tower_block(1, 2)), (), (tower_block(0, 0),))),
    ],
)
def test_a_plan_for_towers_is_a_shortest(program, target, board):
    world = task()
    step, texts = played(world, row(program, board, target))
    assert step.ended == "right"
    assert len(texts) == 1 + shortest(world, program, target, board, 4)
    assert world.solution(step.state) == "; ".join(texts)


@pytest.mark.parametrize("actions", ["grid", "native"])
@pytest.mark.parametrize(
    ("program", "target", "board"),
    [
        (TWO_CORNERS, True, EMPTY_BOARD),
        (
            "count(filter_obj(all_items, lambda i: is_blue(i) and is_touching_wall(i, Side.TOP))) == 3",
            True,
            EMPTY_BOARD,
        ),
        ("exist(all_items)", False, ((Item(33, 41, 0, 1, 20),), (), (Item(0, 0, 2, 0, 10),))),
        ("exist(filter_obj(all_items, is_circle))", False, ((Item(33, 41, 0, 1, 20),), (), ())),
    ],
)
def test_plans_for_scattered_items(program, target, board, actions):
    world = task(appearance="scatter", actions=actions)
    step, texts = played(world, row(program, board, target))
    assert (step.ended, texts[-1]) == ("right", STOP)
    assert world.solution(step.state) == "; ".join(texts)


def test_every_edit_of_a_plan_is_needed():
    world = task(appearance="scatter")
    program = compile_program("count(filter_obj(all_items, is_yellow)) == 2")
    plan = world._planner.plan(program, True, EMPTY_BOARD)
    assert len(plan) == 2
    assert program(plan[-1][1])


def test_an_expert_goes_on_after_other_actions():
    world = task()
    steps = play(world, [A(1, 2), A(1, 2)], program=TOP_OF_THREE)
    state = steps[-1].state
    assert world.expert(state) == A(1, 1)
    lost = play(world, [A(0, 0), R(0)] * 4, program=TOP_OF_THREE)[-1]
    assert world.expert(lost.state) == STOP  # two edits are left, and three are needed
    early = play(world, [A(0, 0), R(0)] * 3, program=TOP_OF_THREE)[-1]
    assert world.expert(early.state) != STOP  # four edits are left


def test_off_the_plan_a_small_search_looks_for_less_than_the_way_back(monkeypatch):
    planner = task()._planner
    board = ((tower_block(0, 0), tower_block(1, 2)), (), (tower_block(0, 2),))
    goal = ((tower_block(0, 2),), (tower_block(0, 0), tower_block(1, 1)), ())
    way = planner._way(board, goal)
    assert len(way) == 2  # the boxes of the goal may be in any order: one block is removed, another added
    assert sorted(way[-1][1]) == sorted(goal)
    monkeypatch.setattr(experts, "TOWER_WORK", 0)
    black, blue = (f"count(filter_obj(all_items, {name})) == 1" for name in ("is_black", "is_blue"))
    assert len(planner._find(compile_program(black), True, board, goal)) == 1
    assert planner._find(compile_program(f"{black} and {blue}"), True, board, goal) == way


@pytest.mark.parametrize(("horizon", "found"), [(3, None), (4, 3)])
def test_an_expert_plans_within_the_horizon(horizon, found):
    world = task(horizon=horizon)
    step, texts = played(world, row(TOP_OF_THREE))
    solution = world.solution(step.state)
    assert (None if solution is None else solution.count("add")) == found
    assert (step.ended, len(texts)) == (("wrong", 1) if found is None else ("right", 4))
    scattered = task(appearance="scatter", horizon=1)
    assert played(scattered, row("exist(all_items)"))[1] == [STOP]


def test_an_expert_stops_where_nothing_is_found(monkeypatch):
    monkeypatch.setattr(experts, "TOWER_WORK", 50)
    world = task()
    step, texts = played(world, row(NEVER))
    assert (step.ended, texts) == ("wrong", [STOP])
    assert world.solution(step.state) is None
    monkeypatch.setattr(experts, "SCATTER_WORK", 1900)
    scattered = task(appearance="scatter")
    assert played(scattered, row(NEVER))[0].ended == "wrong"


def test_a_plan_does_not_depend_on_what_was_searched_before():
    own = row(TWO_CORNERS)
    first, second = task(appearance="scatter"), task(appearance="scatter")
    second.expert(second.start(row("exist(all_items)"), Key(0)).state)
    assert played(first, own)[1] == played(second, own)[1]


@pytest.mark.parametrize(
    ("options", "share"), [({"limit": 20}, 1.0), ({"appearance": "scatter", "limit": 25}, 0.85)]
)
def test_most_built_in_rows_are_solved(options, share):
    world = task(**options)
    rows = world.rows("validation")
    ended = Counter(played(world, each)[0].ended for each in rows)
    assert ended["right"] >= share * len(rows)


@pytest.mark.data
def test_the_fewest_additions_of_published_statements(beside):
    world = task()
    with gzip.open(beside / "data/lilgym/tower_scratch_dev.json.gz", "rt", encoding="utf-8") as file:
        samples = json.load(file).values()
    plans = [
        world._planner.plan(compile_program(sample["lf"].strip()), True, EMPTY_BOARD) for sample in samples
    ]
    assert Counter(map(len, plans)) == {0: 4, 1: 39, 2: 71, 3: 36, 4: 11, 7: 1, 8: 1}
