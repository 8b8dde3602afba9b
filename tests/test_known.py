"""The page of what is known holds what the records decide, and says of each verdict what it is about."""

import pytest

from loquent.bench import suite as suites
from tools.known import of_studies, of_suites, page, records
from tools.known.records import Record

VERSION = suites.load("quickstart").version
CLAIM, CELLS = "PPO increases sentiment", ("zero-shot", "ppo")


def step(low, high, *, n=3, over="seeds"):
    own = {"mean": 0.2, "n": n, "error": 0.05}
    return {"low": low, "high": high, "difference": own, "rows": [300, 300], "over": over}


def verdict(found="holds", cells=CELLS, **of_step):
    steps = [step(*cells, **of_step)]
    about = {
        "p_corrected": 0.01,
        "uncorrected": "holds",
        "on_these_rows": "holds" * (steps[0]["over"] == "rows"),
    }
    return {"claim": CLAIM, "column": "sentiment", "verdict": found, "steps": steps, "ends": None, **about}


def record(line, *verdicts, command="loquent bench quickstart", **content):
    cells = {"zero-shot": {"n": 3, "seconds": 27.0}, "ppo": {"n": 3, "seconds": 153.0}}
    about = {
        "commit": "abc",
        "seconds": 9.0,
        "version": VERSION,
        "cautions": ["All seeds start from one base: ..."],
    }
    whole = {"command": command, **about, "cells": cells, "verdicts": list(verdicts), **content}
    whole = {key: value for key, value in whole.items() if value is not None}
    return Record("quickstart.jsonl", line, whole)


def known(*given):
    """What records say of the first claim of the suite `quickstart`."""
    found = of_suites.of_suite(suites.load("quickstart"), given, [])
    return [one for one in found if one.claim == CLAIM]


def test_a_claim_stands_with_its_effect_seeds_costs_and_command():
    [one] = known(record(1, verdict()))
    assert (one.verdict, one.effect, one.p) == ("holds, on these rows", "0.200 ± 0.050 `sentiment`", "0.01")
    assert (one.seeds, one.rows, one.shared, one.seconds) == (3, "300", "the base", "9 → 51")
    text = page.section([one])
    assert "**holds, on these rows**" in text
    assert (
        "1. `loquent bench quickstart` ([line 1 of quickstart.jsonl](results/quickstart.jsonl), commit abc"
        in text
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (verdict(over="seeds and rows"), "holds"),
        (verdict("contradicted"), "contradicted, on these rows"),
        (verdict("undecided", over="seeds and rows"), "undecided (uncorrected: holds)"),
        (verdict("undecided", n=1, over="rows"), "one seed: about these runs; on these rows: holds"),
        (verdict(cells=("zero-shot", "nlpo")), "not measured"),
        (verdict() | {"claim": "another"}, "not measured"),
    ],
)
def test_a_verdict_says_what_it_is_about(given, text):
    [one] = known(record(1, given))
    assert one.verdict == text
    assert page.kind(one.verdict) in page.KINDS


def test_records_of_other_settings_stand_apart_and_more_seeds_and_newer_ones_count():
    command = "loquent bench quickstart task.limit=9 --seeds 3 --out runs/q"
    single = verdict("undecided", n=1, over="rows")
    given = [
        record(1, verdict(n=5)),
        record(2, verdict(n=5)),
        record(3, single),
        record(4, verdict(), command=command),
        record(5, verdict(n=9), version=0),
        record(6, verdict(), command="loquent bench quickstarter"),
    ]
    found = known(*given)
    assert [(one.record.line, one.settings) for one in found] == [(2, "cpu"), (4, "cpu, task.limit=9")]
    [older] = known(given[4])
    assert "in version 0 of the suite, which is " in older.record.made


def test_a_record_without_a_version_counts_last_and_says_so():
    """One of an older version comes before it, though it has fewer seeds and stands first."""
    unknown = record(3, verdict(n=9), version=None)
    assert [one.record.line for one in known(record(1, verdict(), version=0), unknown)] == [1]
    suite = suites.load("quickstart")
    [one] = [one for one in of_suites.of_suite(suite, [unknown], [], {"quickstart": "a remark"}) if one.seeds]
    assert one.record.made.endswith(f", version not recorded (it is {suite.version} now): a remark")
    assert "version" not in known(record(1, verdict()))[0].record.made


