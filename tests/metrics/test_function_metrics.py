"""Metrics made of functions: of texts and of whole episodes, as metrics and as rewards."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from loquent.core import registry
from loquent.core.episode import Episode, Turn
from loquent.core.metric import EVERYTHING, Context, Samples, range_of, traits
from loquent.core.task import Row, TaskSpec
from loquent.core.values import Record
from loquent.data.outcomes import columns
from loquent.errors import BadSetting, BrokenMetric
from loquent.metrics import scoring
from loquent.metrics.function import FunctionMetric, metric
from loquent.metrics.making import make
from loquent.rewards import Counting, Learner, Term, TokenTerm, compose
from loquent.rewards.cache import Cached
from loquent.rewards.counting import is_reward
from loquent.rewards.quantities import rewarded_keys
from loquent.training.evaluate import scores
from loquent.training.metrics import build_metrics

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

NUMBER = 3

def batch(texts):
    return [2.0] * len(texts)

def factory(context, scale=1.0):
    return words

def one(context):
    return 3
"""
BY_NAME = """
from loquent.metrics.function import metric

def polite(answer):
    return "please" in answer

def copied(answer, references, prompt, row):
    assert row["references"] == references
    return None if not answer else (answer in references) - 0.5 * (answer in prompt)

@metric(range=(0.0, 1.0))
def short(turn, episode):
    assert turn in episode.turns
    return 1 / len(turn.text.split()) if turn.text else None

@metric(range=(-2.0, 1.0), higher_is_better=False)
def rule(episode, least=2):
    count = len(episode.answers())
    return {"many": min(count - least, 1), "few": -2.0 if count < 2 else None}

def both(turn):
    return {"words": len(turn.text.split()), "asked": float("?" in turn.text)}

def wrong(answer, number):
    return 0.0

def by_place(answer, /):
    return 0.0

def keyword(answer, *, k):
    return 0.0

def many(*, answer, prompt="", **others):
    return 0.0

def of_trl(completions, prompts=None, **columns):
    return [0.0 for _ in completions]


def batch_of(samples, k):
    return [0.0] * len(samples)

def batch_by_name(*, samples):
    return [0.0] * len(samples)

def odd(answer):
    if answer == "large":
        return {"a": 1e308, "b": 1e308}
    return {"nan": float("nan"), "text": "no", "raw": {"raw": 1.0}, "slash": {"a/b": 1.0}}.get(answer)

def boom(answer):
    return 1 / len(answer)
"""
ROWS = {"r": Row("r", Record(references=("b", "c")))}


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_functions.py").write_text(CODE)
    (tmp_path / "by_name.py").write_text(BY_NAME)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("own_functions", "by_name"):
        monkeypatch.delitem(sys.modules, name, raising=False)
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
    for name in ("NUMBER", "one", "batch"):
        with pytest.raises(BadSetting, match="no metric"):
            make(f"{module}:{name}", Context(), {})
    plain = make(f"{module}:plain", Context(), {})
    assert (plain.name, plain.higher_is_better, plain(Samples(["a"])).corpus) == (
        "plain",
        True,
        {"plain": 1.0},
    )


def test_it_is_a_reward_and_may_read_the_whole_episode(module):
    settings = {
        name: {"of": f"{module}:{name}", "weight": 2.0} for name in ("words", "turns", "plain", "batch")
    }
    terms, weights = compose.build(settings, Context())
    [scored] = compose.apply(terms, [episode("one", "two words")], ROWS)
    assert scored.turns[-1].rewards == Record(words=2.0, turns=2.0, plain=1.0, batch=2.0)
    assert scored.total(weights) == 14.0
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


def scored(settings, *episodes):
    terms, weights = compose.build(settings, Context())
    return compose.apply(terms, episodes, ROWS), weights


def evaluated(name, *episodes, as_name=""):
    of = Record(of=f"by_name:{name}") if as_name else Record()
    metrics = build_metrics(Record({as_name or f"by_name:{name}": of}), Context())
    return scores(metrics, episodes, ROWS)


def test_a_function_reads_what_its_parameters_name(module):
    settings = {"by_name:polite": 2.0, "by_name:copied": 1.0, "x": {"of": "by_name:polite", "weight": -1.0}}
    [first, second, silent], weights = scored(settings, episode("b"), episode("go", "p please"), episode(""))
    assert first.rewards == Record({"by_name:polite": 0.0, "by_name:copied": 1.0, "x": 0.0})
    assert second.rewards == Record({"by_name:polite": 1.0, "by_name:copied": 0.0, "x": 1.0})
    assert second.total(weights) == 1.0
    assert "by_name:copied" not in silent.rewards, "None adds no reward"
    assert evaluated("copied", episode("p"), episode("b"), episode("")).samples == {
        "copied": [-0.5, 1.0, None]
    }
    texts = Samples(["please"], rows=[Row("r")])
    assert scoring.score({"polite": make("by_name:polite", Context(), {})}, texts).corpus == {"polite": 1.0}


