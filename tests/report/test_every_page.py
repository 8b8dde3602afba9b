"""Every kind of HTML page opened in Chromium: it loads nothing and runs nothing of what a model wrote, its
charts have colours, a phone and the dark scheme show it, and it names no folder of the machine.
"""

import dataclasses
import re
import sys
from pathlib import Path

import pytest

from helpers.report import report_folders as made
from loquent.bench import jobs, results
from loquent.bench import pages as suite_page
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.preferences import over_optimization
from loquent.bench.preferences import page as reward_page
from loquent.bench.search import page as search_page
from loquent.bench.search.journal import Journal, Plan, Proposal, Result
from loquent.bench.search.results import Results as SearchResults
from loquent.bench.search.samplers import propose
from loquent.bench.search.space import restore
from loquent.bench.study import page as study_page
from loquent.bench.study.summary import study
from loquent.core.seeding import Key
from loquent.data.preferences.judgements import Judgements, Preference, Rating
from loquent.files.run_folder import Tuning
from loquent.report import plot, write_report
from loquent.report.groups import Point
from loquent.statistics.resampling import Resampling
from loquent.training import recipes

KINDS = ("run", "runs", "plot", "suite", "study", "reward model", "search")
SHAPES = "svg[role=img] :is(path, circle, line, polyline, rect)"
STYLES = f"""[...document.querySelectorAll('{SHAPES}')].map(shape => {{
    const style = getComputedStyle(shape);
    return [shape.tagName === 'line' ? 'none' : style.fill, style.stroke];  // a line has no inside
}})"""
CANVAS = """(async most => {
    const found = [];
    for (const place of [...document.querySelectorAll('.plot')].slice(0, most)) {
        for (let fold = place.closest('details'); fold; fold = fold.parentElement.closest('details'))
            fold.open = true;
        place.scrollIntoView({ behavior: 'instant', block: 'center' });
        for (let i = 0; i < 100 && !place.querySelector('canvas'); i++)
            await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        const canvas = place.querySelector('canvas'), colours = {};
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let ink = 0;
        for (let i = 0; i < pixels.length; i += 4)
            if (pixels[i + 3] > 200) {
                ink++;
                colours[`rgb(${pixels[i]}, ${pixels[i + 1]}, ${pixels[i + 2]})`] = true;
            }
        const width = place.querySelector('.u-over').clientWidth;
        found.push({ ink, width, label: place.ariaLabel, colours: Object.keys(colours) });
    }
    return found;
})"""
TEXTS = """(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const page = dark ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
    const behind = node => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (!/rgba\\(.*, 0\\)/.test(colour)) return colour;
        }
        return page;
    };
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || node.closest('script, title, desc, option, button')) continue;
        const style = getComputedStyle(node);
        found.add([node.closest('svg') ? style.fill : style.color, behind(node)].join(' on '));
    }
    return [...found];
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The file of each kind of page, by the kind."""
    where = tmp_path_factory.mktemp("pages")
    for seed in (0, 1):
        made.run(where / "ppo" / f"seed-{seed}", seed=seed, updates=12, success=0.9 + seed / 10)
    made.run(where / "nlpo", "reviews_nlpo", updates=12, shift=0.2, said=made.HOSTILE + "a" * 3000)
    files = {kind: where / f"{kind}.html" for kind in KINDS}
    write_report([where / "nlpo"], files["run"])
    write_report([where / "ppo", where / "nlpo"], files["runs"])
    plot([where / "ppo"], ["rollout/success", "rollout/return"]).save(files["plot"])
    files["suite"].write_text(suite_page.html(suite_results()), encoding="utf-8")
    files["study"].write_text(study_page.html(judged(), 0.95), encoding="utf-8")
    files["search"].write_text(search_page.html(search_results(where)), encoding="utf-8")
    files["reward model"].write_text(reward_page.html(NOTE), encoding="utf-8")
    return files


def suite_results():
    """The results of a suite with curves and charts of means, with numbers of our own."""
    suite = suites.load("grue")
    plan = jobs.plan(
        suite, Path("out"), "smoke", 1, {}, only=[name for name in suite.cells if "imdb" in name]
    )
    suite = suites.only(suite, [name for name in suite.cells if "imdb" in name])
    values = {column.metric: 0.25 + i / 100 for i, column in enumerate(suite.columns.values())}
    outcomes = {
        job.key: Outcome(
            job.key,
            {
                "values": {key: value + number / 100 for key, value in values.items()},
                "errors": dict.fromkeys(values, 0.5),
                "n": 9,
                "rows": 9,
                "task": "generation-v1",
                "decoding": "greedy" if number % 2 else "sampled, temperature 1",
            },
        )
        for number, job in enumerate(plan.jobs)
    }
    hostile = made.HOSTILE.replace("\ud800", "")  # half of a pair, which no file can hold
    outcomes[plan.jobs[-1].key] = Outcome(plan.jobs[-1].key, failure=hostile)
    found = results.collect(suite, "smoke", 1, plan, outcomes)
    points = tuple(Point(float(i), 0.9 + i / 100, 0.6, 1.2 + i / 100, 2) for i in range(1, 6))
    curves = {drawing.title: dict.fromkeys(drawing.cells, points) for drawing in suite.figures}
    return dataclasses.replace(found, curves=curves, ends=dict.fromkeys(curves, (0.0, 1.0)))


