"""A suite's page opened in headless Chromium, like the report: no request leaves, the console is silent, a
phone can show it.
"""

from pathlib import Path

import pytest
import report_folders as made

from loquent.bench import jobs, pages, results
from loquent.bench import suite as suites
from loquent.bench.work import Outcome


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The quickstart's page with numbers of our own, and a hostile failure."""
    suite = suites.load("quickstart")
    plan = jobs.plan(
        suite, Path("out"), "standard" if "standard" in suite.profiles else next(iter(suite.profiles)), 3, {}
    )
    values = {column.metric: i + 0.25 for i, column in enumerate(suite.columns.values())}
    outcomes = {}
    for number, job in enumerate(plan.jobs):
        found = {
            "values": {key: value + number / 10 for key, value in values.items()},
            "n": 9,
            "task": "generation-v1",
        }
        outcomes[job.key] = (
            Outcome(job.key, found)
            if number % 5
            else Outcome(job.key, failure=made.HOSTILE.replace("\ud800", ""))
        )
    found = results.collect(suite, next(iter(suite.profiles)), 3, plan, outcomes)
    where = tmp_path_factory.mktemp("bench") / "table.html"
    where.write_text(pages.html(found), encoding="utf-8")
    return where


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360], ids=["desktop", "phone"])
def test_the_page_opens_by_itself(tab, page, width, dark):
    tab.open(page, width=width, dark=dark)
    assert [url for url in tab.requests if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert tab.messages == []
    assert "quickstart" in tab.value("document.title"), "nothing that failed was run"
    assert "default-src 'none'" in tab.value("document.querySelector('meta[http-equiv]').content")
    assert tab.value("document.querySelectorAll('svg[role=img]').length") > 5
    colour = tab.value("getComputedStyle(document.querySelector('td svg circle')).fill")
    assert colour == ("rgb(111, 177, 255)" if dark else "rgb(31, 98, 173)"), "the style sheet is let in"
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_without_the_policy_a_request_would_leave(tab, tmp_path, page):
    """A page into which an image came all the same asks for nothing; without the policy it would."""
    spoilt = page.read_text(encoding="utf-8").replace(
        "</body>", "<img src='http://127.0.0.1:9/x.png'></body>"
    )
    for name, text, blocked in (
        ("with", spoilt, True),
        ("without", spoilt.replace("default-src 'none'; ", "").replace("img-src data:", ""), False),
    ):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        tab.open(tmp_path / f"{name}.html")
        refused = any("Content Security Policy" in message for message in tab.messages)
        assert refused is blocked, (name, tab.messages)
