"""Claims over tasks, means over tasks, and the leaderboard."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from loquent.bench import notes, pages, results
from loquent.bench import suite as suites
from loquent.bench.evidence import leaderboard, tallies, verdicts
from loquent.bench.evidence.rows import Row
from loquent.bench.jobs import Plan
from loquent.bench.runner import write
from loquent.bench.schema.paper_tables import figure
from loquent.bench.schema.suite_schema import Column, Summary, Table, Tally
from loquent.errors import BadSetting, UnknownName
from loquent.statistics.intervals import interval

TABLES = tuple(Table(title=task, score="a", cells=(f"{task}-one", f"{task}-two")) for task in ("x", "y", "z"))
SUITE = SimpleNamespace(
    name="small",
    tables=TABLES,
    task_tables=TABLES,
    columns={
        "a": Column(metric="a", better="higher"),
        "b": Column(metric="b", better="lower"),
        "m": Column(metric="meteor-exact-stem", better="higher"),
        "k": Column(metric="kl/reference"),
    },
    profiles={"cpu": None},
    whole=None,
    tallies=(Tally(claim="two beats one", column="a", low="one", high="two"),),
)


def row(name, value, error, paper):
    return Row(
        name=name, label=name.partition("-")[2], task=f"t-{name[0]}", n=1, episodes=100, rows=100,
        values={"a": {0: value}, "b": {}}, intervals={"a": interval([value])}, paper={"a": figure(paper)},
        source="", paper_seeds=1, failures={}, seconds=0.0, errors={"a": {0: error}},
    )  # fmt: skip


ROWS = {
    "x-one": row("x-one", 0.5, 0.03, "0.1"),
    "x-two": row("x-two", 0.61, 0.04, "0.2"),  # 0.11 is 2.2 errors of 0.05
    "y-one": row("y-one", 0.5, 0.03, "0.1"),
    "y-two": row("y-two", 0.59, 0.04, "0.1"),  # 1.8 are not
    "z-one": row("z-one", 0.5, 0.03, "0.3"),
    "z-two": row("z-two", 0.2, 0.04, "0.2"),
}


def test_a_win_is_decided_alone():
    [found] = tallies.tally(SUITE, ROWS)
    assert [task.outcome for task in found.tasks] == ["win", "neither", "loss"]
    assert [task.step.difference.error for task in found.tasks] == pytest.approx([0.05] * 3)
    assert [task.paper_rises for task in found.tasks] == [True, None, False]
    assert found.text == (
        "on these rows wins on 1 of 3 tasks (0 after Holm's correction); loses on z (1 after Holm's "
        "correction); no visible difference on y; in the paper's figures it is better on 1 of 3"
    )
    # 198 degrees of freedom or a few less: t = 2.2, 1.8 and 6.0; p = 0.029, 0.074 and 1e-8
    assert [task.corrected for task in found.tasks] == pytest.approx([0.058, 0.074, 0.0], abs=1e-3)


def test_counts_are_about_rows_without_values_by_row():
    note = notes.tally_note(SimpleNamespace(claim_tallies=tallies.tally(SUITE, ROWS)))
    assert "it decides nothing about the methods" in note
    assert pages.tally_text(tallies.tally(SUITE, ROWS)[0].tasks[0]).startswith(
        "x: win; difference 0.110 ± 0.050 over rows that are not paired, without an interval (p = 0.029, "
        "corrected 0.058); paper: 0.1 → 0.2"
    )
    several = {name: seeds(cell, 0.0, 0.01, -0.01) for name, cell in ROWS.items()}
    found = tallies.tally(SUITE, several)
    assert found[0].text.startswith(
        "on these rows wins on 2 of 3 tasks (2 after Holm's correction); loses on z (1 after"
    )
    note = notes.tally_note(SimpleNamespace(claim_tallies=found))
    assert "one seed" not in note
    assert note.endswith("rests on seeds alone.")
    with_rows = {
        name: dataclasses.replace(
            cell,
            by_row={"a": {seed: {"r": value, "q": value} for seed, value in cell.values["a"].items()}},
        )
        for name, cell in several.items()
    }
    assert tallies.tally(SUITE, with_rows)[0].text.startswith("wins on 2 of 3")


def seeds(cell, *shifts):
    """The cell with several seeds, whose values differ by these shifts."""
    values = {seed: cell.values["a"][0] + shift for seed, shift in enumerate(shifts)}
    return dataclasses.replace(
        cell,
        n=len(shifts),
        values={"a": values, "b": {}},
        intervals={"a": interval(list(values.values()))},
        errors={},
    )


def test_a_comparison_without_a_test_counts_in_the_correction():
    lost = {
        **ROWS,
        "z-two": dataclasses.replace(ROWS["z-two"], values={"a": {}, "b": {}}, intervals={}, errors={}),
    }
    [found] = tallies.tally(SUITE, lost)
    assert [task.corrected for task in found.tasks] == [
        pytest.approx(0.087, abs=1e-3),
        pytest.approx(0.147, abs=1e-3),
        None,
    ]


def test_equal_methods_rarely_win_after_the_correction():
    """400 claims over 7 tasks, 3 normal seeds: a fifth have single wins or losses, 5% corrected ones."""
    generator = np.random.default_rng(0)
    single = corrected = 0
    for _ in range(400):
        tasks = [
            tallies.OnTask("t", step, tallies._outcome(step, 1.0))
            for step in (
                verdicts.step(
                    "a", *(seeds(ROWS[end], *generator.normal(size=3)) for end in ("x-one", "x-one"))
                )
                for _ in range(7)
            )
        ]
        found = tallies.Tallied(SUITE.tallies[0], tallies._corrected(tasks))
        single += bool(found.tasks_with("win") or found.tasks_with("loss"))
        corrected += bool(found.count_holding("win") or found.count_holding("loss"))
    assert single / 400 > 0.2
    assert corrected / 400 <= 0.05


def test_the_mean_over_tasks_has_the_error_of_its_parts():
    one, two = tallies.means(SUITE, Summary(title="m", column="a"), ROWS)
    assert (one.method, one.value, two.value) == ("one", pytest.approx(0.5), pytest.approx(1.4 / 3))
    assert one.error == pytest.approx(0.03 * 3**0.5 / 3)
    absent = {**ROWS, "y-two": dataclasses.replace(ROWS["y-two"], intervals={})}
    assert [mean.method for mean in tallies.means(SUITE, Summary(title="m", column="a"), absent)] == ["one"]


def test_a_leaderboard_keeps_the_entries_of_others(tmp_path):
    ours = leaderboard.ours(SUITE, "cpu", ROWS)
    assert {(entry.task, entry.method) for entry in ours} == {(t, m) for t in "xyz" for m in ("one", "two")}
    theirs = dataclasses.replace(ours[0], by="somebody", method="three", value=0.9)
    stale = dataclasses.replace(ours[0], value=0.0)
    path = tmp_path / leaderboard.FILE
    path.write_text(json.dumps(leaderboard.as_json(SUITE, [theirs, stale])))
    found = leaderboard.merge_entries(leaderboard.read(path, SUITE), ours)
    assert theirs in found
    assert stale not in found
    assert len(found) == len(ours) + 1
    first = leaderboard.boards(found, SUITE, "cpu")[0]
    methods = [entry.method for entry in first.ranked]
    assert (first.task, first.column, methods) == ("x", "a", ["three", "two", "one"])
    page = leaderboard.markdown(found, SUITE, "cpu")
    assert page.index("three") < page.index("two") < page.index("one")
    assert "somebody" in page
    assert leaderboard.read(tmp_path / "absent.json", SUITE) == ()


def test_what_an_entry_does_not_say_stays_unsaid(tmp_path):
    said = {"task": "x", "method": "mine", "column": "a", "value": 0.5, "by": "me", "profile": "cpu"}
    path = tmp_path / "leaderboard.json"
    path.write_text(json.dumps(leaderboard.as_json(SUITE, []) | {"entries": [said]}))
    entries = leaderboard.read(path, SUITE)
    (written,) = leaderboard.as_json(SUITE, entries)["entries"]
    assert written == said | {"data": "", "source": "", "loquent": ""}
    page = leaderboard.markdown(entries, SUITE, "cpu")
    (row,) = [line for line in page.splitlines() if "mine" in line]
    assert [cell.strip() for cell in row.split("|")][4:7] == ["–", "–", "–"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda board: board.pop("format"), "lacks the field 'format'"),
        (lambda board: board.update(version=2), "version must be 1"),
        (lambda board: board.update(suite="other"), "suite must be 'small'"),
        (lambda board: board["entries"].append(3), r"entries\[6\] must be an object"),
        (lambda board: board["entries"].append(board["entries"][0]), r"entries\[6\] is of the same score"),
        (lambda board: board["entries"][1].pop("value"), r"entries\[1\] lacks the field 'value'"),
        (lambda board: board["entries"][1].update(value="high"), r"entries\[1\].*value"),
        (lambda board: board["entries"][1].update(colour=1), "colour"),
        (lambda board: board["entries"][1].update(column="c"), r"entries\[1\]: column must be one of a, b"),
        (lambda board: board["entries"][1].update(column="k"), r"column must be one of a, b, m, got 'k'"),
        (lambda board: board["entries"][1].update(method=" "), "method is empty"),
        (lambda board: board["entries"][1].update(error=-1.0), "error"),
        (lambda board: board["entries"][1].update(error=1e999), "JSON|finite"),
        (
            lambda board: board["entries"][1].update(seeds=-(10**400)),
            "seeds must be at least 1",
        ),
        (
            lambda board: board["entries"][1].update(value=10**400),
            "value must be a finite number",
        ),
        (lambda board: board["entries"][1].update(task="X"), "task must be one of x, y, z, got 'X'"),
        (lambda board: board["entries"][1].update(profile="cup"), "profile must be one of cpu, smoke"),
        (lambda board: board["entries"][1].update(column="m", value=999), "meteor-exact-stem is from 0 to 1"),
        (lambda board: board["entries"][1].update(column="m", value=-0.1), "is from 0 to 1"),
        (lambda board: board["entries"][1].update(rows=101), "rows = 101 of 100 episodes"),
        (lambda board: board["entries"][1].update(method="three"), "by = 'loquent' is kept for"),
        (lambda board: board["entries"][1].update(by="Loquent"), "by = 'Loquent' is kept for"),
        (lambda board: board["entries"][1].update(by="me\n# x"), r"by = 'me\\n# x'; it must be one line"),
        (lambda board: board["entries"][1].update(data="\u202ex"), "printable"),
        (lambda board: board["entries"][1].update(by="me "), "without spaces around"),
        (lambda board: board["entries"][1].update(source="x" * 301), "at most 300"),
    ],
)
def test_a_wrong_leaderboard_is_refused(tmp_path, change, says):
    board = json.loads(json.dumps(leaderboard.as_json(SUITE, leaderboard.ours(SUITE, "cpu", ROWS))))
    change(board)
    path = tmp_path / leaderboard.FILE
    path.write_text(json.dumps(board))
    with pytest.raises(BadSetting, match=says) as error:
        leaderboard.read(path, SUITE)
    assert str(path) in str(error.value)


def test_no_text_of_an_entry_is_markup_on_the_page():
    [one] = [entry for entry in leaderboard.ours(SUITE, "cpu", ROWS) if entry.method == "two"][:1]
    hostile = dataclasses.replace(one, by="me", method="a\\|b <script>1</script> [x](y) *b* _c_")
    page = leaderboard.markdown([one, hostile], SUITE, "cpu")
    assert "<" not in page
    [line] = [line for line in page.splitlines() if "script" in line]
    assert r"a\\\|b &lt;script>1&lt;/script> [x\](y) \*b\* \_c\_" in line
    assert line.replace(r"\\", "").replace(r"\|", "").count("|") == 9  # eight cells


def test_scores_on_other_data_have_a_table_of_their_own():
    ours = [entry for entry in leaderboard.ours(SUITE, "cpu", ROWS) if entry.task == "x"]
    others = [
        dataclasses.replace(ours[0], by="a", method=method, data=data, value=0.9)
        for method, data in (("same", "t-x"), ("old", "t-w"), ("none", ""))
    ]
    found = leaderboard.boards([*others, *ours], SUITE, "cpu")
    methods = {board.data: [entry.method for entry in board.ranked] for board in found}
    assert methods == {"t-x": ["same", "two", "one"], "t-w": ["old"], "": ["none"]}
    assert next(iter(methods)) == "t-x"
    page = leaderboard.markdown([*others, *ours], SUITE, "cpu")
    assert "\n## x\n" in page
    assert "\n### x, data t-w\n" in page
    assert "\n### x, data that is not named\n" in page


def test_a_bench_of_some_cells_keeps_the_entries_of_all_tasks(tmp_path):
    suite = suites.load("grue")
    entry = leaderboard.Entry(task="WMT-16", method="m", column="ter", value=0.5, by="me", profile="paper")
    file = tmp_path / leaderboard.FILE
    file.write_text(json.dumps(leaderboard.as_json(suite, [entry])))
    part = suites.only(suite, ["imdb-ppo"])
    write(tmp_path, results.collect(part, "cpu", 1, Plan((), {"imdb-ppo": {}}), {}))
    assert leaderboard.read(file, suite) == (entry,)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / leaderboard.FILE
    path.write_text("{")
    with pytest.raises(BadSetting, match=r"leaderboard\.json.*move it away"):
        leaderboard.read(path, SUITE)


def test_the_suite_of_grue_has_seven_tasks_and_six_methods():
    suite = suites.load("grue")
    assert len(suite.task_tables) == 7
    for table in suite.task_tables:
        methods = [name.partition("-")[2] for name in table.cells]
        assert methods == ["zero-shot", "supervised", "ppo", "nlpo", "supervised-ppo", "supervised-nlpo"]
        assert all(suite.cells[name].published for name in table.cells)


def test_a_tally_of_an_unknown_method_is_named(suite_text, tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(suite_text + "tallies: [{claim: c, column: words, low: one, high: ppo}]\n")
    with pytest.raises((UnknownName, BadSetting), match="method of this suite"):
        suites.load(file)
