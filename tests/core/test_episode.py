"""Episodes: sums, seats, and the way to disk and back."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core import episode
from loquent.core.episode import Episode, Turn, from_json, to_json
from loquent.core.values import Record
from loquent.errors import BadRow

FINITE = st.floats(allow_nan=False, allow_infinity=False)
RECORDS = st.dictionaries(st.text(max_size=5), FINITE, max_size=3).map(Record)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
PER_TOKEN = st.dictionaries(st.text(max_size=5), st.lists(FINITE, max_size=3).map(tuple), max_size=2).map(
    Record
)
TURNS = st.builds(
    Turn, TEXTS, TEXTS, TEXTS, RECORDS, st.sampled_from(("end", "stop", "length")), token_rewards=PER_TOKEN
)
WHO = st.dictionaries(st.text(max_size=5), TEXTS, max_size=2).map(Record)
ENDS = st.none() | st.just("cut") | TEXTS
META = st.dictionaries(
    st.text(max_size=5),
    st.none() | st.booleans() | st.integers() | FINITE | TEXTS | st.tuples(TEXTS, TEXTS),
    max_size=3,
).map(Record)
EPISODES = st.builds(
    Episode,
    TEXTS,
    TEXTS,
    TEXTS,
    st.integers(),
    st.integers(),
    st.lists(TURNS, max_size=4).map(tuple),
    ENDS,
    TEXTS,
    TEXTS,
    WHO,
    META,
)

ONE = Episode(
    "t-v1",
    "r",
    "train",
    0,
    0,
    (
        Turn("task", "hello", to="agent"),
        Turn("agent", "a", rewards=Record(x=1.0, y=0.5), token_rewards=Record(x=(0.25, 0.25))),
        Turn("task", "", to="judge"),
        Turn("judge", "0.9"),
        Turn("task", "bye", to="agent"),
    ),
    "judged",
)


@given(EPISODES)
def test_an_episode_reads_back_equal(one):
    line = json.dumps(to_json(one), allow_nan=False)
    assert from_json(json.loads(line)) == one
    assert "\n" not in line


def test_without_meta_a_line_is_what_it_was_before_there_was_any():
    assert "meta" not in to_json(ONE)
    assert to_json(replace(ONE, meta=Record(kind="expert")))["meta"] == {"kind": "expert"}


def test_sums_by_hand():
    # x: 1 on the turn, 1/4 + 1/4 on its tokens
    assert ONE.rewards == Record(x=1.5, y=0.5)
    assert ONE.total(Record(x=2.0, z=9.0)) == 3.0
    assert ONE.total(Record(x=2.0, y=1.0)) != 3.0


def test_seats_and_answers():
    assert [turn.text for turn in ONE.seen_by("agent")] == ["hello", "a", "bye"]
    assert [turn.text for turn in ONE.seen_by("judge")] == ["", "0.9"]
    assert [turn.text for turn in ONE.answers()] == ["a"]
    assert [turn.text for turn in replace(ONE, learning="judge").answers()] == ["0.9"]


@pytest.mark.parametrize(
    ("ended", "bootstraps"), [(None, True), ("cut", True), ("judged", False), ("out of turns", False)]
)
def test_only_what_was_never_played_is_bootstrapped(ended, bootstraps):
    assert replace(ONE, ended=ended).bootstraps is bootstraps


def test_a_turn_can_be_replaced():
    other = ONE.with_turn(1, Turn("agent", "b"))
    assert [turn.text for turn in other.turns] == ["hello", "b", "", "0.9", "bye"]
    assert ONE.turns[1].text == "a"


def test_a_file_is_appended_to_and_read_in_order(tmp_path):
    file = tmp_path / "e.jsonl"
    others = [replace(ONE, number=i) for i in range(3)]
    assert episode.write(file, others[:2]) == 2
    assert episode.write(file, others[2:], append=True) == 1
    assert list(episode.read(file)) == others
    assert episode.write(file, []) == 0
    assert list(episode.read(file)) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "[]",
        "3",
        '{"task": "t"}',
        '{"turns": 3}',
        json.dumps({**to_json(ONE), "extra": 1}),
        json.dumps({**to_json(ONE), "meta": ["expert"]}),
        json.dumps({**to_json(ONE), "turns": [{"a": 1}]}),
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    file = tmp_path / "e.jsonl"
    file.write_text(json.dumps(to_json(ONE)) + "\n" + line + "\n")
    with pytest.raises(BadRow, match=r"e\.jsonl:2: this line is not an episode"):
        list(episode.read(file))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_nan_reaches_the_disk(tmp_path, value):
    with pytest.raises(ValueError, match="JSON"):
        episode.write(tmp_path / "e.jsonl", [ONE.with_turn(1, Turn("agent", "a", rewards=Record(x=value)))])
