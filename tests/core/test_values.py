"""Values: what may stand in a state, and that it survives copies and pipes."""

import copy
import hashlib
import json
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loquent.core.seeding import Key
from loquent.core.values import Record, digest, freeze, plain, problem

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner).map(Record),
    max_leaves=10,
)


@dataclass(frozen=True)
class Point:
    x: object


@dataclass
class Loose:
    x: int


@given(VALUES)
def test_a_value_survives_copies_and_pipes(value):
    assert problem(value) is None
    for made in (copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))):
        assert made(value) == value
        assert hash(made(value)) == hash(value)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_a_record_ignores_the_order_of_its_names(fields):
    forth, back = Record(fields), Record(dict(reversed(fields.items())))
    assert forth == back
    assert hash(forth) == hash(back)
    assert list(forth) == list(fields)
    assert digest(forth) == digest(back)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ([1], "value is a list"),
        ({"a": 1}, "value is a dict"),
        (np.zeros(2), "value is an ndarray"),
        (np.float64(1.0), None),  # a float: numpy's own kind of it
        (np.int64(1), "value is an int64"),
        ((1, ({2},)), r"value\[1\]\[0\] is a set"),
        (Record(a=Record(b=[1])), "value.a.b is a list"),
        (Record({1: 2}), "has the name 1, not a string"),
        (Point([1]), "value.x is a list"),
        (Point((1,)), None),
        (Loose(1), "not frozen"),
        (Point, "value is a type"),
        (lambda: 0, "value is a function"),
    ],
)
def test_what_is_no_value_is_told_with_its_place(thing, words):
    found = problem(thing)
    assert (found is None) == (words is None)
    assert words is None or re.search(words, found)


def test_a_record_does_not_change():
    record = Record(a=1)
    with pytest.raises(AttributeError, match=r"record.with_\(a=\.\.\.\)"):
        record.a = 2
    with pytest.raises(TypeError):
        record["a"] = 2
    assert record.with_(a=2, b=3) == Record(a=2, b=3)
    assert record == Record(a=1) != {"a": 1}
    assert copy.deepcopy(record) is record


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(a=2),
        lambda record: record.pop("a"),
        lambda record: record.popitem(),
        lambda record: record.clear(),
        lambda record: record.setdefault("b", 2),
        lambda record: record.__delitem__("a"),
        lambda record: record.__ior__({"a": 2}),
    ],
)
def test_no_way_of_a_dict_changes_a_record(change):
    record = Record(a=1)
    with pytest.raises(TypeError, match="a Record does not change"):
        change(record)
    assert record == Record(a=1)
    assert hash(record) == hash(Record(a=1))
    assert type(record | {"b": 2}) is dict


def test_a_record_of_unhashable_things_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Record(a=[1]))


@given(VALUES)
def test_plain_is_json(value):
    text = json.dumps(plain(value))
    assert json.dumps(json.loads(text)) == text


def test_plain_and_frozen_by_hand():
    value = Record(a=(1, Record(b=b"\x01\xff")), p=Point(2))
    assert plain(value) == {"a": [1, {"b": {"bytes": "01ff"}}], "p": {"x": 2}}
    assert freeze({"a": [1, {"b": None}]}) == Record(a=(1, Record(b=None)))
    assert problem(freeze({"a": [{"b": [1]}], 3: 4})) is None


def test_a_digest_is_known_and_sees_every_field():
    # sha256 of the text {"a": 1}, as json.dumps writes it
    assert digest(Record(a=1), 64) == hashlib.sha256(b'{"a": 1}').hexdigest()
    assert digest(Record(a=1)) != digest(Record(a=2))
    assert digest(Record(a=1)) != digest(Record(b=1))
    assert len(digest(Key(1, ("a",)))) == 8
