"""What counts of a score: clipped, normalised by what was collected, put on tokens.

And that the statistics are a run's state.
"""

import math
import statistics
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core import registry
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.metric import Context, Measured
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting
from loquent.metrics.function import FunctionMetric
from loquent.rewards import Counting, Learner, Term, TokenTerm, apply, build
from loquent.rewards.cache import Cached
from loquent.rewards.counting import NAMES
from loquent.rewards.placement import pieces, place_rewards, sentence_ends

ROWS = {"r": Row("r")}


def game(answer, tokens=None, prompt="p"):
    """A game of one answer; `tokens` are the pieces of text it was drawn as, "" being an end marker."""
    drawn = (
        None
        if tokens is None
        else Tokens(np.arange(len(tokens)), np.zeros(len(tokens)), np.zeros(len(tokens)))
    )
    return Episode(
        "toy-v1",
        "r",
        "train",
        0,
        0,
        (Turn("task", prompt, to="agent"), Turn("agent", answer, tokens=drawn)),
        "end",
    )


def by_pieces(*pieces):
    """What tells a learner the characters said with each token, where all answers were drawn as these."""
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return lambda turn: ends


def numbered(samples):
    """The number an answer says; none for a text that is no number."""
    return [
        float(text) if text.lstrip("-").replace(".", "", 1).isdigit() else None
        for text in samples.predictions
    ]


def term(function=numbered, **counting):
    return Term("x", FunctionMetric(function), "", Counting(**counting))


def counts(terms, answers, learner):
    return [dict(one.rewards) for one in apply(terms, [game(answer) for answer in answers], ROWS, learner)]


# -- clipping
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clip", "worth"),
    [((0.0, 2.0), [0.0, 1.5, 2.0]), ((-math.inf, 1.0), [-1.0, 1.0, 1.0]), ((1.0, math.inf), [1.0, 1.5, 3.0])],
)
def test_a_score_outside_counts_as_the_nearer_bound_and_is_recorded_raw(clip, worth):
    found = counts([term(clip=clip)], ["-1", "1.5", "3", "no number"], None)
    assert found[:3] == [
        {"x": value, "x/raw": raw} for value, raw in zip(worth, [-1.0, 1.5, 3.0], strict=True)
    ]
    assert found[3] == {}
    assert counts([term()], ["3"], None) == [{"x": 3.0}], "what counts as it is stands once"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clip": [1.0, 0.0]}, r"rewards.x: clip = \[1.0, 0.0\]: must be two numbers, the lower first"),
        ({"clip": [1.0]}, "must be two numbers"),
        ({"clip": "wide"}, "'wide'.*two numbers"),
        ({"clip": [0.0, math.nan]}, "two numbers"),
        (
            {"normalization": "zscore"},
            "Counting.normalization must be one of 'none', 'running', 'batch', got 'zscore'",
        ),
        ({"place": "word"}, "Counting.place must be one of 'answer', 'sentence', 'token', got 'word'"),
        ({"potential": 1}, "potential = 1: must be true or false"),
        ({"potential": True, "normalization": "batch"}, "leave one out"),
    ],
)
def test_bad_ways_to_count_are_refused(options, said):
    with pytest.raises(BadSetting, match=said):
        build({"x": {"of": "lexicon", **options}}, Context())


