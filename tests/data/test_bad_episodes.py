"""A bad episode in a file is a `BadRow` that names file, line, field and value.

What is read is written back as it was.
"""

import json
import math
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tracers import TRACERS
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.episode import Episode, Turn, from_json, to_json
from loquent.core.rollout.loop import replay
from loquent.core.schema import LEVELS
from loquent.core.values import Record
from loquent.data.episodes import PARQUET, read, write
from loquent.data.ranking import branch_pairs
from loquent.errors import BadRow, LoquentError

ONE = Episode(
    "wordle-v1",
    "r",
    "train",
    0,
    0,
    (
        Turn("task", "go", to="agent"),
        Turn(
            "agent",
            "crane",
            rewards=Record(guess=-1.0),
            token_rewards=Record(tax=(0.5, -0.5)),
            stopped="stop",
        ),
        Turn("task", "bbbbb", to="agent"),
    ),
    "solved",
    agents=Record(agent="expert"),
    meta=Record(kind="expert", parts=(1, Record(x=None))),
)
GONE = object()


def changed(place, value):
    """The line of `ONE` with another value at a place, or without it."""
    line = deepcopy(to_json(ONE))
    *way, last = place
    inner = line
    for name in way:
        inner = inner[name]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return line


def nested(levels):
    return [] if levels == 1 else [nested(levels - 1)]


ANSWER = ("turns", 1)
BAD = [
    (("row",), [1], "row must be a text, got [1]"),
    (("row",), None, "row must be a text, got null"),
    (("row",), GONE, "it lacks the field 'row'"),
    (("task",), {}, "task must be a text, got {}"),
    (("number",), "a", "number must be an integer, got 'a'"),
    (("number",), None, "number must be an integer, got null"),
    (("number",), 1.5, "number must be an integer, got 1.5"),
    (("seed",), True, "seed must be an integer, got true"),
    (("ended",), 5, "ended must be a text or null, got 5"),
    (("ended",), [], "ended must be a text or null, got []"),
    (("instruction",), 3, "instruction must be a text, got 3"),
    (("learning",), None, "learning must be a text, got null"),
    (("agents",), None, "agents must be an object {...}, got null"),
    (("agents", "agent"), 1, "agents.agent must be a text, got 1"),
    (("meta",), [], "meta must be an object {...}, got []"),
    (
        ("meta", "x"),
        math.nan,
        "meta.x must be a finite number, a text, true, false, null, a list or an object, got nan",
    ),
    (
        ("meta", "parts"),
        [1, math.inf],
        "meta.parts[1] must be a finite number, a text, true, false, null, a list or an object, got inf",
    ),
    (("meta", "x"), nested(LEVELS + 1), "is nested too deep; at most 64 levels are allowed"),
    (("extra",), 1, "it has an unknown field 'extra'; known: task, row"),
    (("turns",), None, "turns must be a list [...], got null"),
    (("turns", 1), "crane", "turns[1] must be an object {...}, got 'crane'"),
    (("turns", 0, "text"), None, "turns[0].text must be a text, got null"),
    ((*ANSWER, "text"), 5, "turns[1].text must be a text, got 5"),
    ((*ANSWER, "text"), GONE, "turns[1] lacks the field 'text'"),
    ((*ANSWER, "seat"), False, "turns[1].seat must be a text, got false"),
    ((*ANSWER, "to"), [], "turns[1].to must be a text, got []"),
    ((*ANSWER, "stopped"), "z", "turns[1].stopped must be one of 'end', 'stop', 'length', 'forced', got 'z'"),
    ((*ANSWER, "stopped"), [], "turns[1].stopped must be one of 'end', 'stop', 'length', 'forced', got []"),
    ((*ANSWER, "tokens"), None, "turns[1] has an unknown field 'tokens'; known: seat"),
    ((*ANSWER, "rewards"), None, "turns[1].rewards must be an object {...}, got null"),
    *(
        ((*ANSWER, "rewards", "guess"), value, f"turns[1].rewards.guess must be a finite number, got {said}")
        for value, said in (
            ("x", "'x'"),
            (None, "null"),
            ([1, 2], "[1, 2]"),
            (True, "true"),
            (math.nan, "nan"),
            (math.inf, "inf"),
            (-math.inf, "-inf"),
            (10**309, "1" + 17 * "0" + "..." + 19 * "0"),
        )
    ),
    ((*ANSWER, "token_rewards", "tax"), 1.0, "turns[1].token_rewards.tax must be a list [...], got 1.0"),
    (
        (*ANSWER, "token_rewards", "tax"),
        [0.5, math.nan],
        "turns[1].token_rewards.tax[1] must be a finite number, got nan",
    ),
    (
        (*ANSWER, "token_rewards", "tax"),
        [None],
        "turns[1].token_rewards.tax[0] must be a finite number, got null",
    ),
]
LINES = [
    *((json.dumps(changed(place, value)).encode(), says) for place, value, says in BAD),
    (b"[" * 100_000, "nested too deep"),
    (b'{"turns": ' + b"[" * 100_000, "nested too deep"),
    (b"\xff", "can't decode byte 0xff"),
    (
        json.dumps(to_json(ONE)).replace("-1.0", "1e999").encode(),
        "turns[1].rewards.guess must be a finite number, got inf",
    ),
    (b"3", "it must be an object {...}, got 3"),
]


