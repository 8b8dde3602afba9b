"""Metrics made of functions: of texts and of whole episodes, as metrics and as rewards."""

import sys

import pytest

from loquent.core.episode import Episode, Turn
from loquent.core.metric import Context, Samples, traits
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics import scoring
from loquent.metrics.function import metric
from loquent.metrics.making import make
from loquent.rewards import compose
from loquent.rewards.cache import Cached

CODE = """
from loquent.metrics.function import metric

@metric(higher_is_better=None)
def words(samples):
    return [float(len(text.split())) if text else None for text in samples.predictions]

@metric(name="answers", reads="episode")
def turns(samples):
    return [float(len(episode.answers())) for episode in samples.episodes]

def plain(samples):
    return [1.0] * len(samples)

def factory(context, scale=1.0):
    return words

def one(context):
    return 3
"""
ROWS = {"r": Row("r")}


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_functions.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "own_functions", raising=False)
    return "own_functions"


def episode(*answers):
    turns = [turn for text in answers for turn in (Turn("task", "p", to="agent"), Turn("agent", text))]
    return Episode("t", "r", "train", 0, 0, tuple(turns), "end")


def test_a_decorated_function_is_a_metric(module):
    words = make(f"{module}:words", Context(), {})
    assert words(Samples(["a b c", "", "d"])).corpus == {"words": 2.0}
    assert (words.name, words.keys, words.higher_is_better) == ("words", ("words",), None)
    assert make(f"{module}:factory", Context(), {"scale": 2.0}) is words
    with pytest.raises(BadSetting, match="own_functions:words is a function, which takes no option scale"):
        make(f"{module}:words", Context(), {"scale": 2})
    for name in ("plain", "one"):
        with pytest.raises(BadSetting, match="no metric"):
            make(f"{module}:{name}", Context(), {})


def test_it_is_a_reward_and_may_read_the_whole_episode(module):
    settings = {name: {"of": f"{module}:{name}", "weight": 2.0} for name in ("words", "turns", "plain")}
    terms, weights = compose.build(settings, Context())
    [scored] = compose.apply(terms, [episode("one", "two words")], ROWS)
    assert scored.turns[-1].rewards == Record(words=2.0, turns=2.0, plain=1.0)
    assert scored.total(weights) == 10.0
    assert traits(terms[1].metric).reads == "episode"
    assert not isinstance(terms[1].metric, Cached)
    with pytest.raises(BadSetting, match="cannot score parts of an answer: it reads whole episodes"):
        compose.build({"turns": {"of": f"{module}:turns", "place": "token"}}, Context())


def test_texts_alone_have_no_episodes(module):
    with pytest.raises(BadSetting, match="turns reads whole episodes, and these are texts"):
        scoring.score({"turns": make(f"{module}:turns", Context(), {})}, Samples(["a"], rows=[Row("r")]))


def test_samples_are_taken_and_immutable():
    samples = Samples(["a", "b"], [["x"], []], ["p", "q"], [Row("1"), Row("2")])
    assert samples.take([1, 1, 0]) == Samples(
        ["b", "b", "a"], [[], [], ["x"]], ["q", "q", "p"], [Row("2"), Row("2"), Row("1")]
    )
    assert samples.references == (("x",), ())
    assert Samples(["a"]).take([]) == Samples([])
    length = metric(name="length")(lambda samples: [float(len(text)) for text in samples.predictions])
    assert length(samples).samples == {"length": [1.0, 1.0]}
