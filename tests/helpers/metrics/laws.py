"""The laws every metric keeps, as one check that a family's tests call on each of its metrics."""

import copy
import math

from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Samples, traits
from loquent.core.task import Row
from loquent.core.values import Record

WORDS = st.sampled_from(
    [
        "the",
        "The",
        "cat",
        "cats",
        "sat",
        "sitting",
        "is",
        "n't",
        "'",
        ".",
        "!",
        "42",
        "1.5",
        "naïve",
        "猫",
        "e\u0301",
        "👍🏽",
        "\u200b",
        "<unk>",
    ]
)


def texts_of(longest):
    """Texts of all kinds, the longest of which repeats a word so many times."""
    return st.one_of(
        st.just(""),
        st.just("cat"),
        st.text(max_size=40),
        st.lists(WORDS, max_size=30).map(" ".join),
        st.tuples(WORDS, st.sampled_from([2, 50, longest])).map(lambda pair: " ".join([pair[0]] * pair[1])),
    )


def samples_of(texts):
    """Samples of a prediction, its references and a prompt."""
    return st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3), texts), min_size=1, max_size=5)


TEXTS = texts_of(5000)
SAMPLES = samples_of(TEXTS)


def rows(n, **fields):
    """Rows without anything a metric would read but what `fields` gives to each."""
    return [Row(f"r{i}", Record(**fields)) for i in range(n)]


def check_laws(metric, low, high, best=None, *, samples=SAMPLES, row=rows, together=False, examples=25):
    """Run `metric` on strings of all kinds: nothing is raised, scores are finite and from `low` to `high`,
    keys are announced.

    Scores of samples depend neither on the order of samples nor on that of references, nor on the other
    samples (`together=True`: those of a metric that says so itself may); scores without a sample are those of
    the others; arguments are left as they were; a prediction equal to its one reference scores `best`
    where it has a score. `row(n)` makes n rows.
    """
    from hypothesis import settings

    assert traits(metric).together == together, (
        "a metric says so itself, or is kept as a reward and scored alone"
    )

    @settings(max_examples=examples)
    @given(samples)
    def laws(drawn):
        predictions, references, prompts = (
            [p for p, _, _ in drawn],
            [list(r) for _, r, _ in drawn],
            [q for _, _, q in drawn],
        )
        made = row(len(drawn))
        before = copy.deepcopy((predictions, references, prompts))
        whole = metric(Samples(predictions, references, prompts, made))
        assert (predictions, references, prompts) == before
        assert set(whole.samples) | set(whole.corpus) <= set(metric.keys)
        assert set(whole.corpus) - set(whole.samples) <= set(getattr(metric, "corpus_only", ())), (
            "what a text alone has no score of says so"
        )
        assert not set(whole.samples) & set(getattr(metric, "corpus_only", ()))
        for scores in (*whole.samples.values(), *([value] for value in whole.corpus.values())):
            assert all(
                score is None or (math.isfinite(score) and low - 1e-9 <= score <= high + 1e-9)
                for score in scores
            )
        assert all(len(scores) == len(drawn) for scores in whole.samples.values())
        turned = metric(
            Samples(predictions[::-1], [own[::-1] for own in references[::-1]], prompts[::-1], made[::-1])
        )
        _close({key: scores[::-1] for key, scores in turned.samples.items()}, whole.samples)
        _close(_columns(turned.corpus), _columns(whole.corpus))
        if not together:
            alone = [
                metric(Samples([p], [r], [q], [m]))
                for p, r, q, m in zip(predictions, references, prompts, made, strict=True)
            ]
            for key, scores in whole.samples.items():
                _close({key: [one.samples.get(key, [None])[0] for one in alone]}, {key: scores})
        if whole.leave_out is not None:
            rest = metric(Samples(predictions[1:], references[1:], prompts[1:], made[1:])).corpus
            every, others = whole.leave_out([]), whole.leave_out([0])
            assert others.keys() == every.keys() & rest.keys()
            _close(_columns(every), _columns({key: whole.corpus[key] for key in every}))
            _close(_columns(others), _columns({key: rest[key] for key in others}))
        # identity, and a prompt that is the answer
        same = metric(Samples(predictions, [[p] for p in predictions], predictions, made))
        if best is not None:
            scores = [
                score
                for score in same.samples.get(metric.name, next(iter(same.samples.values())))
                if score is not None
            ]
            assert all(math.isclose(score, best, abs_tol=1e-9) for score in scores), scores

    laws()
    empty = metric(Samples([]))
    assert not empty.corpus
    assert all(not scores for scores in empty.samples.values())


def _columns(scores):
    return {key: [value] for key, value in scores.items()}


def _close(left, right):
    assert left.keys() == right.keys()
    for key in left:
        for a, b in zip(left[key], right[key], strict=True):
            assert (a is None) == (b is None), (key, a, b)
            assert a is None or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9), (key, a, b)
