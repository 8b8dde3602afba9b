"""A report explored in headless Chromium: values at the cursor, zoom, smoothing, other axes, folds."""

import json
import math
import random

import pytest

from helpers.report import report_folders as made
from loquent.report import plot, write_report
from loquent.report.charts import Curve
from loquent.report.groups import Point
from loquent.report.interactive import Chart, Charts

READY = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
RETURN = "[...document.querySelectorAll('figure')].find(f => f.querySelector('h4').textContent === '{}')"
KEY = "rollout/return"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A run of 40 updates, and one of 20 with twice the episodes in each."""
    where = tmp_path_factory.mktemp("runs")
    long = made.run(where / "long", updates=40)
    short = made.run(where / "short", "reviews_nlpo", updates=20, shift=0.2)
    lines = [json.loads(line) for line in (short / "metrics.jsonl").read_text().splitlines()]
    text = "".join(json.dumps(line | {"episodes": 2 * line["episodes"]}) + "\n" for line in lines)
    (short / "metrics.jsonl").write_text(text)
    return [long, short]


@pytest.fixture
def tab(started, folders, tmp_path):
    """The report of both runs, at its chart of the return."""
    started.open(write_report(folders, tmp_path / "report.html"))
    started.value(f"{RETURN.format(KEY)}.scrollIntoView({{ behavior: 'instant', block: 'center' }})")
    settle(started)
    yield started
    assert started.messages == []
    assert len(started.requests) == 1, "only the page itself"


def settle(tab):
    for _ in range(4):
        tab.value(READY)


def box(tab):
    """The area of the chart of the return: left, top, width, height."""
    place = f"{RETURN.format(KEY)}.querySelector('.u-over')"
    return tab.value(f"(r => [r.x, r.y, r.width, r.height])({place}.getBoundingClientRect())")


def mouse(tab, kind, share, **more):
    """Move the mouse over a share of the chart's width, at half of its height."""
    left, top, width, height = box(tab)
    tab.ask(
        "Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + height / 2,
        button=more.get("button", "none"), buttons=more.get("buttons", 0), clickCount=more.get("clicks", 0),
    )  # fmt: skip
    settle(tab)


def drag(tab, start, end):
    mouse(tab, "mouseMoved", start)
    mouse(tab, "mousePressed", start, button="left", buttons=1, clicks=1)
    for share in ((start + end) / 2, end):
        mouse(tab, "mouseMoved", share, button="left", buttons=1)
    mouse(tab, "mouseReleased", end, button="left", clicks=1)


def values(tab):
    """The text at the cursor, a line per curve."""
    return tab.value(
        f"[...{RETURN.format(KEY)}.querySelectorAll('.values > div')].map(row => "
        "[...row.children].map(part => part.textContent).filter(Boolean).join(' '))"
    )


def choose(tab, name, value):
    event = "change" if name == "axis" else "input"
    tab.value(
        f"(() => {{ const e = document.forms[0].elements['{name}']; e.value = '{value}'; "
        f"e.dispatchEvent(new Event('{event}')) }})()"
    )
    settle(tab)


def shown(value):
    return f"{value:.4g}".rstrip("0").rstrip(".").replace("-", "−")


def returned(update, shift=0.0):
    return float(f"{made.line(update, 0, shift)[KEY]:.5g}")


def test_hovering_shows_the_values_of_every_run(tab):
    mouse(tab, "mouseMoved", (10 - 1) / (40 - 1))
    assert values(tab) == [
        "update 10",
        f"reviews_ppo {shown(returned(10))}",
        f"reviews_nlpo {shown(returned(10, 0.2))}",
    ]
    mouse(tab, "mouseMoved", 0.998)
    assert values(tab)[0] == "update 40"
    assert values(tab)[2].endswith("at update 20"), "the last value of a shorter run, with its place"