def test_a_score_of_a_turn_is_the_reward_of_that_turn(module):
    settings = {"short": {"of": "by_name:short", "weight": 0.5, "clip": [0.0, 0.4]}, "by_name:both": 1.0}
    played = episode("a b c d", "", "one")
    [found], weights = scored(settings, played)
    answers = [turn.rewards for turn in found.answers()]
    assert answers == [
        Record({"short": 0.25, "short/raw": 0.25, "by_name:both": 4.0, "by_name:both/words": 4.0,
            "by_name:both/asked": 0.0}),
        Record({"by_name:both": 0.0, "by_name:both/words": 0.0, "by_name:both/asked": 0.0}),
        Record({"short": 0.4, "short/raw": 1.0, "by_name:both": 1.0, "by_name:both/words": 1.0,
            "by_name:both/asked": 0.0}),
    ]  # fmt: skip
    assert found.total(weights) == 0.5 * 0.65 + 5.0
    assert compose.apply(compose.build(settings, Context())[0], [found], ROWS) == [found]
    measured = evaluated("short", played, episode("", ""), episode("x"))
    assert measured.samples == {"short": [1.25, None, 1.0]}, "the sum over the answers, as in the return"
    assert measured.corpus == {"short": 1.125, "scored/short": 2 / 3}
    assert range_of(make("by_name:short", Context(), {}), "short") == (0.0, math.inf)


def test_named_parts_add_up_and_stand_beside_the_score(module):
    [two, one], weights = scored(
        {"rule": {"of": "by_name:rule", "weight": 3.0}}, episode("a", "b"), episode("a")
    )
    assert two.turns[-1].rewards == Record({"rule": 0.0, "rule/many": 0.0})
    assert one.turns[-1].rewards == Record({"rule": -3.0, "rule/many": -1.0, "rule/few": -2.0})
    assert one.total(weights) == -9.0, "parts have no weight"
    values = columns([two, one], TaskSpec(id="t"), weights)
    assert (values["return"], values["reward/rule/many"], values["reward/rule/few"]) == (
        [0.0, -9.0], [0.0, -1.0], [0.0, -2.0],
    )  # fmt: skip
    assert {name for name in one.rewards if is_reward(name, one.rewards)} == {"rule"}
    [part], _ = scored({"few": {"of": "by_name:rule", "key": "rule/few"}}, episode("a"))
    assert part.rewards == Record(few=-2.0)


@pytest.mark.parametrize("names", [("rule/many", "rule"), ("rule", "rule/many")])
def test_no_term_has_the_name_of_a_part_of_another(module, names):
    with pytest.raises(BadSetting, match=r"rewards.rule/many: .*NAME/PART for a part of it, as 'rule/many'"):
        compose.build({name: {"of": "by_name:rule"} for name in names}, Context())


def test_no_part_of_a_term_has_the_name_of_a_reward_of_the_task(module):
    task = SimpleNamespace(spec=TaskSpec(id="t", rewards=Record({"rule/few": 1.0})), identity="t-v1")
    with pytest.raises(BadSetting, match=r"rewards.rule: .* as 'rule/few' would be"):
        compose.build({"rule": {"of": "by_name:rule"}, "rule/few": 1.0}, Context(task=task))


@pytest.mark.parametrize("as_turn", [False, True])
def test_a_new_score_leaves_nothing_of_the_earlier_one(as_turn):
    def rule(parts):
        own = (lambda turn: parts) if as_turn else (lambda answer: parts)
        return Term("a", FunctionMetric(own, "a"))

    first, second = rule({"b": 1.0, "c": 2.0}), rule({"z": 5.0})
    beside = TokenTerm("ab", lambda episode, turn: [])
    played = episode("x")
    played = replace(played, turns=(*played.turns[:-1], Turn("agent", "x", rewards=Record({"a-b": 1.0}))))
    once = compose.apply([first, beside], [played], ROWS)
    assert once[0].rewards == Record({"a-b": 1.0, "a": 3.0, "a/b": 1.0, "a/c": 2.0})
    assert compose.apply([second], once, ROWS) == compose.apply([second], [played], ROWS)
    tokens = compose.apply([TokenTerm("a", lambda episode, turn: [])], once, ROWS)
    assert tokens[0].rewards == Record({"a-b": 1.0}), "whatever term has the name now"


def test_a_potential_has_the_parts_of_its_raw_score(module):
    both = Term(
        "a", FunctionMetric(lambda answer: {"b": 1.0, "c": len(answer)}, "a"), "", Counting(potential=True)
    )
    [found] = compose.apply([both], [episode("xyz")], ROWS, Learner([both]))
    assert found.rewards == Record({"a/b": 1.0, "a/c": 3.0, "a/raw": 4.0, "a": -1.0})


