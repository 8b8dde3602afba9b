"""The report: what it groups, what it says, and that nothing a model wrote can be more than text on it."""

import json
import re
from xml.etree import ElementTree

import pytest
import report_folders as made

from loquent import cli
from loquent.errors import BadCheckpoint
from loquent.report import charts, runs, write_report
from loquent.report.charts import Curve, Dot, Numbers, Scale
from loquent.report.page import html
from loquent.report.runs import Point


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """PPO with two seeds, NLPO with one that is not at its end."""
    where = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        made.run(where / "ppo" / f"seed-{seed}", seed=seed)
    made.run(where / "nlpo", "reviews_nlpo", shift=0.2, finished=False)
    return where


def test_runs_that_differ_in_their_seed_alone_are_one_group(folder, tmp_path):
    groups = runs.read([folder / "ppo", folder / "nlpo"])
    assert [(group.label, group.seeds) for group in groups] == [("reviews_ppo", [0, 1]), ("reviews_nlpo", [0])]
    other = made.run(tmp_path / "other", overrides=["algorithm.clip=0.1"])
    groups = runs.read([folder / "ppo" / "seed-0", folder / "ppo" / "seed-1", folder / "ppo", other])
    assert [(group.label, group.seeds) for group in groups] == [("ppo", [0, 1]), ("other", [0])], "named by folder where names are equal; none twice"


def test_curves_are_means_with_one_deviation(folder):
    [group] = runs.read([folder / "ppo"])
    first = group.curve("rollout/return")[0]
    low, high = made.line(1, 0, 0.0)["rollout/return"], made.line(1, 1, 0.0)["rollout/return"]
    assert first.n == 2
    assert first.mean == pytest.approx((low + high) / 2)
    assert first.high - first.mean == pytest.approx((high - low) / 2**0.5)  # the deviation of two numbers with n - 1
    assert [point.update for point in group.curve("evaluation/return")] == [3, 6]
    assert group.curve("critic/explained_variance") == [], "null is no number"
    assert group.final("return") == (pytest.approx(0.55), pytest.approx(0.1 / 2**0.5), 2)
    [single] = runs.read([folder / "ppo" / "seed-0"])
    assert single.final("return") == (0.5, 0.02, 1), "of one run: its standard error over episodes"
    assert single.final("nothing") is None


def test_a_long_run_is_thinned_by_means():
    points = [Point(update, float(update), float(update), float(update), 1) for update in range(1, 1001)]
    thin = runs.thinned(points, 240)
    assert len(thin) == 200
    assert thin[0].mean == 3.0 == (1 + 2 + 3 + 4 + 5) / 5
    assert runs.thinned(points, 1000) == points


def test_every_section_is_there_and_every_chart_says_what_it_shows(folder):
    page = html(runs.read([folder / "ppo", folder / "nlpo"]))
    for name in (
        "Learning",
        "Divergence",
        "Rewards, raw and weighted",
        "Drift",
        "Samples on the same rows",
        "Samples in training",
        "Settings",
        "Time",
    ):
        assert f">{name}" in page, name
    drawn = re.findall(r"<svg viewBox.*?</svg>", page, re.DOTALL)
    charts_ = [svg for svg in drawn if 'role="img"' in svg]
    assert len(charts_) > 12
    for svg in charts_:
        root = ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
        title, desc = root[0], root[1]
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert title.text
        assert re.search(r"\d", desc.text)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "nats per token" in page, "axes carry the units of the table"
    assert "different bigrams of all collected answers" in page, "and its meanings"
    assert "not at its end" in page
    assert "algorithm.top_p" in page, "what differs between the recipes"


def test_what_a_model_wrote_is_text(tmp_path):
    said = made.run(tmp_path / "run", said=made.HOSTILE)
    page = write_report([said], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert not re.search("[\x00\x1b\u202e\ud800]", page)
    assert r"\x1b[31m" in page, "control characters are shown, not obeyed"
    assert "default-src &#x27;none&#x27;" not in page
    assert "default-src 'none'" in page


def test_names_of_rewards_and_recipes_are_text_too(tmp_path):
    said = made.run(tmp_path / "run")
    lines = [json.loads(line) | {"rollout/reward/<b>": 1.0} for line in (said / "metrics.jsonl").read_text().splitlines()]
    (said / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    config = (said / "config.yaml").read_text().replace("name: reviews_ppo", "name: '<i>x</i>'")
    (said / "config.yaml").write_text(config)
    page = html(runs.read([said]))
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;" in page


@pytest.mark.parametrize("updates", [0, 1])
def test_a_run_that_has_hardly_begun_has_its_page(tmp_path, updates):
    begun = made.run(tmp_path / "run", updates=updates, finished=False)
    with (begun / "metrics.jsonl").open("a") as file:
        file.write('{"update": 2, "roll')  # being written
    page = html(runs.read([begun]))
    assert "not at its end" in page
    assert ('class="mark' in page) == (updates == 1)


def test_the_command_writes_the_page(folder, tmp_path, capsys):
    out = tmp_path / "deep" / "both.html"
    assert cli.main(["report", str(folder / "ppo"), str(folder / "nlpo"), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["bytes"] == out.stat().st_size
    assert not list(out.parent.glob(".*")), "written aside and renamed"
    assert cli.main(["report", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
    assert "nowhere is no run" in capsys.readouterr().err
    with pytest.raises(BadCheckpoint):
        runs.read([tmp_path])


def test_scales_have_round_ticks():
    # 0..1 over five steps: raw step 0.2, which is round
    assert list(Scale(0.0, 1.0, 0, 100).ticks()) == [(i * 0.2, label) for i, label in enumerate(["0", "0.2", "0.4", "0.6", "0.8", "1.0"])]
    assert [label for _, label in Scale(1, 3, 0, 100).ticks(whole=True)] == ["1", "2", "3"]
    assert [label for _, label in Scale(-20000.0, 20000.0, 0, 1).ticks()] == ["−20 000", "−10 000", "0", "10 000", "20 000"]
    assert Scale(2.0, 4.0, 10, 30)(3.0) == 20


def test_a_flat_line_and_a_single_dot_have_room():
    flat = [Point(update, 0.1, 0.1, 0.1, 1) for update in (1, 2)]
    for svg in (charts.curves(Numbers(), "flat", "", [Curve("a", 0, flat)]), charts.dots(Numbers(), "one", "", [Dot("a", 0, 0.0, None, 1)])):
        assert "nan" not in svg
        assert "inf" not in svg
        ElementTree.fromstring(svg)