def test_a_reward_per_token_is_not_counted_another_way():
    with pytest.raises(
        BadSetting, match=r"rewards.tax: token_constant scores each token, so it takes none of"
    ):
        build({"tax": {"of": "token_constant", "clip": [0.0, 1.0]}}, Context())
    with pytest.raises(
        BadSetting, match=r"rewards.tax: token_constant scores each token, so it takes none of key, clip"
    ):
        build({"tax": {"of": "token_constant", "key": "a"}}, Context())
    [tax], _ = build({"tax": {"of": "token_constant"}}, Context())
    assert isinstance(tax, TokenTerm)
    with pytest.raises(BadSetting, match=r"rewards.x/raw: the name NAME/raw is reserved for the raw score"):
        build({"x/raw": {"of": "lexicon"}}, Context())


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        ({"diversity": 1.0}, "rewards.diversity: diversity scores a whole corpus, not an episode"),
        (
            {"x": {"of": "self_bleu", "key": "self_bleu"}},
            "rewards.x: self_bleu scores a whole corpus, not an episode",
        ),
        (
            {"watch": 1.0},
            "rewards.watch: watch has several episode scores; set key; allowed keys: watch/overlap, "
            ".*watch/words",
        ),
        (
            {"watch": {"key": "watch/same"}},
            "key = 'watch/same' is not an episode score of watch; allowed keys: watch/overlap",
        ),
        (
            {"lexicon": {"key": "nonsense"}},
            "key = 'nonsense' is not an episode score of lexicon; allowed keys: lexicon/balance",
        ),
    ],
)
def test_a_key_that_no_episode_has_is_refused_before_anything_is_played(rewards, said):
    with pytest.raises(BadSetting, match=said):
        build(rewards, Context())
    assert build({"watch": {"key": "watch/overlap"}, "lexicon": 1.0, "label_sets": 1.0}, Context())


def test_no_registered_score_has_an_option_that_says_how_it_counts():
    for kind in ("reward", "metric"):
        for name in registry.names(kind):
            options = getattr(registry.find(kind, name), "Options", None)
            assert options is None or not {"weight", "of", "key", *NAMES} & set(
                options.__dataclass_fields__
            ), name


def test_a_score_by_statistics_of_its_batch_is_not_of_parts_and_is_not_kept():
    """CIDEr with the idf of the references it is called with: the same answer has another score beside
    others.
    """
    [batched], _ = build({"cider": 1.0}, Context())
    assert not isinstance(batched.metric, Cached)
    assert batched.metric.together
    for option in ({"place": "token"}, {"potential": True}):
        with pytest.raises(BadSetting, match="its score of a text depends on the other texts in the call"):
            build({"cider": {"weight": 1.0, **option}}, Context())


# -- normalisation
# ------------------------------------------------------------------------------------------------------------


def test_batch_normalisation_by_hand():
    # mean 3, deviation of the whole collection sqrt((4 + 0 + 4) / 3) = 1.632993
    learner = Learner([term(normalization="batch")])
    found = counts([term(normalization="batch")], ["1", "3", "5", "none"], learner)
    assert [one.get("x") for one in found] == [
        pytest.approx(-1.22474487),
        0.0,
        pytest.approx(1.22474487),
        None,
    ]
    assert [one.get("x/raw") for one in found] == [1.0, 3.0, 5.0, None]
    assert counts([term(normalization="batch")], ["7", "7"], learner) == [{"x": 0.0, "x/raw": 7.0}] * 2
    assert learner.state_dict() == {}, "nothing is carried on"


def test_running_normalisation_by_hand():
    # 1, 3: mean 2, deviation 1. Then 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26, deviation sqrt(26/3)
    terms = [term(normalization="running")]
    learner = Learner(terms)
    assert [one["x"] for one in counts(terms, ["1", "3"], learner)] == [-1.0, 1.0]
    assert [one["x"] for one in counts(terms, ["8"], learner)] == [pytest.approx(4 / math.sqrt(26 / 3))]
    assert learner.state_dict() == {"x": {"count": 3, "mean": 4.0, "squares": 26.0}}
    assert counts(terms, ["none"], learner) == [{}]
    assert counts(terms, ["9"], None) == [{"x": 9.0, "x/raw": 9.0}], "an evaluation counts scores as they are"
    assert learner.state_dict()["x"]["count"] == 3, "and what is not collected moves nothing"


def test_bounds_come_before_the_mean():
    terms = [term(clip=(0.0, 3.0), normalization="batch")]
    assert [one["x"] for one in counts(terms, ["1", "100"], Learner(terms))] == [-1.0, 1.0]


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@given(st.lists(numbers, min_size=1, max_size=6))
def test_running_statistics_are_those_of_all_scores(collections):
    terms = [term(lambda samples: [float(text) for text in samples.predictions], normalization="running")]
    learner = Learner(terms)
    for one in collections:
        apply(terms, [game(repr(score)) for score in one], ROWS, learner)
    whole, state = [score for one in collections for score in one], learner.state_dict()["x"]
    assert state["count"] == len(whole)
    assert state["mean"] == pytest.approx(statistics.fmean(whole), rel=1e-9, abs=1e-6)
    assert state["squares"] == pytest.approx(statistics.pvariance(whole) * len(whole), rel=1e-6, abs=1e-3)


