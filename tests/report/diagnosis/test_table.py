"""The table of rules on the docs page is made from the rules: first line, thresholds and reasons."""

import inspect
from pathlib import Path

from loquent.report.diagnosis import RULES
from loquent.statistics.tables import short

PAGE = Path(__file__).resolve().parents[3] / "docs" / "diagnosis.md"


def row(rule):
    """A rule as a line of the table."""
    shows, _, why = inspect.getdoc(rule).partition("\n\n")
    thresholds = {
        name: parameter.default
        for name, parameter in inspect.signature(rule).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    numbers = ", ".join(f"{name} {short(value)}" for name, value in thresholds.items())
    return f"| `{rule.__name__}` | {shows} | {numbers} | {' '.join(why.split())} |"


def test_the_page_has_the_row_of_each_rule():
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [row(rule) for rule in RULES]


def test_each_rule_has_a_threshold_with_its_reason():
    for rule in RULES:
        assert inspect.getdoc(rule).count("\n\n") == 1, rule.__name__
        assert any(word in inspect.getdoc(rule) for word in ("Study: ", "Source: ")), rule.__name__