def test_of_equal_records_that_of_the_latest_date_counts():
    days = ("2026-11-20", "2026-11-21", "2026-11-19", None)
    given = [record(i, verdict(), date=day) for i, day in enumerate(days)]
    assert [one.record.line for one in known(*given)] == [1]


def test_seeds_share_what_the_record_says():
    suite = suites.load("quickstart")
    varied = record(1, cautions=["Seed k of a run starts from seed k of base: ..."])
    assert of_suites.shared_things(suite, varied) == "nothing"
    assert of_suites.shared_things(suite, Record("", 1, {})) == "not recorded"
    assert of_suites.shared_things(suites.load("ilql-comments"), Record("", 1, {})) == "the recordings"


def test_the_remarks_of_older_commands_are_no_code():
    command = "loquent collect a --out b; the same with 0.1, 0.2; loquent train c (as it is); loquent train d"
    text = page.source(record(1, command=command))
    code = (
        "`loquent collect a --out b`; the same with 0.1, 0.2; `loquent train c` (as it is); `loquent train d`"
    )
    assert text.startswith(f"{code} ([line 1 of")


def test_a_claim_over_tasks_counts_them():
    suite = suites.load("grue")
    claim = suite.tallies[0].claim
    tasks = [
        {"outcome": "win", "difference": {"mean": 0.2, "n": 3}, "rows": [300, 300], "p_corrected": 0.01},
        {"outcome": "win", "difference": {"mean": 0.1, "n": 3}, "rows": [200, 300], "p_corrected": 0.09},
        {"outcome": "loss", "difference": {"mean": -0.1, "n": 1}, "rows": [300, 300], "p_corrected": 1.0},
        {"outcome": "not measured", "difference": None},
    ]
    given = record(1, command="loquent bench grue", tallies=[{"claim": claim, "tasks": tasks}])
    [one] = [one for one in of_suites.of_suite(suite, [given], []) if one.claim == claim]
    assert one.verdict == (
        "with several seeds: of 2 tasks 2 (1 after Holm's correction) won, 0 lost, on these rows; "
        "one seed: about these runs; on these rows: of 1 task 0 won, 1 (0 after Holm's correction) lost"
    )
    assert (one.effect, one.seeds, one.rows) == ("-0.100 to 0.200 `reward`", 3, "200 to 300")


def test_claims_of_studies_are_compared_over_their_seeds():
    """The differences of pairs are 0.1, 0.2 and 0.3: mean 0.2, error 0.1 / sqrt(3), t = 3.46, p = 0.074."""
    runs = {"a": [0.5, 0.5, 0.5], "b": [0.6, 0.7, 0.8]}
    nodes = {name: {"runs": [{"reward": one, "seconds": 6.0} for one in own]} for name, own in runs.items()}
    entry = {"record": ["x.jsonl", 1], "rows": 9, "shared": "", "settings": "", "value": "reward"}
    entry |= {"runs": {"b above a": [["a"], ["b"]], "a above b": [["b"], ["a"]]}}
    first, second = of_studies.of_study(entry, [Record("x.jsonl", 1, nodes)])
    assert (first.verdict, first.effect, first.p, first.seeds) == ("undecided", "0.200 ± 0.058", "0.15", 3)
    assert (second.effect, second.seconds) == ("-0.200 ± 0.058", "6 → 6")


def test_verdicts_of_cells_run_by_hand_are_those_of_the_suite():
    """ILQL -4.036 ± 0.1057 and BC -6.131 ± 0.094: a difference of 2.095 with error 0.141, over rows."""
    entries = records.entries()["suites"]
    found = of_suites.of_suite(suites.load("ilql-dialogue"), records.records(), entries)
    [one] = [one for one in found if one.claim == "ILQL above BC"]
    assert one.effect == "2.095 ± 0.141 `standard`"
    assert one.seconds == "99 → 505"