@given(st.lists(numbers, min_size=2, max_size=6), st.data())
def test_statistics_taken_back_go_on_to_the_bit(collections, data):
    terms = [term(lambda samples: [float(text) for text in samples.predictions], normalization="running")]
    games = [[game(repr(score)) for score in one] for one in collections]
    whole, stop = Learner(terms), data.draw(st.integers(0, len(games)))
    through = [apply(terms, one, ROWS, whole) for one in games]
    first, second = Learner(terms), Learner(terms)
    before = [apply(terms, one, ROWS, first) for one in games[:stop]]
    second.load_state_dict(first.state_dict())
    assert before + [apply(terms, one, ROWS, second) for one in games[stop:]] == through


def test_statistics_that_were_forgotten_are_seen():
    """The twin of the law above."""
    terms = [term(normalization="running")]
    learner = Learner(terms)
    counts(terms, ["1", "2"], learner)
    assert counts(terms, ["3"], Learner(terms)) != counts(terms, ["3"], learner)


def test_state_without_a_term_is_refused():
    with pytest.raises(BadCheckpoint, match="lacks the field x"):
        Learner([term(normalization="running")]).load_state_dict({})


# -- places
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("one", ["one"]),
        ("One. Two", ["One.", " Two"]),
        ("the end .", ["the end ."]),
        ('He said "no!" and left. 3.5 is one', ['He said "no!"', " and left.", " 3.5 is one"]),
        ("wait... what?! yes", ["wait...", " what?!", " yes"]),
        ("a line\nanother", ["a line\n", "another"]),
        ("好。好。", ["好。好。"]),
    ],
)
def test_where_sentences_end(text, sentences):
    borders = [0, *sentence_ends(text)]
    borders += [len(text)] if borders[-1] < len(text) else []
    assert [text[a:b] for a, b in pairwise(borders)] == sentences


def length(samples):
    return [float(len(text)) for text in samples.predictions]


def letters(samples):
    """How often "b" was said; none for a text without a letter."""
    return [float(text.count("b")) if text.strip(". ") else None for text in samples.predictions]


def test_what_each_sentence_changed_stands_on_its_last_token_by_hand():
    parts = ("a b", ".", " b", " b.", " a", "")  # two sentences and a rest, then the end marker
    text = "".join(parts)
    terms = [term(letters, place="sentence")]
    [scored] = apply(terms, [game(text, parts)], ROWS, Learner(terms, ends=by_pieces(*parts)))
    assert scored.turns[1].token_rewards["x"] == (0.0, 1.0, 0.0, 2.0, 0.0, 0.0)
    assert "x" not in scored.turns[1].rewards
    assert (
        scored.total(Record(x=2.0)) == 6.0 == apply(terms, [game(text, parts)], ROWS)[0].total(Record(x=2.0))
    )


def test_what_each_token_changed_by_hand():
    # the first says nothing that has a score, the third is half a character
    parts = (".", "b", "", "a", " b", "")
    terms = [term(letters, place="token", clip=(0.0, 1.5))]
    [scored] = apply(terms, [game("".join(parts), parts)], ROWS, Learner(terms, ends=by_pieces(*parts)))
    assert scored.turns[1].token_rewards["x"] == (0.0, 1.0, 0.0, 0.0, 0.5, 0.0)
    assert scored.turns[1].rewards == Record({"x/raw": 2.0})