def test_a_metric_of_an_episode_has_its_parts_under_its_name(module):
    for name, prefix in (("", ""), ("mine", "mine/")):
        found = evaluated("rule", episode("a", "b"), episode("a"), as_name=name)
        assert found.corpus[f"{prefix}rule"] == -1.5
        assert found.samples[f"{prefix}rule/few"] == [None, -2.0]
    own = make("by_name:rule", Context(), {})
    assert (own.higher_is_better, traits(own).reads) == (False, "episode")
    assert (range_of(own, "rule"), range_of(own, "rule/few")) == ((-2.0, 1.0), EVERYTHING)
    terms, _ = compose.build({"by_name:rule": 1.0}, Context())
    settings, values = {"by_name:rule": {}}, ["return", "rule", "rule/few", "ruler"]
    assert rewarded_keys({"by_name:rule": 1.0}, terms, settings, [own], values) == ["rule", "rule/few"]


@pytest.mark.parametrize("answer", ["nan", "text", "raw", "slash", "large"])
def test_a_wrong_score_names_the_function_the_row_and_the_value(module, answer):
    says = rf"odd, on row 'r', whose answer is '{answer}': it returned .*; it must return a finite number"
    for run in (
        lambda: scored({"by_name:odd": 1.0}, episode(answer)),
        lambda: evaluated("odd", episode(answer)),
    ):
        with pytest.raises(BrokenMetric, match=says):
            run()


def test_an_error_in_a_function_has_its_place_and_its_row(module):
    for run in (lambda: scored({"by_name:boom": 1.0}, episode("")), lambda: evaluated("boom", episode(""))):
        with pytest.raises(
            BrokenMetric, match=r"by_name.py:\d+: boom, on row 'r'.*: it raised ZeroDivisionError"
        ):
            run()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"of": "by_name:wrong"},
            "the function wrong takes 'number', which no sample has; a function of one",
        ),
        (
            {"of": "by_name:by_place"},
            "the function by_place cannot be called with answer by name: .*'answer'",
        ),
        ({"of": "by_name:keyword"}, "the function keyword cannot be called with answer by name: .*'k'"),
        ({"of": "by_name:of_trl"}, "takes 'completions', as a reward of TRL does; here a function of one"),
        ({"of": "by_name:batch_of"}, "the function batch_of cannot be called with samples alone: .*'k'"),
        ({"of": "by_name:batch_by_name"}, "the function batch_by_name cannot be called with samples alone: "),
        ({"of": "by_name:short", "place": "token"}, "cannot score parts of an answer: it scores each answer"),
        ({"of": "by_name:short", "potential": True}, "it scores each answer of an episode"),
        ({"of": "by_name:short", "normalization": "batch"}, "leave out normalization"),
        ({"of": "by_name:rule", "place": "sentence"}, "it reads whole episodes"),
    ],
)
def test_what_a_function_cannot_do_as_a_reward_is_said(module, options, says):
    with pytest.raises(BadSetting, match=says):
        compose.build({"x": options}, Context())


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"range": (1, 0)}, r"range = \(1, 0\); it must be two numbers, the least score first"),
        ({"range": (0.0, math.nan)}, r"range = \(0.0, nan\)"),
        ({"range": (0.0,)}, r"range = \(0.0,\)"),
        ({"range": ("0", "1")}, r"range = \('0', '1'\)"),
        ({"range": 1.0}, "range = 1.0"),
        ({"reads": "foo"}, "reads = 'foo'; it must be one of answer, turn, episode"),
        ({"higher_is_better": "yes"}, "higher_is_better = 'yes'; it must be one of True, False, None"),
    ],
)
@pytest.mark.parametrize("function", [lambda turn: 1.0, lambda samples: [1.0] * len(samples)])
def test_a_wrong_setting_of_a_metric_is_refused_where_it_is_made(settings, says, function):
    with pytest.raises(BadSetting, match=f"the metric own: {says}"):
        metric(name="own", **settings)(function)


def test_a_function_may_take_what_it_reads_by_name_alone(module):
    assert evaluated("many", episode("x")).corpus == {"many": 0.0}
    assert metric(name="own", range=[0, 1])(lambda answer: 1).ranges == {"own": (0, 1)}


def test_texts_alone_have_no_turns(module):
    with pytest.raises(BadSetting, match="short reads turns, and these are texts"):
        scoring.score({"short": make("by_name:short", Context(), {})}, Samples(["a"], rows=[Row("r")]))


@pytest.mark.parametrize("name", ["polite", "rule"])
def test_a_function_is_registered_as_it_is(module, name, monkeypatch):
    for kind in ("metric", "reward"):
        monkeypatch.setitem(registry._names[kind], f"own_{name}", f"by_name:{name}")
    [found], _ = scored({f"own_{name}": 1.0}, episode("please"))
    assert found.rewards[f"own_{name}"] == {"polite": 1.0, "rule": -3.0}[name]
    assert make(f"own_{name}", Context(), {}).name == name
