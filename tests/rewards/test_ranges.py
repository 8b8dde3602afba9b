"""The ranges of rewards and of the return, and what of the metrics is rewarded."""

import math
from types import SimpleNamespace

import pytest

from loquent.core import registry
from loquent.core.metric import EVERYTHING, SHARES, Context, range_of, traits
from loquent.core.registry import names
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.metrics.captions.concepts import ConceptCoverage
from loquent.metrics.diversity.repetition import RepetitionRate
from loquent.metrics.diversity.watch import Watch
from loquent.metrics.function import FunctionMetric, metric
from loquent.metrics.making import declared_range, declared_trait, make
from loquent.metrics.sentiment.sentiment import Sentiment
from loquent.rewards import compose
from loquent.rewards.counting import Counting
from loquent.rewards.quantities import quantity, rewarded_keys
from loquent.rewards.terms import Term
from loquent.training.metrics import Renamed

TASK = TaskSpec(
    id="t", rewards=Record(guess=1.0), return_range=(-6.0, 0.0), ranges=Record({"reward/vote": (-1.0, 1.0)})
)


def own_length(answer):
    return len(answer)


def unread_annotation(context: "Unknown") -> "Unknown":  # noqa: F821
    """A factory whose annotations name what its module imports for type checkers alone."""


def sentiment():
    return Sentiment("sentiment", lambda texts: [0.5] * len(texts))


def term(name, metric, key="", **counts):
    return Term(name, metric, key, Counting(**counts))


def builtin(name, **options):
    return compose.build({name: options}, Context())[0][0].metric


@pytest.mark.parametrize(
    ("terms", "weights", "ends"),
    [
        ([term("a", sentiment())], {"a": 1.0}, (0.0, 1.0)),
        ([term("a", sentiment()), term("b", builtin("repetition"))], {"a": 2.0, "b": 1.0}, (-math.inf, 2.0)),
        ([term("a", builtin("lexicon")), term("b", sentiment())], {"a": 0.2, "b": -1.0}, (-1.2, 0.2)),
        ([term("a", builtin("length", high=3), clip=(-2.0, 1.0))], {"a": 0.5}, (-1.0, 0.0)),
        ([term("a", builtin("repetition"))], {"a": -1.0}, (0.0, math.inf)),
        ([term("a", sentiment(), potential=True)], {"a": 1.0}, EVERYTHING),
        ([term("a", Watch(), "watch/words")], {"a": 1.0}, (0.0, math.inf)),
        ([term("a", Watch(), "watch/same")], {"a": 1.0}, (0.0, 1.0)),
        ([term("a", builtin("repetition"))], {"a": 0.0}, (0.0, 0.0)),
        ([], {"guess": 1.0}, (-6.0, 0.0)),
        ([], {"guess": 2.0}, EVERYTHING),
        ([], {"vote": -3.0}, (-3.0, 3.0)),
        ([term("a", sentiment())], {"guess": 1.0, "a": 1.0}, EVERYTHING),
    ],
)
def test_the_range_of_the_return(terms, weights, ends):
    assert compose.ranges(terms, Record(weights), TASK)["return"] == pytest.approx(ends)


def test_an_absent_reward_counts_as_zero_in_the_range():
    high = SimpleNamespace(name="a", version=1, higher_is_better=True, range=(2.0, 3.0))
    found = compose.ranges([term("a", high)], Record(a=1.0), TASK)
    assert (found["reward/a"], found["reward_where_present/a"]) == ((0.0, 3.0), (2.0, 3.0))


@pytest.mark.parametrize(
    ("key", "ends"),
    [
        ("success/kind=tower", SHARES), ("scored/squad", SHARES), ("meteor-exact-stem", SHARES),
        ("parent", SHARES),
        ("watch/distinct_2", SHARES), ("watch/words", (0.0, math.inf)), ("cider", (0.0, math.inf)),
        ("bert_score", EVERYTHING), ("return", EVERYTHING), ("judges", EVERYTHING), ("bleu_totto", SHARES),
        ("sacrebleu", SHARES), ("chrf", SHARES), ("ter", (0.0, math.inf)), ("perplexity", (1.0, math.inf)),
        ("perplexity-strided", (1.0, math.inf)), ("diversity/distinct-1", SHARES),
        ("diversity/msttr-100-nopunct", SHARES), ("diversity/mean_length", EVERYTHING),
        ("diversity/distinctive", EVERYTHING), ("ranking/branching", SHARES),
    ],
)  # fmt: skip
def test_the_range_that_a_class_declares(key, ends):
    assert declared_range(key) == ends


def test_each_registered_metric_declares_a_range():
    ends = {
        name: (declared_trait(name, "range", EVERYTHING), declared_trait(name, "ranges", {}))
        for name in names("metric")
    }
    assert {name for name, (whole, own) in ends.items() if whole == EVERYTHING and not own} == {
        "bert_score", "bleurt", "preference_model",  # the numbers of a network
        "llm_judge",  # the scale is an option
    }  # fmt: skip


@pytest.mark.parametrize(
    "thing", [own_length, metric(name="mine", range=(0.0, 9.0))(own_length), unread_annotation]
)
def test_a_registered_function_declares_what_it_can(monkeypatch, thing):
    monkeypatch.setitem(registry._names["metric"], "mine", "made:up")
    monkeypatch.setattr(registry, "import_name", lambda dotted: thing)
    ends = (0.0, 9.0) if isinstance(thing, FunctionMetric) else EVERYTHING
    assert declared_range("mine") == ends


