"""Scoring: which way a corpus score is drawn again, and that all ways agree."""

import math
from dataclasses import replace

import numpy as np
import pytest

from loquent.core.metric import Measured, Samples, Tallied
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.errors import BadSetting, BrokenMetric
from loquent.metrics.diversity.diversity import Diversity
from loquent.metrics.scoring import means_of_samples, score, work
from loquent.metrics.sentiment.lexicon import Lexicon
from loquent.statistics.resampling import Resampling, bounds

DRAWS = Resampling(resamples=200, seed=3)


class Words:
    """Words right of words said, of which the corpus score is the ratio of the sums.

    `way` is how its draws are made.
    """

    name, version, higher_is_better, keys = "words", 1, True, ("words",)

    def __init__(self, change=None):
        self.calls, self.change = [], change

    def __call__(self, samples):
        self.calls.append(len(samples.predictions))
        counts = self.tally_of(samples.predictions, samples.references)
        columns = [right / said if said else None for right, said in counts.tolist()]
        found = Measured({"words": columns}, self.ratio(counts.sum(0)))
        return self.change(found) if self.change else found

    @staticmethod
    def tally_of(predictions, references):
        pairs = [(said.split(), set(" ".join(own).split())) for said, own in zip(predictions, references)]
        return np.array(
            [(sum(word in right for word in said), len(said)) for said, right in pairs], dtype=float
        ).reshape(-1, 2)

    @staticmethod
    def ratio(total):
        return {"words": float(total[0] / total[1])} if total[1] else {}


class Counted(Words):
    def tally(self, samples):
        return self.tally_of(samples.predictions, samples.references)

    def of_tally(self, total):
        return self.ratio(total)


class Average(Words):
    """The mean of the samples' shares in place of the ratio of sums."""

    @staticmethod
    def ratio(total):
        return {}

    def __call__(self, *given):
        found = super().__call__(*given)
        there = [one for one in found.samples["words"] if one is not None]
        return Measured(found.samples, {"words": sum(there) / len(there)} if there else {})


def texts(n=30, seed=0):
    rng = Key(seed, ("texts",)).generator()
    word = lambda: "abcdefgh"[rng.integers(8)]  # noqa: E731
    said = tuple(" ".join(word() for _ in range(rng.integers(0, 9))) for _ in range(n))
    right = tuple((" ".join(word() for _ in range(3)),) for _ in range(n))
    return Samples(said, right, ("",) * n, tuple(Row(str(i)) for i in range(n)))


def by_hand(metric, pairs):
    """The interval of drawing texts again and measuring each draw whole."""
    value = metric(pairs).corpus

    def statistic(numbers):
        chosen = pairs.take(numbers.tolist())
        return metric(chosen).corpus

    return bounds(statistic, len(pairs), value, DRAWS)["words"]


@pytest.mark.parametrize(("metric", "calls"), [(Words, 1 + 1 + 200), (Counted, 1), (Average, 1 + 3)])
def test_every_way_gives_the_interval_of_measuring_each_draw(metric, calls):
    pairs, made = texts(), metric()
    found = score({"words": made}, pairs, DRAWS)
    assert len(made.calls) == calls
    wanted = by_hand(metric(), pairs)
    assert (found.bounds["words"].low, found.bounds["words"].high) == pytest.approx(
        (wanted.low, wanted.high), abs=1e-12
    )
    assert found.corpus["words"] == metric()(pairs).corpus["words"]
    assert isinstance(made, Tallied) == (metric is Counted)


def test_a_ratio_of_sums_is_not_drawn_as_a_mean_of_shares():
    pairs = texts()
    sums, means = (score({"words": metric()}, pairs, DRAWS).bounds["words"] for metric in (Words, Average))
    assert abs(sums.low - means.low) > 1e-3


def test_a_corpus_score_that_is_a_mean_by_chance_is_not_taken_for_one():
    """Sums and shares agree where all texts are equally long.

    With one empty text in a draw they still do, with a longer one they do not.
    """
    pairs = texts(40)
    longer = Samples(("a b c",) * 38 + ("a", "b c d e f"), (("a b",),) * 40, pairs.prompts, pairs.rows)
    value = Words()(longer)
    forced = Measured(value.samples, {"words": math.fsum(value.samples["words"]) / 40})
    measure = lambda chosen: Words()(chosen)  # noqa: E731
    assert set(means_of_samples(lambda chosen: Average()(chosen), longer, forced)) == {"words"}
    assert set(means_of_samples(lambda chosen: Measured({}, {"words": 0.1}), longer, forced)) == set()
    assert set(means_of_samples(measure, pairs, Words()(pairs))) == set()


