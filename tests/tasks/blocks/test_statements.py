"""The built-in statements: distinct, split by content, and read a second time without their programs."""

import hashlib
import json
from collections import defaultdict

import numpy as np
import pytest

from helpers.tasks import scatter_reading
from helpers.tasks.tower_reading import COLORS, HEIGHTS, STACKS, read
from loquent.core.seeding import Key
from loquent.tasks.blocks.boards.board import board_to_json, tower_block
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.rows import RowOptions, load
from loquent.tasks.blocks.sources import builtin
from tools.corpora.blocks import boards, corpus, statements
from tools.corpora.blocks.corpus import parts

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


@BOTH
def test_every_sentence_has_a_second_reading(appearance):
    reading = read if appearance == "tower" else scatter_reading.read
    for row in (row for split in load(RowOptions(appearance=appearance)).values() for row in split):
        reading(row["sentence"])


def test_programs_about_towers_agree_with_the_second_reading_on_random_boards():
    rng = np.random.default_rng(0)
    boxes = [rng.integers(0, len(STACKS), 100) for _ in range(3)]
    towers = [tuple(tower_block(i, COLORS.index(c)) for i, c in enumerate(stack)) for stack in STACKS]
    random = [tuple(towers[box[i]] for box in boxes) for i in range(100)]
    chosen = load(RowOptions())["train"][::12]
    assert len(chosen) == 138
    for row in chosen:
        program = compile_program(row["program"])
        assert list(read(row["sentence"])(boxes)) == [program(board) for board in random], row["sentence"]


def test_programs_about_scattered_items_agree_with_the_second_reading_on_random_boards():
    """Six statements of each construction, on 60 boards that know nothing of them and on two of their own.

    The two boards of a flip-it pair differ in the truth value.
    """
    draw = boards.Draw(Key(0, ("test", "boards")))
    common = [boards._scattered((), draw) for _ in range(60)]
    of_construction = defaultdict(list)
    for each in statements.statements("scatter"):
        of_construction[each.template.partition(":")[0]].append(each)
    assert set(of_construction) == set(statements.COUNTS["scatter"])
    chosen = [each for members in of_construction.values() for each in members[:6]]
    assert len(chosen) == 126
    both = 0
    for each in chosen:
        program, meaning = compile_program(each.program), scatter_reading.read(each.sentence)
        own = [row["board"] for row in builtin.flips("", builtin.statements("scatter")[each.number])]
        values = [program(board) for board in common + own]
        assert [meaning(scatter_reading.shown(board)) for board in common + own] == values, each.sentence
        both += len(set(values)) == 2
    assert both > 0.95 * len(chosen)


FLIPS = {
    "tower": "a0f6f0e4dfd9",
    "scatter": "ba729ad097dd",
}


@BOTH
def test_boards_of_flip_it_rows_are_fixed_and_differ_in_the_truth_value(appearance):
    chosen = list(enumerate(builtin.statements(appearance)))[::60]
    pairs = [pair for i, each in chosen if (pair := tuple(builtin.flips(f"{appearance}-{i}", each)))]
    assert len(pairs) > 0.9 * len(chosen)
    for one, other in pairs:
        assert one["program"] == other["program"]
        truth = compile_program(one["program"])
        assert {truth(one["board"]), truth(other["board"])} == {False, True}
        assert all(row["target"] is not truth(row["board"]) for row in (one, other))
    content = [[row.id, row["target"], board_to_json(row["board"])] for pair in pairs for row in pair]
    assert hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12] == FLIPS[appearance]


@BOTH
def test_shipped_statements_are_what_the_code_makes(appearance):
    """On a part of them; all take minutes (`test_a_corpus_is_made_again`)."""
    shipped = builtin.statements(appearance)
    assert json.loads(json.dumps(list(corpus.records(appearance, every=180)))) == shipped[::180]
    unsolvable = [i for i, each in enumerate(shipped) if not each["solvable"]]
    assert {"tower": 0, "scatter": 4}[appearance] == len(unsolvable)
    chosen = statements.statements(appearance)
    assert not any(corpus.is_solvable(chosen[number], appearance) for number in unsolvable[:2])


def test_no_board_makes_many_of_the_sentences_about_towers_true():
    """The best that an agent without the sentence can reach, over all boards of at most ten blocks.

    The sentences do not tell the boxes apart, so each board stands for all orders of its boxes.
    """
    grid = np.meshgrid(*[np.arange(len(STACKS))] * 3, indexing="ij")
    boxes = np.stack([each.ravel() for each in grid])
    boxes = boxes[:, (np.diff(boxes, axis=0) >= 0).all(0) & (HEIGHTS[boxes].sum(0) <= 10)]
    harder = {"held_out": "templates", "exclude_trivial": True, "exclude_unsolvable": True}
    true = dict.fromkeys(("all", "validation", "test"), 0)
    splits = load(RowOptions(**harder))
    split_of = {row["sentence"]: split for split in splits for row in splits[split]}
    sentences = [row["sentence"] for split in load(RowOptions()).values() for row in split]
    for sentence in sentences:
        values = read(sentence)(boxes).astype(int)
        for name in {"all", split_of.get(sentence)} & true.keys():
            true[name] = true[name] + values
    sizes = {"all": len(sentences), **{name: len(splits[name]) for name in ("validation", "test")}}
    best = {name: round(true[name].max() / sizes[name] * 100, 1) for name in true}
    assert best == {"all": 21.9, "validation": 33.0, "test": 23.6}


@pytest.mark.data
@BOTH
def test_few_sentences_are_also_published(beside, appearance):
    files = [
        statement_files.find(beside / "data/lilgym", appearance, "scratch", split)
        for split in ("train", "dev")
    ]
    there = {
        plain(each.sentence) for file in files for each in statement_files.read(file).statements.values()
    }
    sentences = [
        row["sentence"] for split in load(RowOptions(appearance=appearance)).values() for row in split
    ]
    assert sum(plain(sentence) in there for sentence in sentences) == {"tower": 13, "scatter": 4}[appearance]


def plain(sentence):
    return sentence.lower().rstrip(".")