def test_the_reward_of_ter_has_its_own_range():
    found = builtin("ter")
    assert (range_of(found, "ter"), found.higher_is_better) == ((-math.inf, 1.0), True)
    assert make("ter", Context(), {}).higher_is_better is False


def test_the_ranges_of_single_keys():
    diversity = make("diversity", Context(), {})
    assert range_of(diversity, "diversity/distinct-2") == SHARES
    assert range_of(diversity, "diversity/mean_length") == EVERYTHING


def test_a_metric_says_which_fields_it_needs():
    assert {name: needs for name in names("metric") if (needs := declared_trait(name, "needs", ()))} == {
        "parent": ("table",)
    }


def test_a_metric_under_another_name_keeps_its_traits():
    own = traits(Renamed("mine", Watch()))
    assert own.ranges == {"mine/watch/words": (0.0, math.inf)}
    assert own.corpus_only == ("mine/watch/distinct_2", "mine/watch/same")
    assert own.directions["mine/watch/same"] is False
    assert set(own.penalties) == {"mine/watch/repetition", "mine/watch/copied"}
    episodes = SimpleNamespace(name="m", version=1, higher_is_better=True, reads="episode", together=True)
    assert (traits(Renamed("x", episodes)).reads, traits(Renamed("x", episodes)).together) == (
        "episode",
        True,
    )


def built(name, options):
    """A metric of a recipe; one that needs a network or labels is not built."""
    own = dict(options)
    of = own.pop("of", name)
    classes = {"watch": Watch, "repetition_rate": RepetitionRate, "concept_coverage": ConceptCoverage}
    if of in classes:
        metric = classes[of](**{key: value for key, value in own.items() if key in ("n", "source", "field")})
    else:
        metric = SimpleNamespace(name=of, version=1, keys=(f"{of}/positive",) if of == "sentiment" else (of,))
        metric.higher_is_better = True
    return metric if of == name else Renamed(name, metric)


def inside(rewards, metrics):
    terms = []
    for name, settings in rewards.items():
        options = dict(settings) if isinstance(settings, dict) else {}
        own = {key: options[key] for key in ("n", "source", "field") if key in options}
        of = options.get("of", name)
        terms.append(term(name, built(of, {"of": of, **own}), options.get("key", "")))
    return rewarded_keys(rewards, terms, metrics, [built(name, own) for name, own in metrics.items()])


@pytest.mark.parametrize(
    ("rewards", "metrics", "key"),
    [
        ({"x": {"of": "repetition", "weight": 1.0, "n": 3}}, {"watch": {}}, "watch/repetition"),
        ({"repetition": 1.0}, {"repetition_rate": {}}, "repetition_rate"),
        ({"repetition_rate": {"weight": -1.0, "n": 3}}, {"watch": {}}, "watch/repetition"),
        ({"copying": 1.0}, {"mine": {"of": "watch"}}, "mine/watch/copied"),
        ({"x": {"of": "watch", "key": "watch/copied"}}, {"watch": {}}, "watch/copied"),
        ({"missing_concepts": 1.0}, {"concept_coverage": {"source": "row"}}, "concept_coverage"),
        ({"sentiment": {"include_prompt": True, "clip": [0, 1]}}, {"sentiment": {}}, "sentiment/positive"),
        ({"sentiment": 1.0}, {"again": {"of": "sentiment"}}, "again/sentiment/positive"),
        ({"bert_score": {"path": "m", "device": "cpu"}}, {"bert_score": {"path": "m"}}, "bert_score"),
        ({"x": {"of": "watch", "key": "watch/same"}}, {"a-b": {"of": "watch"}}, "a-b/watch/same"),
    ],
)  # fmt: skip
def test_a_score_is_rewarded_under_any_name_and_with_defaults_written_out(rewards, metrics, key):
    assert inside(rewards, metrics) == [key]
    assert inside({"lexicon": 1.0}, metrics) == [], "beside another reward it is a witness"


@pytest.mark.parametrize(
    ("rewards", "metrics"),
    [
        ({"repetition": {"n": 2}}, {"watch": {}}),
        ({"missing_concepts": {"concepts": ["dog"]}}, {"concept_coverage": {}}),
        ({"missing_concepts": 1.0}, {"concept_coverage": {"source": "prompt"}}),
        ({"sentiment": {"include_prompt": False}}, {"sentiment": {}}),
        ({"judge": {"label": 2}}, {"judge": {}}),
    ],
)
def test_another_quantity_is_outside(rewards, metrics):
    assert inside(rewards, metrics) == []


def test_an_own_function_is_one_quantity_in_all_its_forms(tmp_path, monkeypatch):
    (tmp_path / "own_quantity.py").write_text("def f(samples):\n    return [1.0] * len(samples)\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = SimpleNamespace(name="f", version=1, higher_is_better=True)
    as_metric = quantity("metric", "own_quantity:f", {}, "f", own)
    for settings in (1.0, {"of": "own_quantity:f"}, {"of": "callable", "function": "own_quantity:f"}):
        name = "own_quantity:f" if settings == 1.0 else "x"
        assert as_metric.part_of(quantity("reward", name, settings, "", own))