def test_samples_without_a_score_are_left_out_of_the_mean():
    pairs = texts(12)
    half = Samples(("good", "nothing") * 6, pairs.references, pairs.prompts, pairs.rows)
    mixed = Samples(("good", "nothing", "bad", "dull") * 3, pairs.references, pairs.prompts, pairs.rows)
    lexicon = Lexicon({"good": 1.0, "bad": -1.0})
    assert (
        score({"lexicon": lexicon}, half, DRAWS).bounds["lexicon/balance"].why
        == "all draws have the same score"
    )
    found = score({"lexicon": lexicon}, mixed, DRAWS)
    assert found.corpus == {"lexicon/balance": 0.0}
    assert found.samples["lexicon/balance"][:4] == [1.0, None, -1.0, None]
    assert -1 <= found.bounds["lexicon/balance"].low < 0 < found.bounds["lexicon/balance"].high <= 1


def test_counts_and_different_words_have_no_interval():
    found = score({"diversity": Diversity(window=5)}, texts(200), Resampling(resamples=100))
    refused = {
        key.removeprefix("diversity/")
        for key, one in found.bounds.items()
        if one.low is None and "nopunct" not in key
    }
    assert {
        "distinct-2",
        "unique-3",
        "total_length",
        "vocabulary-3",
        "entropy-3",
        "min_length",
        "max_length",
    } <= refused
    assert "mean_length" not in refused
    assert all(one.why for one in found.bounds.values() if one.low is None)


def test_intervals_do_not_depend_on_the_other_metrics_nor_on_the_order_they_are_named_in():
    pairs = texts()
    together = score({"d": Diversity(), "words": Words()}, pairs, DRAWS)
    assert together.bounds["words"] == score({"words": Words()}, pairs, DRAWS).bounds["words"]


def test_without_resampling_there_are_no_intervals_and_no_call_more():
    metric, done = Words(), []
    found = score({"words": metric}, texts(), None, lambda: done.append(1))
    assert metric.calls == [30]
    assert found.bounds == {}
    assert len(done) == work(1, None) == 1
    done.clear()
    score({"words": metric}, texts(), DRAWS, lambda: done.append(1))
    assert len(done) == work(1, DRAWS) == 201


def test_nothing_to_score_is_no_zero():
    found = score({"words": Words()}, texts(1).take([]), DRAWS)
    assert (found.corpus, found.silent) == ({}, ["words"])
    one = score({"words": Words()}, Samples(("a",), (("a",),), ("",), (Row("1"),)), DRAWS)
    assert one.bounds["words"].why.startswith("one sample")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda found: Measured({"words": [math.nan, *found.samples["words"][1:]]}, {}),
            "gave nan as words of sample 0",
        ),
        (
            lambda found: Measured({"words": found.samples["words"][1:]}, {}),
            "29 scores of words for 30 samples",
        ),
        (lambda found: Measured({}, {"words": math.inf}), "gave inf as words of the corpus"),
    ],
)
def test_a_broken_metric_is_named(change, says):
    with pytest.raises(BrokenMetric, match=says):
        score({"mine": Words(change)}, texts(), DRAWS)


def test_two_metrics_of_one_key_are_refused():
    with pytest.raises(BadSetting, match="two metrics give 'words'"):
        score({"a": Words(), "b": Counted()}, texts())


@pytest.mark.parametrize("metric", [Words, Counted, Average])
def test_repeated_prompts_are_no_new_evidence(metric):
    """Each sample three times under its prompt: the interval is that of the samples once.

    Before, the draws took the repeated samples for independent, and the interval was narrower by sqrt(3).
    """
    once = texts()
    once = replace(once, prompts=tuple(f"prompt {i}" for i in range(len(once))))
    often = once.take([*range(len(once))] * 3)
    narrow = replace(often, prompts=("",) * len(often))
    found, wanted, wrong = (
        score({"words": metric()}, pairs, DRAWS).bounds["words"] for pairs in (often, once, narrow)
    )
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert wrong.high - wrong.low < 0.75 * (found.high - found.low)


