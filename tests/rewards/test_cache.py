"""Kept scores: that they are used, that they are never another sample's, and that what follows the policy is
never kept.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core import registry
from loquent.core.episode import Episode, Turn
from loquent.core.metric import Context, Measured, Samples
from loquent.core.options import takes
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadReward
from loquent.metrics.diversity.watch import WatchOptions
from loquent.rewards import apply, build
from loquent.rewards.cache import Cache, Cached, Watched, clear


class Score:
    """A metric that sees all it is given, and notes its calls."""

    name, version, higher_is_better, keys = "score", 1, None, ("score", "score/length")

    def __init__(self, factor=1):
        self.calls, self.factor = [], factor

    def __call__(self, samples):
        self.calls.append(list(samples.predictions))
        whole = [
            float(
                self.factor * len(repr((p, tuple(r), q, row.id, row.fields)))
                + sum(map(ord, p + "".join(r) + q + row.id))
            )
            for p, r, q, row in zip(
                samples.predictions, samples.references, samples.prompts, samples.rows, strict=True
            )
        ]
        return Measured(
            {"score": whole, "score/length": [float(len(p)) if p else None for p in samples.predictions]}
        )


def cached(metric, most=100, identity="m"):
    return Cached(metric, identity, Cache(most), Watched.of(Context()))


TEXTS = st.sampled_from(["", "a", "b", "ab", "é"])
SAMPLES = st.lists(
    st.tuples(
        TEXTS,
        st.lists(TEXTS, max_size=2),
        TEXTS,
        st.builds(lambda id, n: Row(id, Record(n=n)), TEXTS, st.integers(0, 1)),
    ),
    max_size=8,
)


def columns(samples):
    return Samples(*zip(*samples, strict=True)) if samples else Samples([])


@given(st.lists(SAMPLES, max_size=5), st.integers(1, 6))
def test_a_kept_score_is_the_sample_s_own(batches, most):
    kept = cached(Score(), most)
    for samples in batches:
        found = kept(columns(samples))
        right = Score()(columns(samples))
        assert {key: found.samples.get(key, []) for key in right.samples} == right.samples
        assert len(kept.cache) <= most


def test_it_is_used():
    metric = Score()
    kept = cached(metric)
    samples = columns([("a", ["x"], "p", Row("r")), ("b", ["x"], "p", Row("r")), ("a", ["x"], "p", Row("r"))])
    first = kept(samples)
    assert metric.calls == [["a", "b"]], "each once"
    assert kept(samples) == first
    assert metric.calls == [["a", "b"]]
    assert (kept.cache.hits, kept.cache.misses) == (2, 2)
    for other in (
        ("a", ["y"], "p", Row("r")),
        ("a", ["x"], "q", Row("r")),
        ("a", ["x"], "p", Row("s")),
        ("a", ["x"], "p", Row("r", Record(n=1))),
    ):
        kept(columns([other]))
    assert len(metric.calls) == 5, "another reference, prompt, row or field is another sample"
    kept.cache.clear()
    kept(samples)
    assert len(metric.calls) == 6


def test_the_one_not_asked_for_longest_goes_first():
    metric = Score()
    kept = cached(metric, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        kept(columns([(text, [], "", Row("r"))]))
    assert metric.calls == [["a"], ["b"], ["c"], ["b"]]


def test_two_metrics_never_share_a_score():
    cache = Cache()
    one, other = (Cached(Score(factor), ("score", factor), cache, Watched.of(Context())) for factor in (1, 2))
    samples = columns([("a", [], "", Row("r"))])
    assert one(samples) != other(samples)
    wrong = Cached(Score(2), ("score", 1), cache, Watched.of(Context()))
    assert wrong(samples) == one(samples), "the twin: without the options in its key it would be wrong"


def test_unhashable_rows_and_broken_metrics_are_not_kept():
    metric = Score()
    kept = cached(metric)
    samples = columns([("a", [], "", Row("r", Record(x=[1])))])
    assert kept(samples) == kept(samples)
    assert len(metric.calls) == 2
    short = cached(lambda samples: Measured({"x": []}))
    assert short(columns([("a", [], "", Row("r"))])) == Measured({"x": []})
    assert len(short.cache) == 0


MADE = []


@takes(WatchOptions)
def plain(context, options):
    """Counts its calls."""
    MADE.append(Score())
    return MADE[-1]


@takes(WatchOptions)
def follows(context, options):
    """A score of the policy, which it asks for at once."""
    model = context.model
    MADE.append(Score())
    return lambda_of(MADE[-1], lambda: model)


@takes(WatchOptions)
def follows_later(context, options):
    """A score of the policy, which it asks for when it scores."""
    MADE.append(Score())
    return lambda_of(MADE[-1], lambda: context.model)


class lambda_of:
    """A metric that looks at something each time."""

    name, version, higher_is_better, keys = "score", 1, None, ("score",)

    def __init__(self, metric, look):
        self.metric, self.look = metric, look

    def __call__(self, *given):
        self.look()
        return self.metric(*given)


def raising(samples):
    raise RuntimeError("no")


@pytest.fixture
def names(monkeypatch):
    monkeypatch.setitem(registry._names, "metric", dict(registry._names["metric"]))
    for name in ("plain", "follows", "follows_later"):
        registry.register("metric", f"{name}_score", f"{__name__}:{name}")


def game(text):
    return Episode("toy-v1", "r", "train", 0, 0, (Turn("task", "p", to="agent"), Turn("agent", text)), "end")


@pytest.mark.parametrize(
    ("name", "calls"), [("plain_score", 1), ("follows_score", 3), ("follows_later_score", 3)]
)
def test_what_asks_for_the_policy_is_asked_each_time(name, calls, names):
    terms, _ = build({"x": {"of": name, "key": "score"}}, Context(model="the policy"))
    for _ in range(3):
        apply(terms, [game("a")], {"r": Row("r")})
    assert len(MADE[-1].calls) == calls
    assert len(terms[0].metric.cache) == (1 if name == "plain_score" else 0)
    clear(terms)
    assert len(terms[0].metric.cache) == 0


def test_the_policy_s_perplexity_is_not_kept():
    terms, _ = build({"perplexity": 1.0, "lexicon": 1.0}, Context(model="the policy"))
    lexicon = terms[1].metric
    apply(terms[1:], [game("good")], {"r": Row("r")})
    assert terms[0].metric.context.policy
    assert not lexicon.context.policy
    assert len(lexicon.cache) == 1


def test_to_show_a_term_is_not_to_ask_for_the_policy(names):
    [term], _ = build({"x": {"of": "plain_score", "key": "score"}}, Context(model="the policy"))
    assert "Cached" in repr(term)
    assert "Watched" in repr(term.metric.context)
    assert not term.metric.context.policy


def test_a_function_of_one_s_own_is_not_kept():
    terms, _ = build(
        {"x": {"of": f"{__name__}:raising"}, "y": {"of": "callable", "function": f"{__name__}:raising"}},
        Context(),
    )
    assert not any(isinstance(term.metric, Cached) for term in terms)
    with pytest.raises(BadReward, match="RuntimeError: no"):
        apply(terms, [game("a")], {"r": Row("r")})


def test_terms_of_one_metric_share_its_call(names):
    terms, _ = build(
        {"x": {"of": "plain_score", "key": "score"}, "y": {"of": "plain_score", "key": "score/length"}},
        Context(),
    )
    apply(terms, [game("abc")], {"r": Row("r")})
    assert [len(one.calls) for one in MADE[-2:]] == [1, 0]
