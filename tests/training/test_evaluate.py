"""Evaluation: metrics of one kind beside each other, and what may be watched."""

import sys
from collections import namedtuple

import numpy as np
import pytest

from helpers.tracers.echo import Echo
from loquent.agents.baselines import Random
from loquent.core import registry
from loquent.core.metric import Context, Measured
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.tasks.tagging.task import Tagging
from loquent.training import evaluate
from loquent.training.evaluate import evaluate_agent, measure
from loquent.training.metrics import build_metrics, higher_is_better, owners

Dictionary = namedtuple("Dictionary", "name higher_is_better")  # a metric that does not tell its keys


class Keyless:
    """Gives `same/value`, whatever it is called, and does not say so beforehand."""

    version, higher_is_better = 1, True

    def __init__(self, name):
        self.name = name

    def __call__(self, samples):
        return Measured(corpus={"same/value": 1.0})


def measured(metrics):
    task = Echo()
    queue = games(task.rows("train")[:3])
    return measure(
        metrics,
        play(task, queue, registry.find("agent", "expert")(task), seed=0),
        {game.row.id: game.row for game in queue},
    )


def test_two_metrics_of_one_kind_have_keys_of_their_own():
    settings = Record(
        one=Record(of="diversity", window=1), two=Record(of="diversity", window=2), diversity=Record(window=1)
    )
    metrics = build_metrics(settings, Context())
    values = measured(metrics)
    assert (
        values["one/diversity/distinct-1"]
        == values["two/diversity/distinct-1"]
        == values["diversity/distinct-1"]
    )
    assert {key for key in values if "msttr" in key and "nopunct" not in key} == {
        "one/diversity/msttr-1",
        "two/diversity/msttr-2",
        "diversity/msttr-1",
    }
    assert values.keys() <= {key for metric in metrics for key in metric.keys}
    assert [metric.name for metric in metrics] == ["one", "two", "diversity"]


def test_the_scores_of_a_task_have_pseudo_values_by_row():
    """Of 6 episodes on 4 rows the first two rows are played twice, and leave together."""
    task = Tagging(Tagging.Options(limit=4))
    rows = task.rows("train")
    found = evaluate_agent(task, Random(task), split="train", episodes=6, by_row=True)
    pairs = list(zip([*rows, *rows[:2]], found.episodes, strict=True))
    without = [
        task.measure([(own, one.turns[-1].observation) for own, one in pairs if own.id != row.id])
        for row in rows
    ]
    for left_out, rest in enumerate(without):
        for name in ("token_f1", "span_f1", "exact"):
            column = found.by_row[f"score/{name}"]
            mean = sum(scores[name] for scores in without) / 4
            value = found.values[f"score/{name}"] + 3 * (mean - rest[name])
            assert column[left_out] == pytest.approx(value)
            assert column[4:] == column[:2]
    assert len(set(found.by_row["score/token_f1"])) > 1


