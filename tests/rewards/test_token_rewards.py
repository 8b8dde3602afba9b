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


def test_overlong_answers_by_hand():
    # no penalty up to 10 - 4 tokens, then a fourth for each token more, and -1 beyond 10, on the last token
    penalties = {1: 0.0, 6: 0.0, 7: -0.25, 10: -1.0, 11: -1.0, 40: -1.0}
    for length, penalty in penalties.items():
        found = scores(range(length), of="overlong_penalty", longest=10, margin=4)
        assert found == (*[0.0] * (length - 1), penalty)
    assert scores([], of="overlong_penalty", longest=10, margin=4) == ()
    with pytest.raises(BadSetting, match=r"margin = 11 is above longest = 10; .* at most longest"):
        build({"mine": {"of": "overlong_penalty", "longest": 10, "margin": 11}}, Context())
    for options, missing in (({"margin": 4}, "longest"), ({"longest": 10}, "margin")):
        with pytest.raises(BadSetting, match=missing):
            build({"mine": {"of": "overlong_penalty", **options}}, Context())
    with pytest.raises(BadSetting, match="margin must be at least 1, got 0"):  # an answer never has more
        build({"mine": {"of": "overlong_penalty", "longest": 10, "margin": 0}}, Context())


def test_overlong_answers_are_punished_as_by_trl():
    pytest.importorskip("trl", reason="TRL is not installed")
    from trl.rewards import get_soft_overlong_punishment

    for longest, margin in ((10, 4), (10, 10), (7, 1)):
        theirs = get_soft_overlong_punishment(longest, margin)
        for length in range(1, 15):
            ours = scores(range(length), of="overlong_penalty", longest=longest, margin=margin)
            assert sum(ours) == pytest.approx(theirs([[0] * length])[0], abs=1e-12)


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