def test_an_answer_without_tokens_has_its_whole_score_on_the_turn():
    terms = [term(length, place="token")]
    assert apply(terms, [game("abc")], ROWS, Learner(terms, ends=by_pieces("abc")))[0].turns[
        1
    ].rewards == Record(x=3.0)
    assert apply(terms, [game("abc", ("abc",))], ROWS, Learner(terms))[0].turns[1].rewards == Record(x=3.0)
    scored = apply(
        [term(length, place="token")],
        [game("abc", ("a", "bc"))],
        ROWS,
        Learner(terms, ends=by_pieces("a", "bc")),
    )
    assert apply([term(length)], scored, ROWS)[0].turns[1] == replace(
        game("abc", ("a", "bc")).turns[1], rewards=Record(x=3.0)
    ), "replaced whole"


def test_a_score_that_does_not_apply_leaves_no_tokens():
    terms = [term(letters, place="token")]
    [scored] = apply(
        terms, [game("...", (".", ".", "."))], ROWS, Learner(terms, ends=by_pieces(".", ".", "."))
    )
    assert scored.turns[1] == game("...", (".", ".", ".")).turns[1]


def odd(samples):
    """A score that jumps about, and sometimes is none."""
    return [
        None if len(text) % 5 == 3 else math.sin(7.0 * len(text)) * sum(map(ord, text))
        for text in samples.predictions
    ]


answers = st.lists(
    st.sampled_from(["", "a", " b", ". ", "!\n", "cd.", "é", "x" * 40]), min_size=1, max_size=12
)


# also of one score alone
collections = st.one_of(st.lists(answers, min_size=1, max_size=5), answers.map(lambda parts: [parts] * 3))


@given(collections, st.sampled_from(["sentence", "token"]), st.sampled_from(["none", "batch", "running"]))
def test_the_total_is_the_same_wherever_it_stands(drawn, place, normalization):
    ends = {"".join(parts): np.cumsum([len(part) for part in parts]).tolist() for parts in drawn}
    games = [game("".join(parts), parts) for parts in drawn if len(ends["".join(parts)]) == len(parts)]
    here, there = (
        [term(odd, place=place, normalization=normalization)],
        [term(odd, normalization=normalization)],
    )
    placed_, whole = (
        apply(here, games, ROWS, Learner(here, ends=lambda turn: ends[turn.text])),
        apply(there, games, ROWS, Learner(there)),
    )
    for one, other in zip(placed_, whole, strict=True):
        assert one.rewards.keys() == other.rewards.keys()
        assert one.total(Record(x=1.0)) == pytest.approx(other.total(Record(x=1.0)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("normalization", ["batch", "running"])
@pytest.mark.parametrize("scores", [["3"], ["3", "3"], ["0.1"] * 3, ["-4000000.7"] * 7], ids=str)
def test_scores_that_are_all_alike_pay_nothing_nor_do_their_parts(normalization, scores):
    terms = [term(place="token", normalization=normalization)]
    for one in apply(
        terms, [game(text, list(text)) for text in scores], ROWS, Learner(terms, ends=by_pieces(*scores[0]))
    ):
        assert set(one.turns[1].token_rewards["x"]) == {0.0}


@pytest.mark.parametrize("normalization", ["batch", "running"])
def test_scores_that_are_small_but_not_alike_are_normalised(normalization):
    terms = [term(normalization=normalization)]
    assert [
        one["x"] for one in counts(terms, ["0.000000000001", "0.000000000003"], Learner(terms))
    ] == pytest.approx([-1.0, 1.0])


def test_a_piece_that_is_counted_twice_is_seen():
    """The twin of the law above: sums of scores, not of differences, are another total."""
    cuts = pieces("a.b. c", [2, 4, 6], "token")
    assert sum(place_rewards(6.0, cuts, [2.0, 4.0], [2, 4, 6])) == 6.0
    assert sum([2.0, 4.0, 6.0]) != 6.0


def test_one_call_for_the_parts_of_all_answers():
    calls = []

    class Count:
        name, version, higher_is_better = "count", 1, None

        def __call__(self, samples):
            calls.append(len(samples.predictions))
            return Measured({"count": [1.0] * len(samples.predictions)})

    terms = [Term("x", Count(), "", Counting(place="token"))]
    apply(terms, [game("abc", ("a", "b", "c"))] * 20, ROWS, Learner(terms, ends=by_pieces("a", "b", "c")))
    assert calls == [20, 40]
