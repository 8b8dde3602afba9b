"""Records are frozen dataclasses: a value that does not fit is named with its place and what is right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from loquent.core import schema
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting


@dataclass(frozen=True)
class Round:
    question: Annotated[str, schema.require_text]
    answer: str | int
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Dialogue:
    name: str
    rounds: tuple[Round, ...] = ()
    span: tuple[int, float] = (0, 0.0)
    kind: Literal["a", 1] = "a"
    share: float | None = setting(None, low=0.0, high=1.0)
    count: int = setting(1, low=1)
    flag: bool = True
    notes: Mapping[str, Round | None] = field(default_factory=Record)
    facts: Record = Record()
    rest: Any = None

    def __post_init__(self):
        if self.name == "bad":
            raise BadSetting("bad is no name")


FULL = {
    "name": "n",
    "rounds": [{"question": "why?", "answer": 3}],
    "span": [1, 2.5],
    "kind": 1,
    "share": None,
    "count": 2,
    "flag": False,
    "notes": {"x": None},
    "facts": {"a": [1, {"b": None}]},
    "rest": [float("nan")],
}


def test_every_kind_of_field_is_read():
    found = schema.read(Dialogue, FULL)
    assert found == Dialogue(
        "n",
        (Round("why?", 3),),
        (1, 2.5),
        1,
        None,
        2,
        False,
        Record(x=None),
        Record(a=(1, Record(b=None))),
        FULL["rest"],
    )
    assert schema.read(Dialogue, {"name": "n"}) == Dialogue("n")


HUGE = 10**400
DEEP = [[]]
for _ in range(schema.LEVELS):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name must be a text, got null"),
        ({"name": "bad"}, "bad is no name"),
        ({"other": 1}, "it has an unknown field 'other'; known: name, rounds"),
        ({"rounds": {}}, "rounds must be a list [...], got {}"),
        ({"rounds": [3]}, "rounds[0] must be an object {...}, got 3"),
        ({"rounds": [{"question": "?"}]}, "rounds[0] lacks the field 'answer'"),
        (
            {"rounds": [FULL["rounds"][0], {"question": " ", "answer": "x"}]},
            "rounds[1].question must be a text that is not empty, got ' '",
        ),
        (
            {"rounds": [{"question": "?", "answer": True}]},
            "rounds[0].answer must be a text or an integer, got true",
        ),
        (
            {"rounds": [{"question": "?", "answer": "", "place": "x"}]},
            "rounds[0] has an unknown field 'place'; known: question, answer",
        ),
        ({"span": [1]}, "span must be a list of 2, got [1]"),
        ({"span": [1.0, 2]}, "span[0] must be an integer, got 1.0"),
        ({"span": [1, HUGE]}, "span[1] must be a finite number, got 1000"),
        ({"span": [1, float("nan")]}, "span[1] must be a finite number, got nan"),
        ({"kind": True}, "kind must be one of 'a', 1, got true"),
        ({"kind": ["a"]}, "kind must be one of 'a', 1, got ['a']"),
        ({"share": 2}, "share must be in [0, 1], got 2"),
        ({"share": "1"}, "share must be a finite number or null, in [0, 1], got '1'"),
        ({"share": float("inf")}, "share must be a finite number or null, in [0, 1], got inf"),
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"count": -HUGE}, "count must be at least 1, got -1000"),
        ({"count": True}, "count must be an integer, at least 1, got true"),
        ({"flag": 1}, "flag must be true or false, got 1"),
        ({"notes": []}, "notes must be an object {...}, got []"),
        ({"notes": {"x": 3}}, "notes.x must be an object {...} or null, got 3"),
        ({"facts": {"a": [float("inf")]}}, "facts.a[0] must be a finite number, a text"),
        ({"facts": {"a": DEEP}}, "is nested too deep; at most 64 levels are allowed"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change, message):
    with pytest.raises(ValueError) as error:
        schema.read(Dialogue, {**FULL, **change})
    assert message in str(error.value)
    assert len(str(error.value)) < 600


@dataclass(frozen=True)
class Tree:
    name: str = ""
    parts: tuple["Tree", ...] = ()
    twin: "Tree | None" = None


def from_table(value):
    return {"one": 1}[value]


def without_words(value):
    raise ValueError


def even(value):
    if value % 2:
        raise ValueError(" must be even")
    return value


@dataclass(frozen=True)
class Odd:
    table: Annotated[str, from_table] = ""
    silent: Annotated[str, without_words] = ""
    half: Annotated[int, lambda value: value // 2, even] = 0
    names: Mapping[str, int] = field(default_factory=Record)


@dataclass(frozen=True)
class Choices:
    level: Literal["low", "high"] | int = setting(1, low=1)
    texts: tuple[Annotated[str, schema.require_text], ...] | Literal["all"] | None = None
    pair: tuple[int, float] | None = None
    plan: Round | tuple[Round, ...] = ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"level": "mid"}, "level must be one of 'low', 'high' or an integer, at least 1, got 'mid'"),
        ({"texts": "some"}, "texts must be a list [...] or 'all' or null, got 'some'"),
        ({"texts": ["a", " "]}, "texts[1] must be a text that is not empty, got ' '"),
        ({"pair": [1]}, "pair must be a list of 2 or null, got [1]"),
        ({"pair": [1, "x"]}, "pair[1] must be a finite number, got 'x'"),
        ({"plan": [{"question": "?"}]}, "plan[0] lacks the field 'answer'"),
        ({"plan": {"question": 3}}, "plan.question must be a text, got 3"),
    ],
)
def test_a_union_names_all_that_is_allowed_or_the_place_inside(value, message):
    with pytest.raises(ValueError) as error:
        schema.read(Choices, value)
    assert str(error.value) == message


@dataclass(frozen=True)
class Silent:
    name: str = ""
    __post_init__ = without_words


def test_a_record_may_hold_records_of_its_class():
    value = {"name": "a", "parts": [{"name": "b", "twin": {"name": "c"}}]}
    assert schema.read(Tree, value) == Tree("a", (Tree("b", (), Tree("c")),))
    with pytest.raises(ValueError, match=r"^parts\[0\]\.twin\.name must be a text, got 3$"):
        schema.read(Tree, {"parts": [{"twin": {"name": 3}}]})
    deep = {}
    for _ in range(2000):
        deep = {"twin": deep}
    with pytest.raises(ValueError, match=r"^it is nested too deep$"):
        schema.read(Tree, deep)


def test_every_check_of_an_annotation_holds():
    assert schema.read(Odd, {"half": 5, "table": "one"}) == Odd(1, "", 2)
    with pytest.raises(ValueError, match=r"^half must be even$"):
        schema.read(Odd, {"half": 7})


def test_an_error_inside_a_check_is_no_unknown_field():
    with pytest.raises(KeyError, match="two"):
        schema.read(Odd, {"table": "two"})


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (Odd, {"silent": "x"}, "silent is not allowed: 'x'"),
        (Silent, {"name": "x"}, "it is not allowed: {'name': 'x'}"),
        (Odd, {"names": {"a\nb\x1b": "x"}}, "names.'a\\nb\\x1b' must be an integer, got 'x'"),
        (Odd, {"names": {"n" * 99: "x"}}, f"names.{'n' * 40} must be an integer, got 'x'"),
    ],
)
def test_a_message_always_has_words_in_one_line(cls, value, message):
    with pytest.raises(ValueError) as error:
        schema.read(cls, value)
    assert str(error.value) == message


def test_a_place_stands_in_front_of_the_field():
    for value, message in (
        ({"name": 1}, "row 3.name must be a text, got 1"),
        ([], "row 3 must be an object"),
    ):
        with pytest.raises(ValueError, match=message):
            schema.read(Dialogue, value, "row 3")


def test_other_fields_are_ignored_on_request():
    value = {"name": "n", "more": 1, "rounds": [{"question": "?", "answer": "x", "id": 3}]}
    assert schema.read(Dialogue, value, extra=True) == Dialogue("n", (Round("?", "x"),))


def test_a_file_is_named_with_the_advice(tmp_path):
    file = tmp_path / "d.json"
    file.write_text('{"name": 3}')
    with pytest.raises(BadModel) as error:
        schema.load(Dialogue, file, "write it again", error=BadModel)
    assert str(error.value) == f"{file}: name must be a text, got 3; write it again"
    file.write_text('{"name": "n"}')
    assert schema.load(Dialogue, file) == Dialogue("n")
