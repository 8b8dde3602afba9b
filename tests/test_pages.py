"""Tables and figures of pages are made from docs/results, and a changed figure is reported."""

from pathlib import Path

import pytest

from tools.pages import mutations, page, prose, templates
from tools.pages.records import Problem

HERE = Path(__file__).resolve().parents[1]
RECORD = {
    "ppo": {
        "reward": 0.7449,
        "error": 0.0125,
        "seconds": 90,
        "tokens": 12345,
        "note": "10 runs, 7 of them whole",
    },
    "ppo, target 0.1": {"reward": 0.5, "low": 0.25, "high": -0.125},
    "rows": [{"name": "a", "n": 1}, {"printed": {"name": "b"}, "n": 2}, {"name": "a", "n": 3}],
}


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: str(path.relative_to(HERE)))
def test_a_page_is_as_its_records_make_it(path):
    problems = page.problems(path.read_text(encoding="utf-8"), page.key(path))
    assert problems == [], "run `python -m tools.pages`, or mend what it says"


def test_mistakes_are_reported():
    _, reported, missed = mutations.measured(40, seed=0)
    assert reported.total() >= 39, missed


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{ppo.reward:.3f} ± {ppo.error:.3f}", "0.745 ± 0.013"),
        ("{ppo.seconds / 60:.1f} minutes", "1.5 minutes"),
        ("{ppo.tokens:,} in {ppo.seconds}", "12,345 in 90"),
        (
            "{ppo, target 0.1.reward:.2f}(? [{ppo, target 0.1.low:.2f}, {ppo, target 0.1.high:+.2f}]?)",
            "0.50 [0.25, -0.13]",
        ),
        ("{ppo.reward:.1f}(? [{ppo.low:.2f}]?)", "0.7"),
        ("{-ppo.reward:.2f} in {ppo.note #2:.0f}", "-0.74 in 7"),
        ("{rows.a.n}, {rows.b.n}, {rows.0.n}", "3, 2, 1"),
        ("{rows.[name=a].n}, {rows.[name=a, n=1].n / 2:.1f}", "3, 0.5"),
        ("{name}: {ppo.note}", "PPO: 10 runs, 7 of them whole"),
    ],
)
def test_a_template_is_filled(template, text):
    assert templates.filled(template, RECORD, "PPO") == text


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{ppo.rewards:.2f}", "there is no 'rewards'; there are reward"),
        ("{ppo.reward}", "write its digits"),
        ("{ppo:.2f}", "is no figure"),
        ("{ppo.note / 2:.2f}", "is no number, but '10 runs"),
        ("{ppo.note #3:.0f}", "has 2 numbers"),
        ("{ppo.reward / 0:.0f}", "divides by 0"),
    ],
)
def test_a_wrong_template_is_refused(template, says):
    with pytest.raises(Problem, match=says):
        templates.filled(template, RECORD)


@pytest.mark.parametrize(
    ("printed", "exact", "text"),
    [
        ("0.5", 0.345, "0.3"),
        ("0.50", 0.345, "0.35"),
        (".50", 0.345, ".35"),
        ("+1", 2.4, "+2"),
        ("1,000", 12345.6, "12,346"),
        ("-5.50", -5.505, "-5.51"),
        ("1e-3", 0.002, "2e-3"),
    ],
)
def test_a_figure_keeps_its_form(printed, exact, text):
    assert prose.like(printed, exact) == text


PAGE = """# A page

It returns -5.51 ± 0.04 with 3 seeds in 4 minutes, GPT-2 with 7 layers of arXiv:2210.01241 less.
<!-- figures: wordle.jsonl 1 | return | error | 3 | seconds / 60 | 7 -->

- The others: -4.22
  <!-- figures: wordle.jsonl * | 1.return -->

## Settings

A rate of 0.5 at 3 places.
<!-- given: 0.5 -->
"""


def test_a_true_page_is_left_as_it_is():
    assert page.made(PAGE, "none") == (PAGE, [])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("-5.51 ±", "-5.52 ±", "+It returns -5.51"),
        ("-5.51 ± 0.04", "0.04 ± -5.51", "+It returns -5.51 ± 0.04"),
        ("in 4 min", "in 5 min", "in 4 minutes"),
        ("with 3", "with 4", "'4' should be '3', a setting"),
        ("7 layers", "layers", "for 5 entries"),
        ("others: -4.22", "others: -4.22 and 8", "for 1 entries"),
        ("1.return -->", "1.return -->\n  9 more", "'9' has no source"),
        ("of 0.5", "of 0.6", "'0.6' has no source"),
        ("3 places", "3 seconds", "'3' has no source"),
        ("1.return", "1.returns", "there is no 'returns'"),
        ("wordle.jsonl *", "words.jsonl *", "no file docs/results/words.jsonl"),
        ("wordle.jsonl 1", "wordle.jsonl 9", "has 3 lines, not a line 9"),
    ],
)
def test_a_false_page_is_reported(old, new, says):
    assert old in PAGE
    text = "\n".join(page.problems(PAGE.replace(old, new), "none"))
    assert says in text, text
