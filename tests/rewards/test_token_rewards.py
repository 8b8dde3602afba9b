"""Rewards of tokens by their ids, and what is no such reward."""

import json

import numpy as np
import pytest

from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.metric import Context
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.rewards import apply, build


def scores(ids, **options):
    """What the tokens of one drawn answer earn."""
    [term], weights = build({"mine": options}, Context())
    zeros = np.zeros(len(ids))
    turns = (
        Turn("task", "go", to="agent"),
        Turn("agent", "x", tokens=Tokens(np.array(ids, dtype=np.int64), zeros, zeros)),
    )
    [scored] = apply([term], [Episode("t-v1", "r", "train", 0, 0, turns, "done")], {"r": Row("r")})
    assert weights == Record(mine=1.0)
    return scored.turns[1].token_rewards["mine"]


def test_by_hand():
    assert scores([3, 4, 4], of="token_specified", values={4: 2.0}, scale=0.5, shift=-1.0) == (-1.0, 0.0, 0.0)
    assert scores([3, 4, 4], of="token_specified", values={"4": 2}) == (0.0, 2.0, 2.0)
    assert scores([3, 4], of="token_constant", value=-0.5) == (-0.5, -0.5)
    assert scores([3, 4], of="token_constant") == (0.0, 0.0)


def test_from_a_file(tmp_path):
    file = tmp_path / "vowels.json"
    file.write_text(json.dumps({"0": -1, "4": -0.5}))
    assert scores([0, 1, 4], of="token_specified", file=str(file), scale=2.0) == (-2.0, 0.0, -1.0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either values or a file"),
        ({"values": {1: 1.0}, "file": "x"}, "either values or a file"),
        ({"values": {"e": 1.0}}, "'e' is not a token id"),
        ({"values": {-1: 1.0}}, "'-1' is not a token id"),
        ({"values": {True: 1.0}}, "'True' is not a token id"),
        ({"values": {1: "a"}}, "token 1 has the value 'a'"),
        ({"values": {1: float("nan")}}, "nan"),
        ({"values": {1: 1.0}, "scale": float("inf")}, "scale must be a finite number, got inf"),
        ({"values": [1]}, "values"),
        ({"file": "missing.json"}, "missing.json"),
    ],
)
def test_what_is_no_mapping_from_ids_to_numbers_is_refused(options, says):
    with pytest.raises(BadSetting, match=says):
        build({"mine": {"of": "token_specified", **options}}, Context())


@pytest.mark.parametrize("text", ["[1]", "no json", '{"4": 1', '{"4": NaN}'])
def test_a_bad_file_is_refused(tmp_path, text):
    file = tmp_path / "f.json"
    file.write_text(text)
    with pytest.raises(BadSetting, match="token_specified"):
        build({"mine": {"of": "token_specified", "file": str(file)}}, Context())
