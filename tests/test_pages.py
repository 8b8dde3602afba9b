"""Tables and figures of pages are made from docs/results, and a changed figure is reported."""

from math import inf, nan
from pathlib import Path

import pytest

from tools.pages import __main__ as command
from tools.pages import claims, mutations, page, prose, records, tables, templates
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
    "odd": {"large": 1e30, "small": -0.001, "zero": -0.0, "infinite": inf, "nan": nan, "huge": 1e300},
}


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: str(path.relative_to(HERE)))
def test_a_page_is_as_its_records_make_it(path):
    problems = page.problems(path.read_text(encoding="utf-8"), page.key(path))
    assert problems == [], "run `python -m tools.pages`, or mend what it says"


def test_mistakes_are_reported():
    _, reported, missed = mutations.measure(40, seed=0)
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
        ("{rows.b.n}, {rows.0.n}", "2, 1"),
        ("{rows.[name=a, n=3].n}, {rows.[printed.name=b].n / 4:.1f}", "3, 0.5"),
        ("{odd.large:.1f}, {odd.small:.2f}, {odd.small:+.1f}, {odd.zero:g}", f"{10**30}.0, 0.00, +0.0, 0"),
        ("{name}: {ppo.note}", "PPO: 10 runs, 7 of them whole"),
    ],
)
def test_a_template_is_filled(template, text):
    assert templates.fill(template, RECORD, "PPO") == text


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{ppo.rewards:.2f}", "there is no 'rewards'; there are reward"),
        ("{ppo.reward}", "write its digits"),
        ("{ppo:.2f}", "is no figure"),
        ("{ppo.note / 2:.2f}", "is no number, but '10 runs"),
        ("{ppo.note #3:.0f}", "has 2 numbers"),
        ("{ppo.reward / 0:.0f}", "divides by 0"),
        ("{odd.infinite:.1f}", "inf is no figure"),
        ("{odd.nan:.2f}", "nan is no figure"),
        ("{odd.huge ** 5:.1f}", "odd.huge \\*\\* 5' is too large"),
        ("{-ppo.seconds ** 0.5:.1f}", "has a root of a negative number"),
        ("{rows.a.n}", r"'a' names 2 records; name one by its fields: \[field=value\]"),
        ("{rows.[name=a].n}", r"'\[name=a\]' names 2 records"),
    ],
)
def test_a_wrong_template_is_refused(template, says):
    with pytest.raises(Problem, match=says):
        templates.fill(template, RECORD)


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
<!-- figures: 0.5 | 3 -->
"""
SETTINGS = "A rate of 0.5 at 3 places.\n<!-- given: 0.5 -->\n"


def test_a_true_page_is_left_as_it_is():
    assert page.make(PAGE, "none") == (PAGE, [])


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
        ("of 0.5", "of 0.6", "'0.6' should be '0.5'"),
        ("3 places", "4 places", "'4' should be '3'"),
        ("1.return", "1.returns", "there is no 'returns'"),
        ("wordle.jsonl *", "words.jsonl *", "no file docs/results/words.jsonl"),
        ("wordle.jsonl 1", "wordle.jsonl 9", "has 3 lines, not a line 9"),
        ("seconds / 60", "command", "is no number, but"),
        ("seconds / 60", "seconds ** 999", "is too large"),
        ("3 seeds", "three seeds", "'three' should be '3'"),
        ("less.", "less. `0.999`", "for 5 entries"),
        ("less.", "less. 0.5ms", "7 0.5)"),
        ("less.", "less. 12GB", "7 12)"),
        ("less.", "less. Version 9.9 PPO", "7 9.9)"),
        ("less.", "less, on pages 99 percent", "7 99)"),
        ("less.", "less. Page 9%", "7 9)"),
        ("less.", "less. Line 0.95 is", "7 0.95)"),
        ("less.", "less. PPO_0.9_", "7 0.9)"),
        ("less.", "less in Nine of ten tasks", "7 Nine ten)"),
    ],
)
def test_a_false_page_is_reported(old, new, says):
    assert old in PAGE
    text = "\n".join(page.problems(PAGE.replace(old, new), "none"))
    assert says in text, text


NAMES = """# Names

