"""The table of rules on the docs page is made from the rules: first line, thresholds and reasons."""

import inspect
from pathlib import Path

import pytest

from helpers.report import kept_logs
from loquent.report.diagnosis import RULES
from loquent.report.diagnosis.limits import CAUSES
from loquent.report.diagnosis.log import IMITATION
from loquent.report.runs import ReportedRun
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


def end(key):
    """A measure: the mean of the last quarter of a key, where the policy learned from its own episodes."""
    return lambda log: [series.end for series in [log.find(key)] if series and not log.imitates]


def falls(log):
    """The last fall of the loss of a run that imitates others."""
    return [loss.quarter(2) - loss.end for loss in map(log.find, IMITATION) if loss and log.imitates]


def phases(log):
    """The greatest share of the time that was not learning, where the phases are logged."""
    sums = {name: sum(line.get(name, 0.0) for line in log.timings) for name in (*CAUSES, "learn")}
    return [sums[name] / sum(sums.values()) for name in CAUSES if sums["learn"]]


def off(log):
    """The largest differences of the first ratios from 1."""
    return [max(series.values) for series in [log.find("policy/ratio_error")] if series]


STUDY = {  # the number in the reason of a rule, and what the kept logs have at most
    "undertrained_clone": ("0.058", falls),
    "kl_explosion": ("0.30", end("kl/reference_k3")),
    "groups_without_variance": ("0.67", end("rollout/rows/equal")),
    "one_phase": ("0.40", phases),
    "ratio_off_one": ("1.5e-5", off),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    records = enumerate(kept_logs.kept())
    return [ReportedRun(kept_logs.write(folder / str(i), **record)).log for i, record in records]


@pytest.mark.parametrize("rule", STUDY)
def test_the_margin_of_a_rule_is_that_of_the_good_runs(rule, logs):
    text, measure = STUDY[rule]
    most = max(value for log in logs for value in measure(log))
    assert float(f"{most:.2g}") == float(text)
    [function] = [each for each in RULES if each.__name__ == rule]
    assert text in inspect.getdoc(function)
