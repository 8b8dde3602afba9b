"""Settings are read by the checks of records, in the forms that YAML has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from loquent.core import schema
from loquent.core.options import fill, from_values, parse
from loquent.core.settings import setting
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting


@dataclass(frozen=True)
class Settings:
    name: Annotated[str, schema.require_text] = "n"
    weights: Mapping[str, float] = EMPTY
    span: tuple[int, float] = (0, 0.0)
    sizes: tuple[int, ...] = ()
    steps: tuple[int, ...] = setting((1,), low=0)
    level: Literal[1, "auto"] = 1
    note: str | None = setting(None)
    scale: float | str = setting(1.0, infinite=True)
    more: Record = EMPTY
    rest: Any = None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("weights: {a: 1, b: inf}", {"weights": Record(a=1.0, b=float("inf"))}),
        ("span: [1, 2]", {"span": (1, 2.0)}),
        ("sizes: 3", {"sizes": (3,)}),
        ("sizes:", {"sizes": ()}),
        ("name: n\nnote:", {"note": None}),
        ("scale: .inf", {"scale": float("inf")}),
        ("scale: -inf", {"scale": -float("inf")}),
        ("scale: large", {"scale": "large"}),
        ("more: {a: [.inf]}", {"more": Record(a=(float("inf"),))}),
        ("rest: [{a: 1}]", {"rest": (Record(a=1),)}),
    ],
)
def test_every_type_of_a_record_is_a_type_of_a_setting(text, values):
    found = fill(Settings, parse(text, "f"), "s")
    assert found == Settings(**values)
    assert type(found.span[1]) is float  # 2 is a float where a float is asked for


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: ''", "s.name must be a text that is not empty, got ''"),
        ("weights: {a: x}", "s.weights.a must be a number, got 'x'"),
        ("weights: 1", "s.weights must be an object {...}, got 1; the default is Record()"),
        ("span: [1]", "s.span must be a list of 2, got [1]; the default is (0, 0.0)"),
        ("sizes: [1, x]", "s.sizes[1] must be an integer, got 'x'"),
        ("sizes: x", "s.sizes must be an integer, got 'x'; the default is ()"),
        ("steps: [1, x]", "s.steps[1] must be an integer, at least 0, got 'x'"),
        ("steps: x", "s.steps must be an integer, at least 0, got 'x'; the default is (1,)"),
        ("level: true", "s.level must be one of 1, 'auto', got true; the default is 1"),
        ("note: 3", "s.note must be a text or none, got 3; the default is none"),
        ("scale: .nan", "s.scale must be a number, got nan"),
        ("scale: [1]", "s.scale must be a number or a text, got [1]; the default is 1.0"),
        ("more: [a]", "s.more must be an object {...}, got ['a']; the default is Record()"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(text, message):
    with pytest.raises(BadSetting) as error:
        fill(Settings, parse("rest: 1\n" + text, "f"), "s")
    assert str(error.value) == f"f:2: {message}"


def test_a_number_too_large_for_a_float_is_no_number():
    with pytest.raises(BadSetting, match=r"s\.scale must be a number or a text, got 1000"):
        from_values(Settings, {"scale": 10**400}, "s")