The 20th of the sections 3.1 and B.4, page 21, lines 6 to 9, tables 5, 6 and 8 of version 3.0.0 and
Python 3.11, `top-5`, `p_0` of 5bf902d, one of two kinds.
<!-- figures: 0 -->
"""


def test_names_and_references_are_no_figures():
    [problem] = page.problems(NAMES, "none")
    assert "0 numbers () for 1 entries" in problem


def test_a_figure_of_a_test_is_a_whole_number_of_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "test.py").write_text("assert f(10.5) == 0.444 - 1e-6")
    text = "At 10.5, {} of it.\n<!-- tested: {} 10.5 {} -->\n"
    assert page.problems(text.format("0.444", "test.py", "0.444"), "none") == []
    for number in ("0.44", "0.5", "1e-7"):
        assert page.problems(text.format(number, "test.py", number), "none") == [
            f"{number} is not in test.py"
        ]
    [problem] = page.problems(text.format("0.444", "tests.py", "0.444"), "none")
    assert problem == "there is no file tests.py, which `tested` names"
    assert page.problems("<!-- tested: -->\n", "none") == ["`tested` names no file"]


def test_settings_of_a_page_without_results_are_given():
    assert page.problems(SETTINGS, "none") == page.problems(SETTINGS.replace("3", "4"), "none") == []
    for old, new in [("of 0.5", "of 0.6"), ("3 places", "3 seconds"), ("3 places", "3%")]:
        [problem] = page.problems(SETTINGS.replace(old, new), "none")
        assert "has no source" in problem


SPECIFICATION = """
learners:
  source: learning.jsonl 1 learners
  form: "{*:.2f}"
  missing: –
  columns: {learner: , reward: reward, "±": deviation, gain: "{least_gain_in_errors:.0f}", how: "{updates}"}
  rows:
    {start: , PPO: {at: ppo, how: "{updates} updates"},
     best: {at: learning.jsonl 1 learners.grpo, form: "{*:.3f}"}}
  marks: {", old": [best]}
curves:
  source: learning.jsonl *
  columns: {learner: "`{name}`", counting: "{0.learners.@.reward:.3f}"}
  rows: [ppo, trpo]
list:
  source: learning.jsonl 1 learners
  form: "{*:.1f}"
  columns: [learner, reward, kl]
  rows: [ppo]
grid:
  source: speed.jsonl *
  form: "{[*, @].printed.target * 100:.1f}"
  columns: {benchmark: , A: commit=cd2643fb, B: commit=4b2c0743}
  rows: {long: {at: printed.name=decode-long, B: ""}, sets: {at: printed.name=metric-label_sets, A: ""}}
paper:
  paper: rl4lms
  columns: {"": , sentiment: "{sentiment}", n: "{n}"}
  rows: {PPO: table-5/PPO/0.1}
"""
MADE = {
    "learners": """\