def test_the_good_line_beside_the_bad_ones_is_good():
    assert from_json(json.loads(json.dumps(to_json(ONE)))) == ONE
    assert from_json(changed(("meta", "x"), nested(LEVELS - 1))).meta["kind"] == "expert"


@pytest.mark.parametrize(("line", "says"), LINES, ids=[says for _, says in LINES])
def test_a_bad_line_is_named_with_field_and_value(line, says, tmp_path):
    file = tmp_path / "e.jsonl"
    file.write_bytes(json.dumps(to_json(ONE)).encode() + b"\n" + line + b"\n")
    with pytest.raises(BadRow) as error:
        list(episode.read(file))
    assert f"{file}:2: this line is not an episode" in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(("line", "says"), LINES[:3] + LINES[-5:], ids=str)
def test_the_command_line_names_it(line, says, tmp_path, capsys):
    file = tmp_path / "e.jsonl"
    file.write_bytes(line + b"\n")
    assert cli.main(["convert", str(file), str(tmp_path / "x.jsonl")]) == 2
    said = capsys.readouterr().err
    assert f"{file}:1: this line is not an episode" in said
    assert says in said


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("row", None, "row must be a text, got null"),
        ("number", None, "number must be an integer, got null"),
        ("turns", None, "this row is not an episode"),
        ("agents", None, "this row is not an episode"),
        ("agents", [{"seat": "a", "name": "x"}, {"seat": "a", "name": "y"}], "agents has the names 'a', 'a'"),
        ("agents", [{"seat": None, "name": "x"}], "agents has the names None"),
        ("meta", None, "meta: JSON must be a text, got null"),
        ("meta", "[" * 100_000, "meta: lists or objects are nested too deep"),
        (
            "meta",
            '{"x": NaN}',
            "meta.x must be a finite number, a text, true, false, null, a list or an object, got nan",
        ),
        ("line", "[" * 100_000, "nested too deep"),
        ("line", "", "this row is not an episode"),
    ],
)
def test_a_bad_row_of_parquet_is_named(column, value, says, tmp_path):
    import pyarrow
    from pyarrow import parquet

    write(tmp_path / "good.parquet", [ONE, ONE], PARQUET, Record())
    table = parquet.read_table(tmp_path / "good.parquet")
    at = table.column_names.index(column)
    values = pyarrow.array([table.column(at)[0].as_py(), value], type=table.schema.field(at).type)
    parquet.write_table(table.set_column(at, column, values), tmp_path / "bad.parquet")
    with pytest.raises(BadRow) as error:
        list(read(tmp_path / "bad.parquet"))
    assert f"{tmp_path / 'bad.parquet'}:2: this row is not an episode" in str(error.value)
    assert says in str(error.value)


PLACES = sorted({place for place, *_ in BAD if place != ("extra",)} | {("turns", 0), ("split",)}, key=str)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["end", 10**400, 1.0]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["text", "seat", "guess"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(place=st.sampled_from(PLACES), value=JSON)
def test_any_value_anywhere_is_read_and_written_back_or_refused(place, value):
    line = json.loads(json.dumps(changed(place, value)))
    try:
        one = from_json(line)
    except ValueError:
        return
    assert math.isfinite(one.total(Record(guess=1.0, tax=1.0))) or "rewards" in place
    assert hash(one.meta) == hash(from_json(line).meta)
    assert from_json(json.loads(json.dumps(to_json(one), allow_nan=False))) == one


def forked(start):
    other = replace(ONE.turns[1], text="slate")
    meta = Record(kind="adversarial", parent=0, **({} if start is GONE else {"start": start}))
    return replace(ONE, number=7, turns=(ONE.turns[0], other, ONE.turns[2]), meta=meta)


@pytest.mark.parametrize("start", [GONE, 999, "x", None, -2, 1.0, True, 0, 2, (1,)])
def test_a_fork_whose_start_does_not_fit_is_named(start):
    assert [pair.turn for pair in branch_pairs([ONE, forked(1)])] == [1]
    with pytest.raises(
        BadRow,
        match=r"the fork r#7 of wordle-v1, seed 0, of the episode r#0: meta\.start is .*; it must be the "
        r"index of an answer of 'agent'",
    ):
        branch_pairs([ONE, forked(start)])


def test_a_fork_that_differs_before_its_start_is_named():
    fork = forked(1)
    opening = replace(fork.turns[0], text="another")
    with pytest.raises(BadRow, match=r"meta\.start is 1"):
        branch_pairs([ONE, fork.with_turn(0, opening)])


def test_a_parent_that_is_no_number_is_not_replayed():
    task = next(iter(TRACERS.values()))()
    with pytest.raises(LoquentError, match=r"meta\.parent must be the number of its parent episode, got 'x'"):
        replay(task, replace(ONE, meta=Record(parent="x")))
