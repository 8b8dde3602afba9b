"""What the tables of a benchmark show."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from loquent.bench import exports, jobs, notes, pages, results
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.schema.suite_schema import Drawing
from loquent.report.groups import Point


def test_a_table_has_the_columns_in_which_it_has_a_number():
    results = SimpleNamespace(
        suite=SimpleNamespace(columns={"token_f1": None, "accuracy": None, "micro_f1": None})
    )

    def row(*measured, paper=()):
        return SimpleNamespace(intervals=dict.fromkeys(measured), paper=dict.fromkeys(paper))

    assert pages.columns(results, [row("token_f1"), row()]) == ["token_f1"]
    assert pages.columns(results, [row("micro_f1"), row(paper=["accuracy"])]) == ["accuracy", "micro_f1"]
    assert pages.columns(results, [row(), row()]) == ["token_f1", "accuracy", "micro_f1"]


def test_a_page_without_intervals_over_both_says_what_they_take():
    without = SimpleNamespace(rows={}, seeds=5)
    assert notes.both_note(without).startswith("No column has an interval over seeds and rows, which takes")
    assert "rows that all of them played about equally often" in notes.both_note(without)


def collected(suite, only=(), decodings=("sampled, temperature 1",)):
    """The results of cells of a suite with numbers of our own; decodings take turns."""
    values = {column.metric: 0.25 + i / 10 for i, column in enumerate(suite.columns.values())}
    plan = jobs.plan(suite, Path("out"), "smoke", 1, {}, only=only)
    outcomes = {
        job.key: Outcome(
            job.key,
            {
                "values": values,
                "n": 9,
                "rows": 9,
                "task": "t-v1",
                "errors": {},
                "decoding": decodings[i % len(decodings)],
            },
        )
        for i, job in enumerate(plan.jobs)
    }
    shown = suites.only(suite, only) if only else suite
    return results.collect(shown, "smoke", 1, plan, outcomes)


@pytest.fixture
def small(suite):
    """A suite of one's own on one start."""
    return suites.load(suite)


def test_a_table_names_the_decoding_and_says_where_it_differs(small):
    alike, mixed = (collected(small, decodings=own) for own in (("argmax",), ("argmax", "greedy")))
    for shown, note in ((alike, "Decoding of evaluation: argmax."), (mixed, "These lines mix decodings")):
        assert note in pages.markdown(shown)
        assert note in pages.html(shown)
        assert note in exports.as_json(shown)["tables"][0]["decoding"]
    assert {cell["decoding"] for cell in exports.as_json(mixed)["cells"].values()} == {"argmax", "greedy"}
    head, first = (line.split(",") for line in exports.as_csv(alike).splitlines()[:2])
    assert (head[-1], first[-1]) == ("decoding", "argmax")


def test_claims_are_of_a_paper_only_where_there_is_one(small):
    shown = collected(small)
    assert "## Claims of the paper" in pages.markdown(shown)
    cells = {name: replace(cell, published="") for name, cell in small.cells.items()}
    orderings = tuple(replace(own, place="") for own in small.orderings)
    plain = replace(small, paper="", orderings=orderings, cells=cells)
    shown = collected(plain)
    for page in (pages.markdown(shown), pages.html(shown)):
        assert "Claims of the suite" in page
        assert "Claims of the paper" not in page


def test_only_shows_no_claim_and_no_note_on_tasks_that_are_left_out():
    suite = suites.load("grue")
    cells = [name for name in suite.cells if name.startswith("wmt16-")]
    shown = collected(suite, cells)
    text = pages.markdown(shown)
    assert not any(f"on {title}" in text or f"{title}:" in text for title in ("IMDB", "CommonGen", "ToTTo"))
    assert shown.claim_tallies
    assert all(len(found.tasks) == 1 for found in shown.claim_tallies)
    assert not any("no run measured" in note for note in shown.notes)
    part = collected(suite, ["wmt16-ppo"])
    assert part.claim_tallies == (), "no claim has both of its methods"
    assert "0 of 0" not in pages.markdown(part)


def test_a_published_mean_of_an_unknown_number_of_runs_says_so():
    shown = collected(suites.load("grue"), ["commongen-ppo"])
    [line] = [line for line in pages.markdown(shown).splitlines() if "0.220 ± 0.006" in line]
    assert line.split("|")[-3].strip() == "not stated"
    assert exports.as_json(shown)["cells"]["commongen-ppo"]["published"]["n"] is None


def test_curves_of_shares_end_at_1_in_files_too(small):
    drawing = Drawing(title="f", cells=("ppo",), key="rollout/success")
    plan = SimpleNamespace(cells={"ppo": {0: "run"}})
    outcomes = {"run": Outcome("run", evaluation={"values": {"s": 0.5}, "ranges": {"s": [-1.0, 1.0]}})}
    lines = {"ppo": [Point(1.0, 0.9, 0.7, 1.1, 2)]}
    assert results._ends(drawing, lines, plan, outcomes) == (0.0, 1.0)
    assert results._ends(replace(drawing, key="evaluation/s"), lines, plan, outcomes) == (-1.0, 1.0)
    shown = collected(replace(small, figures=(drawing,)))
    shown = replace(shown, curves={"f": {"ppo": (Point(1.0, 0.9, 0.7, 1.1, 2),)}}, ends={"f": (0.0, 1.0)})
    assert exports.curves_csv(shown).splitlines()[1].endswith(",0.9,0.7,1.0,2")
    assert exports.as_json(shown)["curves"]["f"]["ppo"][0]["high"] == 1.0
