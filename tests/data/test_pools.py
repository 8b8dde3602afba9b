"""Pools and samplers: epochs, priorities (spec rl4lms E5), growth, and resuming to the same sequence."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint, LoquentError


def pool(n=10, weights=()):
    return Pool(tuple(Row(f"r{i}", Record(text=f"t{i}")) for i in range(n)), weights)


def drawn(sampler, n):
    return [row.id for row in sampler.draw(n)]


def test_epochs_are_without_replacement_and_differ():
    sampler = Sampler(pool(), Key(3))
    first, second = drawn(sampler, 10), drawn(sampler, 10)
    assert sorted(first) == sorted(second) == [f"r{i}" for i in range(10)]
    assert first != second
    assert drawn(Sampler(pool(), Key(3)), 20) == first + second
    assert drawn(Sampler(pool(), Key(4)), 10) != first


def chi_square(counts, expected):
    return sum((count - e) ** 2 / e for count, e in zip(counts, expected, strict=True))


def test_scale_zero_is_uniform_whatever_the_weights():
    sampler = Sampler(pool(10, tuple(range(1, 11))), Key(0), scale=0.0)
    counts = Counter(drawn(sampler, 20_000))
    # chi-square with 9 degrees of freedom: 27.88 is its 99.9 % point
    statistic = chi_square([counts[f"r{i}"] for i in range(10)], [2000] * 10)
    assert statistic < 27.88
    weighted = Counter(drawn(Sampler(pool(10, tuple(range(1, 11))), Key(0), scale=1.0), 20_000))
    assert chi_square([weighted[f"r{i}"] for i in range(10)], [2000] * 10) > 27.88  # it can fail


def test_scale_one_follows_the_weights():
    # E5: weights [1, 3] -> 25 / 75, within 2 % over 20,000 draws (one deviation is 0.3 %)
    counts = Counter(drawn(Sampler(pool(2, (1, 3)), Key(0), scale=1.0), 20_000))
    assert abs(counts["r0"] / 20_000 - 0.25) < 0.02
    # scale 2: weights 1, 9 -> 10 / 90; scale 1/2: 1 : sqrt 3 -> 0.366
    assert (
        abs(Counter(drawn(Sampler(pool(2, (1, 3)), Key(0), scale=2.0), 20_000))["r0"] / 20_000 - 0.10) < 0.02
    )
    assert (
        abs(Counter(drawn(Sampler(pool(2, (1, 3)), Key(0), scale=0.5), 20_000))["r0"] / 20_000 - 0.366) < 0.02
    )


def test_a_draw_is_the_inverse_of_the_shares():
    # shares 1/4, 3/4 of [0, 1): everything below 0.25 is r0, 0.25 and above r1; a row of weight 0 is never
    # drawn
    two = pool(2, (1, 3))
    assert [two.draw(u, 1.0).id for u in (0.0, 0.2499, 0.25, 0.9999999)] == ["r0", "r0", "r1", "r1"]
    assert {pool(3, (0, 1, 0)).draw(u, 1.0).id for u in np.linspace(0, 1, 50, endpoint=False)} == {"r1"}


@pytest.mark.parametrize(
    ("weights", "scale", "shares"),
    [
        ((1e200, 1), 2.0, (1, 0)),
        ((1.7e308, 1.7e308), 1.0, (0.5, 0.5)),
        ((5e-324, 5e-324), 1.0, (0.5, 0.5)),
        ((1e-200, 1e-200), 2.0, (0.5, 0.5)),
        ((1e308, 0.5e308, 0), 1.0, (2 / 3, 1 / 3, 0)),
    ],
)
def test_weights_of_any_size_are_drawn_by_their_shares(weights, scale, shares):
    uniforms = np.linspace(0, 1, 600, endpoint=False)
    counts = Counter(pool(len(weights), weights).draw(u, scale).id for u in [*uniforms[:-1], 1 - 2**-53])
    assert [counts[f"r{i}"] / 600 for i in range(len(weights))] == pytest.approx(shares, abs=1 / 600)


@given(
    st.lists(st.floats(0, allow_infinity=False), min_size=1, max_size=9),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1e6),
)
def test_a_draw_never_fails_and_is_of_a_row_with_weight(weights, uniform, scale):
    if any(weights):
        row = pool(len(weights), tuple(weights)).draw(uniform, scale)
        assert scale == 0 or weights[int(row.id[1:])] > 0


@given(
    st.integers(1, 12),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([None, 0.0, 1.5]),
    st.integers(0, 3),
)
def test_a_resumed_sampler_goes_on_with_the_same_rows(size, before, after, scale, added):
    more = [Row(f"added:{i}", Record(text="x", nested=(1, Record(y=None)))) for i in range(added)]
    whole = Sampler(pool(size), Key(5, ("rows", 1)), scale=scale)
    whole.draw(before)
    whole.add(more, [2.0] * added)
    state = json.loads(json.dumps(whole.state_dict(), allow_nan=False))
    resumed = Sampler(pool(size), Key(99), scale=None)
    resumed.load_state_dict(state)
    assert resumed.pool == whole.pool
    assert drawn(resumed, after) == drawn(whole, after)


def test_rows_added_join_at_the_next_epoch_and_old_pools_do_not_change():
    first = pool(3)
    sampler = Sampler(first, Key(1))
    head = drawn(sampler, 1)
    sampler.add([Row("new")])
    assert sorted(head + drawn(sampler, 2)) == ["r0", "r1", "r2"]
    assert "new" in drawn(sampler, 4)
    assert len(first) == 3
    assert sampler.pool.weights == (1.0,) * 4
    sampler.weight("new", 5)
    assert sampler.pool.weights[-1] == 5.0
    with pytest.raises(LookupError, match="'gone'"):
        sampler.weight("gone", 1)


def test_a_pool_that_grows_from_nothing():
    sampler = Sampler(Pool(()), Key(1))
    with pytest.raises(LoquentError, match="the pool is empty"):
        sampler.draw(1)
    sampler.add([Row("a")])
    assert drawn(sampler, 2) == ["a", "a"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: pool(2).add([Row("r0")]), "'r0' occurs twice"),
        (lambda: pool(2, (1, float("nan"))), "a weight is nan; it must be a finite number of at least 0"),
        (lambda: pool(2, (1, -1)), "a weight is -1"),
        (lambda: pool(2, (1, 10**400)), "a weight is an integer larger than any float"),
        (lambda: pool(1).weight("r0", float("inf")), "a weight is inf"),
        (
            lambda: Sampler(pool(), Key(0), scale=10**400),
            "the priority scale is an integer larger than any float",
        ),
        (lambda: pool(2, (1,)), "2 rows has 1 weights"),
        (lambda: Sampler(pool(), Key(0), scale=-1), "priority scale"),
        (lambda: Sampler(pool(2, (0, 0)), Key(0), scale=1.0).draw(1), "all its weights are 0"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(make, why):
    with pytest.raises(LoquentError, match=why):
        make()


def test_a_state_over_other_rows_is_refused():
    state = Sampler(pool(3), Key(0)).state_dict()
    with pytest.raises(BadCheckpoint, match="other rows"):
        Sampler(pool(4), Key(0)).load_state_dict(state)
    del state["drawn"]
    with pytest.raises(BadCheckpoint, match="lacks the field drawn"):
        Sampler(pool(3), Key(0)).load_state_dict(state)
    sampler = Sampler(pool(1), Key(0))
    sampler.add([Row("b", Record(data=b"x"))])
    with pytest.raises(LoquentError, match="'b' holds bytes"):
        sampler.state_dict()
