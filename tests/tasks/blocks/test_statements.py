"""The built-in statements: distinct, split by content, and read a second time without their programs."""

import numpy as np
import pytest
from tower_reading import COLORS, STACKS, read

from loquent.tasks.blocks import rows
from loquent.tasks.blocks.board import tower_block
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.rows import RowOptions, load
from loquent.tasks.blocks.sources import builtin
from loquent.tasks.blocks.sources.builtin import parts

BOTH = pytest.mark.parametrize("appearance", ["tower", "scatter"])


@BOTH
def test_more_than_two_thousand_statements_are_distinct_and_stand_in_one_split(appearance):
    for held_out in ("statements", "templates"):
        splits = load(RowOptions(appearance=appearance, held_out=held_out))
        members = [row for split in splits.values() for row in split]
        for name in ("sentence", "program"):
            assert len({row[name] for row in members}) == len(members) > 2000
        assert all(0.05 * len(members) < len(split) for split in splits.values())


@BOTH
def test_held_out_templates_combine_constructions_and_properties_that_training_has(appearance):
    splits = load(RowOptions(appearance=appearance, held_out="templates"))
    templates = {split: {row["template"] for row in members} for split, members in splits.items()}
    known = {part for template in templates["train"] for part in parts(template)}
    for held_out in ("validation", "test"):
        assert templates["train"].isdisjoint(templates[held_out])
        assert len(templates[held_out]) > 40
        assert {part for template in templates[held_out] for part in parts(template)} <= known
    assert templates["validation"].isdisjoint(templates["test"])


def test_every_sentence_about_towers_has_a_second_reading():
    for row in (row for split in load(RowOptions()).values() for row in split):
        read(row["sentence"])


def forget():
    for cached in (builtin.drawn.statements, builtin.splits, rows._load):
        cached.cache_clear()


@BOTH
def test_the_statements_are_equal_in_every_process(appearance):
    forget()
    once = load(RowOptions(appearance=appearance))
    forget()
    assert load(RowOptions(appearance=appearance)) == once


def test_programs_about_towers_agree_with_the_second_reading_on_random_boards():
    rng = np.random.default_rng(0)
    boxes = [rng.integers(0, len(STACKS), 100) for _ in range(3)]
    towers = [tuple(tower_block(i, COLORS.index(c)) for i, c in enumerate(stack)) for stack in STACKS]
    boards = [tuple(towers[box[i]] for box in boxes) for i in range(100)]
    for row in load(RowOptions())["train"][::12]:
        program = compile_program(row["program"])
        assert list(read(row["sentence"])(boxes)) == [program(board) for board in boards], row["sentence"]
