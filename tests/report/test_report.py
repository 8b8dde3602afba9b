"""The report: what it groups, what it says, and that nothing a model wrote can be more than text on it."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from helpers.report import report_folders as made
from loquent import load_run
from loquent.cli import main as cli
from loquent.core import episode
from loquent.errors import AnotherRun, BadCheckpoint, Damaged
from loquent.report import charts, write_report
from loquent.report.charts import ChartIds, Curve, Dot, Scale
from loquent.report.groups import Point, read, thin_curve
from loquent.report.page import html


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """PPO with two seeds, NLPO with one that is not at its end."""
    where = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        made.run(where / "ppo" / f"seed-{seed}", seed=seed)
    made.run(where / "nlpo", "reviews_nlpo", shift=0.2, finished=False)
    return where


def test_runs_that_differ_in_their_seed_alone_are_one_group(folder, tmp_path):
    groups = read([folder / "ppo", folder / "nlpo"])
    assert [(group.label, group.seeds) for group in groups] == [
        ("reviews_ppo", [0, 1]),
        ("reviews_nlpo", [0]),
    ]
    other = made.run(tmp_path / "other", overrides=["algorithm.clip=0.1"])
    groups = read([folder / "ppo" / "seed-0", folder / "ppo" / "seed-1", folder / "ppo", other])
    assert [(group.label, group.seeds) for group in groups] == [("ppo", [0, 1]), ("other", [0])], (
        "named by folder where names are equal; none twice"
    )


def test_runs_of_a_suite_are_one_group_though_each_starts_from_the_base_of_its_seed(tmp_path):
    def group(other="", moved=None):
        folder = tmp_path / f"suite{other}"
        for seed, base in ((0, "base"), (1, "base-1")):
            own = [f"algorithm.clip={other}"] if seed and other else []
            made.run(folder / base, "reviews_base", seed=seed, overrides=[])
            made.run(folder / f"middle-{seed}", seed=seed, overrides=[f"model.path={folder / base}", *own])
            made.run(folder / f"ppo-{seed}", seed=seed, overrides=[f"model.path={folder / f'middle-{seed}'}"])
        return [found.seeds for found in read([folder.rename(moved) if moved else folder])]

    assert group(moved=tmp_path / "moved") == [[0, 1], [0, 1], [0, 1]], "base, middle and PPO"
    assert group("0.3") == [[0, 1], [0], [1], [0], [1]], "what they start from differs in more than the seed"


def test_runs_that_start_from_each_other_are_read(tmp_path):
    for name, start in (("a", "b"), ("b", "a")):
        made.run(tmp_path / name, overrides=[f"model.path={tmp_path / start}"])
    assert [found.seeds for found in read([tmp_path])] == [[0], [0]]


def test_curves_are_means_with_one_deviation(folder):
    [group] = read([folder / "ppo"])
    first = group.curve("rollout/return")[0]
    low, high = made.line(1, 0, 0.0)["rollout/return"], made.line(1, 1, 0.0)["rollout/return"]
    assert first.n == 2
    assert first.mean == pytest.approx((low + high) / 2)
    # the deviation of two numbers with n - 1
    assert first.high - first.mean == pytest.approx((high - low) / 2**0.5)
    assert [point.update for point in group.curve("evaluation/return")] == [3, 6]
    assert group.curve("critic/explained_variance") == [], "null is no number"
    assert group.final("return") == (pytest.approx(0.55), pytest.approx(0.1 / 2**0.5), 2)
    [single] = read([folder / "ppo" / "seed-0"])
    assert single.final("return") == (0.5, 0.02, 1), "of one run: its standard error over episodes"
    assert single.final("nothing") is None


def test_a_long_run_is_thinned_by_means():
    points = [Point(update, float(update), float(update), float(update), 1) for update in range(1, 1001)]
    thin = thin_curve(points, 240)
    assert len(thin) == 200
    assert thin[0].mean == 3.0 == (1 + 2 + 3 + 4 + 5) / 5
    assert thin_curve(points, 1000) == points


def test_every_section_is_there_and_every_chart_says_what_it_shows(folder):
    page = html(read([folder / "ppo", folder / "nlpo"]))
    for name in (
        "Learning",
        "How episodes ended",
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
    data, code = re.findall(r"<script[^>]*>.*?</script>", page, re.DOTALL)
    assert data.startswith('<script type="application/json" id="chart-data">{"axes":')
    assert code.startswith("<script>/*!\nThe MIT License")
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    digest = base64.b64encode(hashlib.sha256(code[8:-9].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page, "no other script runs"
    assert not re.search("[\x00\x1b\u202e\ud800]", page)
    assert r"\x1b[31m" in page, "control characters are shown, not obeyed"
    assert "default-src &#x27;none&#x27;" not in page
    assert "default-src 'none'" in page


def test_names_of_rewards_and_recipes_are_text_too(tmp_path):
    said = made.run(tmp_path / "run")
    lines = [
        json.loads(line) | {"rollout/reward/<b>": 1.0}
        for line in (said / "metrics.jsonl").read_text().splitlines()
    ]
    (said / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    config = (said / "config.yaml").read_text().replace("name: reviews_ppo", "name: '<i>x</i>'")
    (said / "config.yaml").write_text(config)
    page = html(read([said]))
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;" in page


@pytest.mark.parametrize("updates", [0, 1])
def test_a_run_that_has_hardly_begun_has_its_page(tmp_path, updates):
    begun = made.run(tmp_path / "run", updates=updates, finished=False)
    with (begun / "metrics.jsonl").open("a") as file:
        file.write('{"update": 2, "roll')  # being written
    page = html(read([begun]))
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
        read([tmp_path])


def test_scales_have_round_ticks():
    # 0..1 over five steps: raw step 0.2, which is round
    assert list(Scale(0.0, 1.0, 0, 100).ticks()) == [
        (i * 0.2, label) for i, label in enumerate(["0", "0.2", "0.4", "0.6", "0.8", "1.0"])
    ]
    assert [label for _, label in Scale(3e6, 3e6 + 40, 0, 1).ticks()][:2] == ["3.00000e6", "3.00001e6"]
    assert [label for _, label in Scale(1, 3, 0, 100).ticks(whole=True)] == ["1", "2", "3"]
    assert [label for _, label in Scale(-20000.0, 20000.0, 0, 1).ticks()] == [
        "−20 000",
        "−10 000",
        "0",
        "10 000",
        "20 000",
    ]
    assert Scale(2.0, 4.0, 10, 30)(3.0) == 20


def test_a_flat_line_and_a_single_dot_have_room():
    flat = [Point(update, 0.1, 0.1, 0.1, 1) for update in (1, 2)]
    for svg in (
        charts.curves(ChartIds(), "flat", "", [Curve("a", 0, flat)]),
        charts.dots(ChartIds(), "one", "", [Dot("a", 0, 0.0, None, 1)]),
    ):
        assert "nan" not in svg
        assert "inf" not in svg
        ElementTree.fromstring(svg)


def test_one_seed_in_two_folders_is_two_groups(tmp_path):
    for place in ("one", "two"):
        for seed in (0, 1):
            made.run(tmp_path / place / f"seed-{seed}", seed=seed)
    groups = read([tmp_path / "one" / "seed-0", tmp_path / "two", tmp_path / "one"])
    assert [(group.label, group.seeds) for group in groups] == [("one", [0, 1]), ("two", [0, 1])]
    assert {run.folder.parent.name for run in groups[1].runs} == {"two"}, "and folders stay together"
    assert groups[0].curve("rollout/return")[0].n == 2


def test_labels_are_lengthened_until_they_differ(tmp_path):
    for clip in ("a", "b"):
        made.run(
            tmp_path / f"clip{clip}" / "run",
            overrides=[f"algorithm.clip=0.{ord(clip) - 90}"],
            said=f"said by {clip}",
        )
    made.run(tmp_path / "plain")
    groups = read([tmp_path / "clipa" / "run", tmp_path / "clipb" / "run", tmp_path / "plain"])
    assert [group.label for group in groups] == ["clipa/run", "clipb/run", "plain"]
    page = html(groups)
    for clip in "ab":
        assert page.count(f"said by {clip}</p>") >= 3, "neither vanishes from the samples"
        assert f"said by {clip} after 3" in page, "nor from those in training"
    made.run(tmp_path / "both" / "seed-0")
    made.run(tmp_path / "both" / "seed-1", seed=1, overrides=["algorithm.clip=0.4"])
    assert [group.label for group in read([tmp_path / "both"])] == ["seed-0", "seed-1"], (
        "one folder over two recipes names neither"
    )


def _samples(page):
    return page.partition('<section id="samples-on-the-same-rows">')[2].partition("</section><section id=")[0]


def _rewrite(folder, **changes):
    file = folder / "episodes.jsonl"
    episode.write(
        file,
        [
            replace(one, **{name: value.format(old=getattr(one, name)) for name, value in changes.items()})
            for one in episode.read(file)
        ],
    )


def test_prompts_that_differ_stand_over_their_own_answers(tmp_path):
    folders = [
        made.run(tmp_path / name, overrides=overrides)
        for name, overrides in (("one", []), ("two", ["algorithm.clip=0.1"]))
    ]
    page = _samples(html(read(folders)))
    assert page.count("row 1 begins") == 1, "one prompt is shown once"
    _rewrite(folders[1], instruction="Say it in Latin.")
    page = _samples(html(read(folders)))
    assert (page.count("row 1 begins"), page.count("Say it in Latin.")) == (2, 3)


def test_tasks_are_not_set_side_by_side_and_rows_that_are_not_shared_are_said(tmp_path):
    folders = [
        made.run(tmp_path / name, overrides=[f"algorithm.clip=0.{i}"])
        for i, name in enumerate(("one", "two", "three"), 1)
    ]
    _rewrite(folders[2], task="wordle-v1")
    page = _samples(html(read(folders)))
    assert "<h3>wordle-v1</h3>" in page
    assert page.count("row 1 begins") == 2, "one for each task"
    _rewrite(folders[1], row="other {old}")
    page = _samples(html(read(folders[:2])))
    assert "No row occurs in all of these runs" in page
    assert "one, two" in page


def test_a_line_ends_where_a_seed_does(tmp_path):
    for seed, updates in ((0, 6), (1, 6), (2, 3)):
        made.run(tmp_path / f"seed-{seed}", seed=seed, updates=updates)
    [group] = read([tmp_path])
    points = group.curve("rollout/return")
    assert [point.n for point in points] == [3, 3, 3, 2, 2, 2]
    svg = charts.curves(ChartIds(), "x", "", [Curve("a", 0, points)])
    paths = re.findall(r'<path class="line ([^"]*)" d="([^"]*)"', svg)
    assert [(kind, path.count("L")) for kind, path in paths] == [("c0 d0", 2), ("c0 d0 fewer", 2)], (
        "two lines that nothing joins"
    )
    assert svg.count('class="band') == 2
    assert "of 2 seeds from update 4 on" in svg
    assert "3 seeds, 2 where the line is dotted" in html([group])
    assert 'fewer"' not in charts.curves(ChartIds(), "x", "", [Curve("a", 0, points[:3])])
    assert [(point.n, point.update) for point in thin_curve(points, 2)] == [(3, 2.0), (2, 5.0)], (
        "no mean over both"
    )
    lone = charts.curves(
        ChartIds(),
        "x",
        "",
        [Curve("a", 0, [Point(float(i), 1.0, 1.0, 1.0, 1 + (i == 20)) for i in range(40)])],
    )
    assert lone.count("<circle") == 1, "a point between others of another n is seen"


def test_success_comes_first_with_its_standard_error(tmp_path):
    said = made.run(tmp_path / "run", success=0.35)
    [group] = read([said])
    point = group.curve("rollout/success")[0]
    assert (point.mean, point.low, point.high) == pytest.approx((0.35, 0.3, 0.4)), (
        "one run: one standard error to each side"
    )
    page = html([group])
    titles = re.findall(r'<h4 class="mono">(.*?)</h4>', page)
    assert titles[0] == "rollout/success"
    assert "success_error" not in "".join(titles)
    assert "success is one standard error, clustered by row" in page
    [row] = re.findall(r'<th scope="row">success ↑</th><td>(.*?)</td>', page.partition("All of them")[0])
    assert row == "0.35 ± 0.05"
    endings = page.partition('id="how-episodes-ended"')[2].partition("</section>")[0]
    assert "ended/left</th><td>0.35" in endings
    assert '<h4 class="mono">rollout/ended/left' in endings
    assert '<h4 class="mono">rollout/ended/cut' not in endings, "no episode was cut"


def test_a_band_of_a_share_ends_at_0_and_1(tmp_path):
    """Two seeds of .98 and .72: the mean .85 with a deviation of .184 reaches above 1."""
    for seed, share in ((0, 0.98), (1, 0.72)):
        made.run(tmp_path / f"seed-{seed}", seed=seed, success=share)
    groups = read([tmp_path])
    assert groups[0].curve("rollout/success")[0].high > 1
    [data] = re.findall(r'id="chart-data">(.*?)</script>', html(groups))
    charts_ = {chart["title"]: chart for chart in json.loads(data)["charts"]}
    assert charts_["rollout/success"]["ends"] == charts_["rollout/ended/left"]["ends"] == [0, 1]
    assert charts_["rollout/return"]["ends"] == [None, None]
    assert charts_["rollout/success"]["lines"][0]["spread"][0] == pytest.approx(0.184), "not the cut one"
    points = groups[0].curve("rollout/success")
    [free, held] = [
        charts.curves(ChartIds(), "x", "", [Curve("a", 0, points)], ends=ends)
        for ends in (charts.EVERYTHING, (0.0, 1.0))
    ]
    assert above_1(free) > 5, "in places of the chart"
    assert above_1(held) == pytest.approx(0, abs=0.11)
    assert Dot("a", 0, 0.99, 0.02, limits=(0.0, 1.0)).bar == (pytest.approx(0.97), 1.0)
    assert Dot("a", 0, 0.99, 0.02).bar[1] == pytest.approx(1.01)


def above_1(svg):
    """How far the band of a chart reaches above its tick of 1."""
    [path] = re.findall(r'<path class="band [^"]*" d="([^"]*)"', svg)
    [tick] = re.findall(r'y="([\d.]+)" text-anchor="end">1\.0+<', svg)
    return float(tick) - 4 - min(map(float, re.findall(r"[ML][\d.]+ ([\d.]+)", path)))


def test_each_key_has_one_chart_in_the_section_on_learning(tmp_path):
    folder = made.run(tmp_path / "run")
    lines = [
        json.loads(line) | {"evaluation/success": 0.3}
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    learning = html(read([folder])).partition('id="learning"')[2].partition("</section>")[0]
    assert learning.count('<h4 class="mono">evaluation/success</h4>') == 1


def test_an_ending_that_no_episode_of_a_seed_came_to_counts_0(tmp_path):
    made.run(tmp_path / "seed-0", seed=0, success=0.4)
    made.run(tmp_path / "seed-1", seed=1)
    [group] = read([tmp_path])
    assert group.curve("rollout/ended/left")[0].mean == pytest.approx(0.2)
    assert group.final("ended/left")[0] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "wrote",
    [{"device": "cpu", "loquent": "0.1.0"}, {"run_format": 0}, {"run_format": 2}, {"run_format": "1"}],
)
def test_a_run_of_another_version_is_refused_and_never_misread(wrote, tmp_path, capsys):
    folder = made.run(tmp_path / "run")
    (folder / "machine.json").write_text(json.dumps(wrote))
    for command in (["report", "--out", str(tmp_path / "page.html")], ["evaluate"], ["resume"]):
        assert cli.main([command[0], str(folder), *command[1:]]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"AnotherRun: {folder / 'machine.json'}: run_format is ")
        assert "another version wrote this run" in said
    with pytest.raises(AnotherRun):
        load_run(folder)


def test_an_evaluation_without_its_seal_is_refused(tmp_path):
    folder = made.run(tmp_path / "run")
    told = json.loads((folder / "evaluation.json").read_text())
    del told["seal"]
    (folder / "evaluation.json").write_text(json.dumps(told))
    with pytest.raises(Damaged, match=r"evaluation\.json has no seal"):
        _ = load_run(folder).evaluation
    [group] = read([folder])
    page = html([group])
    assert group.final("return") is None
    assert "evaluation.json has no seal" in page
