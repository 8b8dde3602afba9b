"""Action sets: a bijection of numbers and texts; contains, draw and mask agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tracers.labels import LABELS
from helpers.tracers.moves import Moves
from loquent.core.actions import MASK_LIMIT, Slots, Texts, bitset
from loquent.errors import LoquentError

LISTS = st.lists(st.text(max_size=5), min_size=1, max_size=40, unique=True)


@given(LISTS, st.data())
def test_texts_agree_with_themselves(texts, data):
    actions = Texts(texts)
    chosen = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    legal = bitset(chosen, len(texts))
    assert [actions.index(actions.text(i)) for i in range(len(actions))] == list(range(len(texts)))
    assert {i for i in range(-3, len(texts) + 9) if actions.contains(legal, i)} == chosen
    assert set(np.flatnonzero(actions.mask(legal)).tolist()) == chosen
    assert actions.mask(None).all()
    rng = np.random.default_rng(0)
    if chosen:
        assert all(actions.draw(legal, rng) in chosen for _ in range(10))
    else:
        with pytest.raises(LookupError):
            actions.draw(legal, rng)


def test_a_bitset_by_hand():
    # bits 0, 3 and 9, little end first: 0b00001001 = 9, then 0b00000010 = 2
    assert bitset([0, 3, 9], 10) == bytes([9, 2])
    assert bitset([0, 3, 9], 10) != bitset([0, 3, 8], 10)
    assert len(bitset([], 200_000)) == 25_000
    with pytest.raises(IndexError):
        bitset([10], 10)


def test_draw_is_uniform_over_the_legal():
    actions = Texts("abcdefgh")
    drawn = [
        actions.draw(bitset([1, 4, 6], 8), rng) for rng in [np.random.default_rng(0)] for _ in range(3000)
    ]
    counts = np.bincount(drawn, minlength=8)
    # 1000 expected each; chi-square with 2 degrees of freedom exceeds 13.8 once in a thousand
    assert ((counts[[1, 4, 6]] - 1000) ** 2 / 1000).sum() < 13.8
    assert counts.sum() == counts[[1, 4, 6]].sum()


def test_texts_refuse_doubles_and_numbers_outside():
    with pytest.raises(LoquentError, match="distinct"):
        Texts(["a", "a"])
    for i in (-1, 2):
        with pytest.raises(IndexError, match=f"action {i} is not in 0..1"):
            Texts("ab").text(i)
    assert Texts("ab").index("c") is None


def test_a_mask_is_refused_above_the_limit():
    assert len(LABELS) > MASK_LIMIT
    for actions in (LABELS, Moves()):
        with pytest.raises(LoquentError, match=r"a mask must have at most .* actions, got"):
            actions.mask(())
    assert Texts(map(str, range(MASK_LIMIT))).mask(None).shape == (MASK_LIMIT,)


def test_slots_are_a_bijection_given_what_is_legal():
    slots, legal = Slots(4), ("left", "right")
    assert [slots.index(slots.text(i, legal), legal) for i in range(2)] == [0, 1]
    assert slots.index("left", ("right", "left")) == 1
    assert slots.index("up", legal) is None
    assert slots.mask(legal).tolist() == [True, True, False, False]
    assert {slots.draw(legal, np.random.default_rng(i)) for i in range(20)} == {0, 1}
    with pytest.raises(LookupError):
        slots.draw((), np.random.default_rng(0))
    with pytest.raises(LoquentError, match="tuple of texts"):
        slots.text(0, None)


def test_a_million_moves_are_computed():
    moves = Moves()
    assert len(moves) == 1_064_001
    assert moves.parts == (29, 380, 100)
    assert moves.text(0) == "0 0 0"
    assert moves.text(38_000 + 2 * 100 + 3) == "1 2 3"  # kind 1, x 2, y 3: 1 * 380 * 100 + 2 * 100 + 3
    assert moves.text(1_064_000) == "stop"
    assert moves.index("27 379 99") == 1_063_999
    for text in ("28 0 0", "0 380 0", "0 0 100", "0 0", "00 0 0", "0 0 0 ", "-1 0 0", "٣ 0 0", "stop ", ""):
        assert moves.index(text) is None
    assert not moves.contains((), moves.index("27 1 1"))
    assert moves.contains(((5, 1, 1),), moves.index("27 1 1"))


def test_the_parts_of_unfactored_actions():
    actions = Texts("abcd")
    assert actions.parts == (4,)
    assert actions.split(2) == (2,)
    assert actions.join((2,)) == 2
    assert actions.following(bitset([1, 3], 4), ()).tolist() == [False, True, False, True]
    assert actions.following(None, (1,)).tolist() == []  # the action is whole
    assert actions.mask(bitset([1], 4)).tolist() == actions.following(bitset([1], 4), ()).tolist()
    assert len(LABELS.following(None, ())) == len(LABELS) > MASK_LIMIT


@given(st.lists(st.tuples(st.integers(0, 379), st.integers(0, 99)), max_size=4, unique=True), st.data())
def test_factored_actions_walk_to_legal_actions_only(places, data):
    actions, legal = Moves(), tuple((0, x, y) for x, y in places)
    numbers = []
    while len(mask := actions.following(legal, numbers)):
        numbers.append(data.draw(st.sampled_from(np.flatnonzero(mask).tolist())))
    i = actions.join(numbers)
    assert actions.contains(legal, i)
    assert actions.split(i) == tuple(numbers)