TICKS = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.written.push(text);
    return write.call(this, text, ...rest);
};
"""


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("value", "at_10", "ticks"),
    [
        (lambda update: 1000 + 0.01 * update, "1000.1", ["1000.1", "1000.2"]),
        (lambda update: 123457 + 1000 * (update - 10), "123457", ["120000", "130000"]),
        (lambda update: 123457, "123457", ["125000"]),
        (lambda update: 3000000 + update, "3000010", ["3.00001e6"]),
        (lambda update: 1e-5 * update, "0.0001", ["0.0001", "0.0002"]),
    ],
)
def test_values_of_a_small_range_are_told_apart(started, tmp_path, value, at_10, ticks):
    folder = made.run(tmp_path / "run", updates=40)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    text = "".join(json.dumps(line | {KEY: value(line["update"])}) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    script = started.ask("Page.addScriptToEvaluateOnNewDocument", source=TICKS)["identifier"]
    started.open(plot([folder], [KEY]).save(tmp_path / "plot.html"))
    started.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    settle(started)
    mouse(started, "mouseMoved", (10 - 1) / (40 - 1))
    assert values(started) == ["update 10", f"reviews_ppo {at_10}"]
    written = started.value("window.written")
    assert set(ticks) <= set(written)


def test_stored_means_keep_the_range_of_their_curve():
    curve = Curve("", 0, [Point(update, 1000 + 0.01 * update, 0, 0, 1) for update in range(1, 41)])
    charts = Charts()
    charts.figures([Chart("return", "", [curve])])
    stored = charts.data()["charts"][0]["lines"][0]["mean"]
    assert stored == [round(1000 + 0.01 * update, 6) for update in range(1, 41)]


def test_dragging_zooms_all_charts_and_the_button_shows_all_again(tab):
    disabled = "document.forms[0].elements.whole.disabled"
    assert tab.value(disabled)
    drag(tab, 9 / 39, 19 / 39)
    assert not tab.value(disabled)
    mouse(tab, "mouseMoved", 0.02)
    assert values(tab)[0] == "update 10"
    mouse(tab, "mouseMoved", 0.98)
    assert values(tab)[0] == "update 20"
    other = RETURN.format("evaluation/return")
    tab.value(f"{other}.scrollIntoView({{ behavior: 'instant', block: 'center' }})")
    settle(tab)
    tab.value("document.forms[0].elements.whole.click()")
    tab.value(f"{RETURN.format(KEY)}.scrollIntoView({{ behavior: 'instant', block: 'center' }})")
    settle(tab)
    assert tab.value(disabled)
    mouse(tab, "mouseMoved", 0.998)
    assert values(tab)[0] == "update 40"


def test_a_double_click_shows_all_again(tab):
    drag(tab, 0.2, 0.5)
    mouse(tab, "mousePressed", 0.5, button="left", buttons=1, clicks=1)
    mouse(tab, "mouseReleased", 0.5, button="left", clicks=1)
    mouse(tab, "mousePressed", 0.5, button="left", buttons=1, clicks=2)
    mouse(tab, "mouseReleased", 0.5, button="left", clicks=2)
    mouse(tab, "mouseMoved", 0.998)
    assert values(tab)[0] == "update 40"
    assert tab.value("document.forms[0].elements.whole.disabled")


def test_smoothing_is_a_moving_average_without_the_bias_of_its_start(tab):
    choose(tab, "smoothing", "0.8")
    mouse(tab, "mouseMoved", (5 - 1) / (40 - 1))
    weights = [0.8 ** (5 - update) for update in range(1, 6)]
    mean = sum(w * returned(u) for w, u in zip(weights, range(1, 6), strict=True)) / sum(weights)
    assert values(tab)[1] == f"reviews_ppo {shown(returned(5))}, smoothed {shown(mean)}"
    choose(tab, "smoothing", "0")
    mouse(tab, "mouseMoved", (5 - 1) / (40 - 1))
    assert values(tab)[1] == f"reviews_ppo {shown(returned(5))}"


def test_runs_of_different_length_compare_by_episodes_and_by_tokens(tab):
    options = "[...document.forms[0].elements.axis.options].map(option => option.value)"
    assert tab.value(options) == ["update", "episodes", "tokens"]
    choose(tab, "axis", "episodes")  # update u of the long run has 8u episodes, of the short one 16u
    mouse(tab, "mouseMoved", (160 - 8) / (320 - 8))
    assert values(tab) == [
        "episodes 160, update 20",
        f"reviews_ppo {shown(returned(20))}",
        f"reviews_nlpo {shown(returned(10, 0.2))} at update 10",
    ]
    choose(tab, "axis", "tokens")  # 8 (10 + u) more with each update u
    tokens = {update: sum(8 * (10 + u) for u in range(1, update + 1)) for update in (1, 20, 40)}
    mouse(tab, "mouseMoved", (tokens[20] - tokens[1]) / (tokens[40] - tokens[1]))
    assert values(tab)[0] == f"tokens {tokens[20]}, update 20"


def test_a_section_folds(tab):
    height = "document.querySelector('#learning').getBoundingClientRect().height"
    before = tab.value(height)
    tab.value("document.querySelector('#learning summary').click()")
    settle(tab)
    assert tab.value(height) < 120 < before


@pytest.mark.parametrize("updates", [0, 1])
def test_a_run_that_has_hardly_begun_is_drawn(started, tmp_path, updates):
    folder = made.run(tmp_path / "run", updates=updates, finished=False)
    started.open(write_report([folder], tmp_path / "report.html"), height=3000)
    settle(started)
    assert started.messages == []
    assert (started.value("document.querySelectorAll('canvas').length") > 0) == (updates == 1)


def test_the_page_of_a_plot_is_explored_alike(started, folders, tmp_path):
    started.open(plot(folders, [KEY]).save(tmp_path / "plot.html"))
    settle(started)
    mouse(started, "mouseMoved", (10 - 1) / (40 - 1))
    assert values(started)[:2] == ["update 10", f"reviews_ppo {shown(returned(10))}"]
    assert started.messages == []
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html>{plot(folders, [KEY])._repr_html_()}")
    started.open(notebook)
    assert started.messages == [], "the frame of a notebook runs it too"


def test_the_report_of_four_long_runs_is_small(tmp_path):
    generator, folders = random.Random(0), []
    for i, name in enumerate(("reviews_ppo", "reviews_nlpo", "reviews_a2c", "reviews_grpo")):
        folders.append(made.run(tmp_path / name, name, updates=400, said="word " * 400))
        lines = [json.loads(line) for line in (folders[i] / "metrics.jsonl").read_text().splitlines()]
        noise = [{f"rollout/reward/r{k}": generator.gauss(0, 1) for k in range(80)} for _ in lines]
        text = "".join(json.dumps(line | more) + "\n" for line, more in zip(lines, noise, strict=True))
        (folders[i] / "metrics.jsonl").write_text(text)
    page = write_report(folders, tmp_path / "report.html")
    assert page.stat().st_size < 1.5e6
    assert math.isclose(page.read_text().count('class="plot"'), 95, abs_tol=10)