def test_an_error_of_ones_own_in_leaving_out_is_one_remark(monkeypatch, tmp_path):
    (tmp_path / "half.py").write_text(
        "from loquent import Measured\n"
        "class Half:\n"
        "    name, version, higher_is_better = 'half:Half', 1, True\n"
        "    def __call__(self, samples):\n"
        "        return Measured({}, {'half': 1.0}, leave_out=lambda numbers: {'half': 1 / 0})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    metric = __import__("half").Half()
    with pytest.warns(Remark, match=r"half:Half: no values by row .*half\.py:5: ZeroDivisionError") as shown:
        found = evaluate_agent(Echo(), Random(Echo()), episodes=3, metrics=[metric], by_row=True)
    assert (len(shown), found.values["half"]) == (1, 1.0)
    assert "half" not in found.by_row
    assert "return" in found.by_row, "what else is kept by row"


class Balanced(Echo):
    """Measures with a division that one row alone keeps from zero, and with a score that is fine."""

    def measure(self, pairs):
        first = sum(row.id == self.rows("train")[0].id for row, _ in pairs)
        return {"balanced": 1 / first, "share": first / len(pairs)}


def test_a_task_that_cannot_measure_without_a_row_has_no_values_by_row(monkeypatch):
    task = Balanced()

    def played():
        return evaluate_agent(task, Random(task), split="train", episodes=3, by_row=True)

    with pytest.warns(Remark, match=r"task echo.*ZeroDivisionError") as shown:
        found = played()
    assert (len(shown), found.values["score/balanced"]) == (1, 1.0)
    assert not any(key.startswith("score/") for key in found.by_row)
    monkeypatch.setattr(Balanced, "measure", lambda self, pairs: {"n": np.float32(len(pairs))})
    assert played().by_row["score/n"] == [3.0] * 3
    monkeypatch.setattr(evaluate, "MOST_ROWS", 2)
    assert "score/n" not in played().by_row


def test_one_key_twice_is_refused(monkeypatch):
    with pytest.raises(BadSetting, match="same/value"):
        measured([Keyless("a"), Keyless("b")])
    of = Record({"diversity": Record(of="lexicon"), "diversity/lexicon": Record(of="lexicon")})
    assert [metric.keys for metric in build_metrics(of, Context())] == [
        ("diversity/lexicon/balance",),
        ("diversity/lexicon/lexicon/balance",),
    ]
    made = type("Made", (Keyless,), {"keys": ("same/value",)})
    find = registry.find
    monkeypatch.setattr(
        registry,
        "find",
        lambda kind, name: (lambda context: made(name)) if name in "ab" else find(kind, name),
    )
    with pytest.raises(BadSetting, match="same/value"):
        build_metrics(Record(a=Record(), b=Record()), Context())


def test_a_metric_may_be_ones_own(tmp_path, monkeypatch):
    lines = [
        "class Made:",
        "    name, version, higher_is_better, keys = 'made', 1, True, ('made',)",
        "    def __init__(self, context, n):",
        "        self.n = n",
        "    def __call__(self, samples):",
        "        pass",
        "",
    ]
    (tmp_path / "own_metric_of_a_test.py").write_text("\n".join(lines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    [metric] = build_metrics(Record(mine=Record(of="own_metric_of_a_test:Made", n=3)), Context())
    assert metric.keys == ("mine/made",)
    assert metric.metric.n == 3


def test_each_value_has_the_owner_whose_keys_say_so():
    settings = Record(meteor=Record(), mine=Record(of="watch"), own=Record(of="lexicon"))
    keys = ["return", "reward/meteor", "meteor-exact-stem", "mine/watch/same", "own/lexicon/balance"]
    metrics = [
        Dictionary("meteor-exact-stem", True),
        *build_metrics(Record(list(settings.items())[1:]), Context()),
    ]
    assert owners(settings, metrics, keys) == {
        "meteor-exact-stem": "meteor",
        "mine/watch/same": "mine",
        "own/lexicon/balance": "own",
    }


METRICS = build_metrics(
    Record(diversity=Record(), lexicon=Record(), mine=Record(of="perplexity")), Context(model=object())
)
METRICS += [Dictionary("up", True), Dictionary("down", False)]


@pytest.mark.parametrize(
    ("key", "up"),
    [
        ("return", True),
        ("reward/good", True),
        ("reward/bad", False),
        ("lexicon/balance", True),
        ("mine/perplexity", False),
        ("up", True),
        ("down/deep", False),
    ],
)
def test_what_may_be_watched_has_a_direction(key, up):
    assert higher_is_better(key, METRICS, Record(good=0.5, bad=-2.0)) is up


@pytest.mark.parametrize(
    "key",
    [
        "diversity/distinct-1",
        "diversity/mean_length",
        "answers",
        "reward/none",
        "reward/other",
        "perplexity",
        "downwards",
    ],
)
def test_what_says_neither_up_nor_down_is_not_watched(key):
    with pytest.raises(BadSetting, match=r"neither.*reward/NAME"):
        higher_is_better(key, METRICS, Record(good=0.5, none=0.0))
