"""Over-optimisation: gold labels, the course of a run, and when the watch speaks."""

import json
import math

import numpy as np
import pytest

from loquent.bench.preferences import over_optimization
from loquent.bench.preferences.over_optimization import Point, Warned
from loquent.core.episode import TASK, Episode, Turn
from loquent.data.preferences import pairs
from loquent.errors import LoquentError
from loquent.files import evaluation_rows


def spoken(row, number, text):
    turns = (Turn(TASK, f"prompt {row}", to="agent"), Turn("agent", text), Turn(TASK, "", to="agent"))
    return Episode("generation-v1", row, "train", 0, number, turns, "end")


def test_gold_labels_are_read_as_pairs(tmp_path):
    episodes = [(spoken("a", 0, "x"), spoken("a", 1, "x y")), (spoken("b", 0, "z"), spoken("b", 1, "u"))]
    lines = over_optimization.preferences(episodes, gold=lambda text: len(text))
    assert [line["preferred"] for line in lines] == ["second", "tie"]
    file = tmp_path / "gold.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = pairs.read([file])
    assert [(one.prompt, one.chosen, one.rejected) for one in found.pairs] == [("prompt a", "x y", "x")]
    assert found.undecided == 1


def test_the_course_takes_kl_from_the_answers_of_the_same_policy(tmp_path):
    lines = [
        {"update": 0, "evaluation/return": 0.0, "evaluation/gold": 1.0},
        {
            "update": 1,
            "evaluation/return": 0.5,
            "evaluation/gold": 2.0,
            "kl/reference": 0.0,
            "rollout/tokens": 9,
        },
        {"update": 2, "kl/reference": 0.25, "rollout/tokens": 8.0},
        {
            "update": 3,
            "evaluation/return": 0.7,
            "evaluation/gold": 1.5,
            "kl/reference": 0.5,
            "rollout/tokens": 8,
        },
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert over_optimization.course(tmp_path, "gold") == [Point(0, 0.0, 0.0, 1.0), Point(1, 2.0, 0.5, 2.0)]


def hump(updates, turn, wiggle=0.01):
    """Gold rises to `turn` and falls as fast; proxy rises throughout."""
    return [
        Point(i, i / 2, i + wiggle * (-1) ** i, (turn - abs(turn - i)) / turn + wiggle * math.sin(7 * i))
        for i in range(updates)
    ]


def write(folder, points):
    """The values by row of a run with these means, with noise of 0.05 in each of 20 rows."""
    folder.mkdir()
    draw = np.random.default_rng(0)
    rows = [f"row {i}" for i in range(20)]
    for point in points:
        noise = 0.05 * draw.normal(size=20)
        values = {"return": point.proxy + noise, "gold": point.gold + noise - noise.mean()}
        evaluation_rows.append(folder, point.update, rows, {key: own.tolist() for key, own in values.items()})
    return folder


def test_the_watch_speaks_before_gold_has_lost_half_of_its_gain(tmp_path):
    points = hump(21, 10)
    found = over_optimization.first_warning(write(tmp_path / "run", points), "gold")
    assert 10 < found.update < 15
    assert found.lost == pytest.approx((max(p.gold for p in points) - points[found.update].gold), rel=0.05)
    assert over_optimization.first_warning(write(tmp_path / "rise", points[:11]), "gold") is None
    still = [Point(p.update, p.kl, 1.0, p.gold) for p in points[10:]]
    assert over_optimization.first_warning(write(tmp_path / "still", still), "gold") is None


def test_rows_without_a_gold_value_are_left_out(tmp_path):
    """As where an answer is empty; the others decide, if they are eight or more."""
    folder = write(tmp_path / "run", hump(21, 10))
    file = folder / "evaluation_rows.jsonl"

    def lose(count, gold="gold"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines[5]["values"]["gold"][:count] = [None] * count
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return over_optimization.first_warning(folder, gold)

    assert 10 < lose(2).update < 15
    assert 0 < lose(2).lost < 0.5
    for gold, lost in (("gold", 13), ("wish", 2)):
        with pytest.raises(LoquentError, match=f"fewer than 8 rows have a return and {gold} in training"):
            lose(lost, gold)


def test_gold_that_never_rose_has_lost_no_share_of_a_gain(tmp_path):
    points = [Point(i, i / 2, float(i), -i / 10) for i in range(5)]
    found = over_optimization.first_warning(write(tmp_path / "run", points), "gold")
    assert found.lost is None
    assert "Infinity" not in json.dumps(over_optimization.as_json(points, found))


def test_the_figure_shows_gold_proxy_and_warning():
    runs = {"beta 0": hump(41, 20), "beta <0.1>": hump(41, 60)}
    found = {"beta 0": Warned(25, 0.2), "beta <0.1>": None}
    text = over_optimization.figure(runs, found)
    assert text.count('<path class="line ') == 8, "two curves and two keys for each run"
    assert "the watch speaks, beta 0" in text
    assert "the watch speaks, beta &lt;" not in text
    assert '" text-anchor="end">the watch speaks, beta 0<' in text, (
        "a text in the right half ends at its line"
    )
    assert "gold, empty" in over_optimization.figure({"empty": []}, {}), "a run without an evaluation"
    assert over_optimization.as_json(runs["beta 0"], found["beta 0"])["warned"]["update"] == 25