| learner | reward | ± | gain | how |
|---|---:|---:|---:|---:|
| start | 0.29 | – | – | – |
| PPO | 0.89 | 0.01 | 37 | 40 updates |
| best | 0.950 | 0.012 | 46 | 40, old |
""",
    "curves": "| learner | counting |\n|---|---:|\n| `ppo` | 0.893 |\n| `trpo` | 0.639 |\n",
    "grid": "| benchmark | A | B |\n|---|---:|---:|\n| long | 85.0 | |\n| sets | | 100.0 |\n",
    "list": "| learner | reward | kl |\n|---|---:|---:|\n| ppo | 0.9 | 0.9 |\n",
    "paper": "| | sentiment | n |\n|---|---:|---:|\n| PPO | 0.602 ± 0.012 | 5 |\n",
}


STEP = {"low": "a", "high": "b", "difference": {"mean": 0.2, "error": 0.05, "n": 3}, "verdict": "holds"}
STEP |= {"episodes": [300, 300], "rows": [300, 300]}
RANGE = {"low": 0.1, "high": 0.3}


@pytest.mark.parametrize(
    ("over", "ends", "claim", "effect", "decided"),
    [
        ("seeds and rows", RANGE, {}, "0.200 [0.100, 0.300] over seeds and rows", "undecided ("),
        ("seeds", RANGE, {}, "0.200 [0.100, 0.300] over seeds", "undecided on these rows ("),
        ("seeds", {}, {}, "0.200 ± 0.050 (standard error over seeds)", "undecided on these rows ("),
        ("rows", RANGE, {"on_these_rows": "holds"}, "0.200 [0.100, 0.300] over rows",
         "undecided about the methods (one seed); on these rows: holds ("),
        ("seeds", {}, {"p": None}, "0.200 ± 0.050 (standard error over seeds)",
         "undecided on these rows (no test)"),
    ],
)  # fmt: skip
def test_a_claim_says_what_it_is_about(over, ends, claim, effect, decided):
    difference = {**STEP["difference"], "low": None, "high": None, **ends}
    record = {"claim": "b above a", "column": "x", "verdict": "undecided", "uncorrected": "holds"}
    record |= {"p": 0.00004, "p_corrected": 0.06, "tests": 1, **claim}
    record["steps"] = [{**STEP, "difference": difference, "over": over}]
    first, second = claims.lines([record]).splitlines()
    assert first.startswith(f"- b above a (`x`): difference {effect}; **{decided}")
    if record["p"]:
        ending = "" if claim else ", uncorrected it holds"
        assert first.endswith(f"(p below 0.0001, of 1 test 0.06{ending})**.")
    alone = "uncorrected" if over == "seeds and rows" else "on these rows, uncorrected"
    assert second.endswith(f"(n = 3; 300 episodes on 300 rows); {alone}: holds")


@pytest.fixture
def specify(tmp_path, monkeypatch):
    """Write the specification of a page; the tables of all pages are read anew."""
    monkeypatch.setattr(tables, "SPECIFICATIONS", tmp_path)
    tables.specifications.cache_clear()
    yield (tmp_path / "page.yaml").write_text
    tables.specifications.cache_clear()


@pytest.mark.parametrize("name", MADE)
def test_a_table_is_made(specify, name):
    specify(SPECIFICATION)
    assert tables.make("page", name) == MADE[name]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "learning.jsonl 1",
            "learning.jsonl 7",
            "learners: row 'start' has no figure: docs/results/learning.jsonl has 4 lines",
        ),
        ("at: ppo", "at: pop", "row 'PPO' has no figure: learning.jsonl 1 learners: there is no 'pop'"),
        ('±": deviation', '±": dev', "column '±' has no figure"),
        ("  missing: –\n", "", "row 'start', column '±': deviation: there is no"),
        ('ppo, how: "', 'ppo, who: "', "row 'PPO' has a cell for 'who', which is no column"),
        ("source:", "from:", "page.yaml: learners has an unknown field 'from'; known: columns, source"),
        ("columns: {learner: ,", "columns: [", "page.yaml: while parsing"),
        ("{start: , PPO", "{start: 3, PPO", "learners.rows.start"),
        ("curves:", "5:", "page.yaml: the name 5 is no text"),
        ("gain: ", "5: ", "page.yaml: the name 5 is no text"),
        ("[best]", "[bets]", "a mark is for 'bets', which is no row"),
        ('"{*:.2f}"\n  missing', '"{*:.2f}(? [{*.lower:.2f}]?)"\n  missing', "'reward': no row fills '(? [{"),
        ("learners:", "others:", "has no table 'learners'; it has others, curves, list, grid, paper"),
        (
            SPECIFICATION[: SPECIFICATION.index("curves:")],
            "learners: {source: quickstart.jsonl 6 failures, columns: {cell: , n: '{n}'}}\n",
            "learners: quickstart.jsonl 6 failures has no record, so the table has no row",
        ),
    ],
)
def test_a_wrong_specification_is_refused(specify, old, new, says):
    assert old in SPECIFICATION
    specify(SPECIFICATION.replace(old, new, 1))
    with pytest.raises(Problem) as caught:
        tables.make("page", "learners")
    assert says in str(caught.value)


TABLE = "<!-- table: list -->\n" + MADE["list"] + "<!-- end -->\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TABLE, []),
        (f"-  {TABLE}".replace("\n", "\n   "), ["marker", "0 markers"]),
        (f"\t{TABLE}", ["marker", "0 markers"]),
        ("> " + TABLE.replace("\n", "\n> "), ["marker", "0 markers"]),
        (f"```\n{TABLE}```\n", ["marker", "0 markers"]),
        (f"<!-- hidden\n{TABLE}-->\n", ["marker", "0 markers"]),
        (TABLE.replace("<!-- end -->", ""), ["marker", "0 markers"]),
        (TABLE.replace("<!-- table: list", "<!--table:  list"), ["marker", "0 markers"]),
        (TABLE + TABLE, ["2 markers"]),
        ("", ["0 markers"]),
    ],
)
def test_each_table_is_made_once(specify, text, says):
    specify(SPECIFICATION[SPECIFICATION.index("list:") : SPECIFICATION.index("grid:")])
    found = [problem for problem in page.problems(text, "page") if "marker" in problem]
    assert len(found) == len(says), found
    assert all(part in problem for part, problem in zip(says, found, strict=True)), found


def test_each_file_of_specifications_is_for_a_page(specify):
    assert page.strays() == []
    specify(SPECIFICATION)
    assert page.strays() == ["docs/results/tables/page.yaml is for no page"]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Another folder of results."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    records.forget()
    yield tmp_path
    records.forget()


def test_a_line_that_moves_is_reported(results):
    (results / "a.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    records.write_lines()
    assert records.node("a.jsonl 2 n") == 2
    with (results / "a.jsonl").open("a") as file:
        file.write('{"n": 3}\n')
    records.forget()
    with pytest.raises(Problem, match=r"a.jsonl has 1 lines that .*lines.yaml lacks"):
        records.node("a.jsonl 2 n")
    records.write_lines()
    (results / "a.jsonl").write_text('{"n": 2}\n{"n": 3}\n')
    records.forget()
    with pytest.raises(Problem, match=r"line 1 of docs/results/a.jsonl is not the line that .*lines.yaml"):
        records.node("a.jsonl 2 n")
    records.write_lines()
    records.forget()
    with pytest.raises(Problem, match="line 1 of"):
        records.node("a.jsonl 2 n")
    records.write_lines(replaced="a.jsonl")
    records.forget()
    assert records.node("a.jsonl 2 n") == 3


def test_unknown_pages_and_rows_of_papers_are_named(specify):
    with pytest.raises(Problem, match=r"there is no docs/results/tables/page.yaml"):
        tables.make("page", "paper")
    specify(SPECIFICATION.replace("table-5/PPO/0.1", "table-5/PPO"))
    with pytest.raises(Problem, match=r"named 'PPO'.*PPO/0\.1"):
        tables.make("page", "paper")


def test_the_command_checks_and_writes(tmp_path, monkeypatch, capsys):
    file = tmp_path / "a.md"
    monkeypatch.setattr(command, "ROOT", tmp_path)
    file.write_text(PAGE.replace("-4.22", "-4.23"))
    assert command.main(["--check", str(file)]) == 1
    assert "+- The others: -4.22" in capsys.readouterr().out
    assert command.main([str(file)]) == 0
    assert file.read_text() == PAGE
    assert command.main(["--check", str(file)]) == 0
    file.write_text(PAGE.replace("of 0.5", "of 0.6"))
    assert command.main([str(file)]) == 1
    assert "a.md: '0.6' should be '0.5'" in capsys.readouterr().err