@pytest.mark.parametrize("metric", [Words, Counted, Average])
def test_a_draw_takes_all_samples_of_a_prompt(metric):
    """Two answers to each prompt have i % 4 and 4 - i % 4 right words of 4, so every draw scores 1/2."""
    right = [number for i in range(60) for number in (i % 4, 4 - i % 4)]
    said = [" ".join("a" * number + "b" * (4 - number)) for number in right]
    prompts = [f"prompt {i // 2}" for i in range(120)]
    pairs = Samples(said, [["a"]] * 120, prompts, [Row(str(i)) for i in range(120)])
    found = score({"words": metric()}, pairs, DRAWS)
    assert found.corpus == {"words": 0.5}
    assert found.bounds["words"].why == "all draws have the same score"
    alone = score({"words": metric()}, replace(pairs, prompts=("",) * 120), DRAWS).bounds["words"]
    assert alone.high - alone.low > 0.05


class Right(Words):
    """Whether a text is its reference: 0 or 1."""

    def __call__(self, samples):
        columns = [
            float(text == own[0]) for text, own in zip(samples.predictions, samples.references, strict=True)
        ]
        return Measured({"right": columns}, {"right": sum(columns) / len(columns)})


@pytest.mark.parametrize(("wrong", "method"), [(1, "exact"), (4, "exact"), (5, "wilson"), (40, "wilson")])
def test_shares_have_wilsons_interval_or_an_exact_one_by_scipy(wrong, method):
    stats = pytest.importorskip("scipy.stats")
    rows = [Row(str(i), {"prompt": str(i)}) for i in range(80)]
    said = ["no" if i < wrong else "yes" for i in range(80)]
    pairs = Samples(said, [["yes"]] * 80, [str(i) for i in range(80)], rows)
    found = score({"right": Right()}, pairs, DRAWS).bounds["right"]
    theirs = stats.binomtest(80 - wrong, 80).proportion_ci(0.95, method=method)
    tolerance = (
        1e-12 if method == "exact" else 0.003
    )  # theirs has the normal quantile in place of Student's t
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=tolerance)
    assert (found.method, found.caution, found.why) == (method, "", "")


def test_equal_scores_have_no_interval():
    rows = [Row(str(i), {"prompt": str(i)}) for i in range(80)]
    pairs = Samples(["yes"] * 80, [["yes"]] * 80, [str(i) for i in range(80)], rows)
    found = score({"right": Right()}, pairs, DRAWS).bounds["right"]
    assert (found.low, found.high, found.why) == (None, None, "all draws have the same score")


def test_answers_to_one_prompt_count_once_in_shares():
    """Twenty wrong answers to two of sixty prompts are two."""
    prompts = [str(i // 10) for i in range(600)]
    rows = [Row(str(i), {"prompt": prompt}) for i, prompt in enumerate(prompts)]
    pairs = Samples(["no" if i < 20 else "yes" for i in range(600)], [["yes"]] * 600, prompts, rows)
    found = score({"right": Right()}, pairs, DRAWS).bounds["right"]
    alone = Samples(["no" if i < 2 else "yes" for i in range(60)], [["yes"]] * 60, prompts[::10], rows[::10])
    once = score({"right": Right()}, alone, DRAWS).bounds["right"]
    assert found.method == "exact"
    assert (found.low, found.high) == pytest.approx((once.low, once.high))


def test_prompts_with_very_unequal_numbers_of_samples_have_a_caution():
    """Of 60 prompts one has 100 samples of 159: 159² / (100² + 59) is 2.5 prompts."""
    prompts = ["0"] * 100 + [str(i) for i in range(1, 60)]
    rows = [Row(str(i), {"prompt": prompt}) for i, prompt in enumerate(prompts)]
    said = ["no" if i % 3 else "yes" for i in range(159)]
    unequal = score({"right": Right()}, Samples(said, [["yes"]] * 159, prompts, rows), DRAWS).bounds["right"]
    assert unequal.caution.startswith(
        "a few prompts have most of the samples: 60 prompts weigh as much as 3 "
    )
    equal = [str(i // 2) for i in range(159)]
    found = score({"right": Right()}, Samples(said, [["yes"]] * 159, equal, rows), DRAWS).bounds["right"]
    assert found.caution == ""


def test_one_prompt_has_no_interval():
    pairs = replace(texts(), prompts=("the same",) * 30)
    found = score({"words": Average()}, pairs, DRAWS).bounds["words"]
    assert (found.low, found.high) == (None, None)
    assert found.why.startswith("all samples have the same prompt")