def judged():
    """A study with ratings and preferences."""
    ratings = tuple(
        Rating(f"r{i}", rater, system, "coherence", float(1 + (i + len(system) + len(rater)) % 5))
        for i in range(6)
        for rater in ("ann", "robert")
        for system in ("ppo", "nlpo")
    )
    preferences = tuple(
        Preference(f"r{i}", "ann", "ppo", "nlpo", "preference", "first" if i % 3 else "second")
        for i in range(12)
    )
    return study(Judgements(ratings, preferences), Resampling(resamples=100))


def search_results(folder):
    """A search of numbers and choices over two rungs, of which a trial failed with a hostile text."""
    recipe = recipes.load("reviews_ppo")
    texts = ("algorithm.learning_rate=log:1e-5:1e-3", "algorithm.epochs=1:4", "model.critic=network,head")
    plan = Plan(
        recipe=recipe.fingerprint, space=texts, whole=("algorithm.epochs",), metric="return", higher=True,
        trials=6, sampler="random", sampler_version="", seed=0, seeds=2, rungs=(10, 30), keep=0.5,
    )  # fmt: skip
    space, lines = restore(texts, plan.whole), Journal(folder)
    for trial in range(6):
        told = [(point, None) for point in lines.proposals.values()]
        lines.add(Proposal(trial, propose("random", space, Key(0), told, True)))
    for trial in range(5):
        lines.add(Result(trial, 0, trial / 8, (trial / 8, trial / 8)))
    lines.add(Result(5, 0, None, why=made.HOSTILE.replace("\ud800", "")))
    for trial in (2, 3, 4):
        lines.add(Result(trial, 1, trial / 4, (trial / 4, trial / 4), seconds=3.5))
    tuning = Tuning(trials=6, updates=240, episodes=9, seconds=10.5, metric="return", split="validation")
    return SearchResults(folder, plan, recipe, space, lines, tuning)


BOUNDS = {"low": 0.7, "high": 0.9}
NOTE = {
    "objective": "bradley_terry",
    "pairs": {"judgements": 10, "training": 6, "held_out": 3, "undecided": 1, "left_out": 0},
    "training_accuracy": 0.9,
    "history": [{"epoch": i, "loss": 0.7 / i, "held_out_loss": 0.8 / i} for i in (1, 2, 3)],
    "quality": {
        "accuracy": 0.8, "accuracy_bounds": BOUNDS, "roc_auc": 0.85, "roc_auc_bounds": BOUNDS, "pairs": 3,
        "calibration_error": 0.1, "loss": 0.5, "prompts": 3,
        "reliability": [
            {"low": 0.5 + i / 4, "high": 0.75 + i / 4, "n": 2, "mean": 0.6 + i / 4, "share": 0.5 + i / 3}
            for i in (0, 1)
        ],
    },
}  # fmt: skip


def channels(colour):
    return [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]


def contrast(one, two):
    """The contrast of two colours (WCAG 2.2)."""

    def luminance(colour):
        parts = [part / 255 for part in channels(colour)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dim = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def is_colourful(colour):
    return colour.startswith("rgb") and max(channels(colour)) - min(channels(colour)) > 60


def problems(tab, page, *, width, dark, charts=1):
    """What is wrong with an open page, in words; of its charts that a reader can explore so many are seen."""
    tab.open(page, width=width, dark=dark)
    found = [
        f"asks for {url}" for url in tab.requests if url != page.resolve().as_uri() and url[:5] != "data:"
    ]
    styles, drawn = tab.value(STYLES), tab.value(f"{CANVAS}({charts})")
    found += [
        f"chart {i} is not drawn: {one}"
        for i, one in enumerate(drawn)
        if one["ink"] < 100 or one["width"] < 200 or not one["label"]
    ]
    colours = {colour for pair in styles for colour in pair} | {c for one in drawn for c in one["colours"]}
    found += ["a shape is black"] * any("rgb(0, 0, 0)" in pair for pair in styles)
    found += ["nothing has a colour"] * (not any(map(is_colourful, colours)))
    texts = [text.split(" on ") for text in tab.value(TEXTS)]
    found += [f"{text} on {paper} is hard to read" for text, paper in texts if contrast(text, paper) < 4.5]
    papers = {paper for _, paper in texts}
    lines = {
        colour for pair in styles for colour in pair if is_colourful(colour) and not colour.startswith("rgba")
    }
    found += [
        f"a line of {line} cannot be seen on {paper}"
        for line in lines
        for paper in papers
        if contrast(line, paper) < 2.5
    ]
    wide = tab.value("document.documentElement.scrollWidth")
    found += [f"it is {wide} wide"] * (wide > width)
    found += ["what a model wrote was run"] * ("owned" in tab.value("document.title"))
    return found + [f"the console says {message}" for message in tab.messages]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_its_charts_everywhere_and_loads_nothing(tab, pages, kind, request):
    views = [(1280, False, 99), (375, True, 1), (1280, True, 1), (375, False, 1), (375, True, 99)]
    for width, dark, charts in views if request.config.getoption("--slow") else views[:2]:
        assert problems(tab, pages[kind], width=width, dark=dark, charts=charts) == [], (width, dark)
    assert (tab.value("document.querySelectorAll('.plot').length") > 12) == (kind in ("run", "runs"))
    assert tab.value("document.title").startswith(("Loquent: ", "GRUE"))
    policy = tab.value("document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'; "), kind


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_names_a_folder_of_the_machine(pages, kind):
    text = pages[kind].read_text(encoding="utf-8")
    for folder in (pages[kind].parent, Path(suite_page.__file__).parents[2], Path.home(), Path(sys.prefix)):
        assert str(folder) not in text


def test_what_is_wrong_with_a_page_is_seen(tab, tmp_path):
    """Without the style sheet curves are black blocks, as on pages of suites once."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<title>owned</title><body><svg role=img width=900 height=50><path d='M0 0L40 40L80 0'/></svg>"
        "<p style='color: #bbb'>dim</p><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('woe'); missing()</script>"
    )
    found = problems(tab, bad, width=375, dark=False)
    assert found[:3] == ["asks for http://127.0.0.1:9/x.png", "a shape is black", "nothing has a colour"]
    assert any("rgb(187, 187, 187) on rgb(255, 255, 255) is hard to read" in text for text in found)
    assert any(text.startswith("it is 9") for text in found)
    assert "what a model wrote was run" in found
    assert len([text for text in found if text.startswith("the console says")]) >= 3


def test_without_its_policy_a_page_would_ask_for_an_image(tab, pages, tmp_path):
    """A page into which an image came all the same asks for nothing."""
    spoilt = (
        pages["suite"]
        .read_text(encoding="utf-8")
        .replace("</body>", "<img src='http://127.0.0.1:9/x.png'></body>")
    )
    open_door = spoilt.replace("default-src 'none'; ", "").replace("img-src data:; ", "")
    for text, blocked in ((spoilt, True), (open_door, False)):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        tab.open(tmp_path / "page.html")
        refused = any("Content Security Policy" in message for message in tab.messages)
        assert refused is blocked, tab.messages


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_without_scripts_the_charts_are_static(tab, pages, tmp_path, width):
    static = tmp_path / "static.html"
    static.write_text(re.sub("<script>.*?</script>", "", pages["runs"].read_text(), flags=re.DOTALL))
    tab.open(static, width=width)
    assert tab.value("document.querySelector('.controls').hidden")
    charts = "[...document.querySelectorAll('section .plot svg[role=img]')]"
    assert tab.value(f"{charts}.length") > 12
    assert tab.value(f"{charts}.every(svg => svg.getBoundingClientRect().width > 200)")
    size = "(drawn => drawn.getBoundingClientRect().width)"
    assert tab.value(
        f"{charts}.every(svg => [...svg.querySelectorAll('.line, .mark')].some(drawn => {size}(drawn) > 4))"
    )
    assert tab.value("document.querySelectorAll('.band').length") > 3, "bands over seeds"
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value(
        f"{charts}.every(svg => parseFloat(getComputedStyle(svg.querySelector('.tick')).fontSize) * "
        "svg.clientWidth / 480 >= 9)"
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_eight_colours_can_be_told_from_the_paper(tab, pages, dark):
    tab.open(pages["plot"], dark=dark)
    paper = tab.value("getComputedStyle(document.querySelector('figure')).backgroundColor")
    assert (max(channels(paper)) < 60) == dark
    colours = tab.value(
        """[...Array(8).keys()].map(i => {
            const probe = document.createElement('i');
            probe.className = `dot c${i}`;
            document.body.append(probe);
            return getComputedStyle(probe).backgroundColor;
        })"""
    )
    assert [colour for colour in colours if contrast(colour, paper) < 3] == []
    assert len(set(colours)) == 8
    assert contrast("rgb(255, 255, 255)", "rgb(200, 200, 200)") < 3, "it can fail"


def test_the_figure_of_over_optimisation_opens_by_itself(tab, tmp_path):
    points = [over_optimization.Point(i, i / 2, i / 10, 0.5 - i / 20) for i in range(1, 6)]
    figure = tmp_path / "figure.svg"
    figure.write_text(over_optimization.figure({"run": points}, {}), encoding="utf-8")
    tab.open(figure)
    assert tab.requests == [figure.resolve().as_uri()]
    assert tab.messages == []
    strokes = tab.value("[...document.querySelectorAll('.line')].map(line => getComputedStyle(line).stroke)")
    assert len(strokes) == 4
    assert all(map(is_colourful, strokes))
