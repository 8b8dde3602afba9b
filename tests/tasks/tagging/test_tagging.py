"""Sequence tagging: the hand-worked episodes ST-1 to ST-11, the running scores against scikit-learn and
against whole sentences, options.
"""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.bench.conformance.check import check
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, BrokenTask, UnknownName
from loquent.metrics.labels import span_scores
from loquent.tasks.tagging.scores import running
from loquent.tasks.tagging.task import Tagging

LABELS = ("LOC", "MISC", "O", "ORG", "PER")


def task(labels=LABELS, **options):
    return Tagging(Tagging.Options(source="samples", labels=labels, **options))


def played(gold, said, text=None, labels=None, **options):
    """The steps of a game, the opening first."""
    tokens = text.split(" ") if text else [f"w{i}" for i in range(len(gold))]
    world = task(labels or tuple(sorted({*gold, *said})), **options)
    steps = [world.start(world.row_from({"tokens": tokens, "labels": list(gold)}), Key(0))]
    for label in said:
        steps.append(world.act(steps[-1], label))
    return world, steps


def earned(gold, said, **options):
    world, steps = played(gold, said, **options)
    return [world.total(step.rewards) for step in steps[1:]]


# the hand-worked episodes


def test_st_1_the_figure_of_the_paper():
    gold, said, text = ["LOC", "LOC", "O"], ["LOC", "LOC", "MISC"], "NEW YORK 1996-08-22"
    _, steps = played(gold, said, text, LABELS)
    assert earned(gold, said) == pytest.approx([1.0, 0.0, -1 / 3], abs=1e-9)
    assert sum(earned(gold, said)) == pytest.approx(2 / 3, abs=1e-9)
    assert earned(gold, said, dense=False) == pytest.approx([0, 0, 2 / 3], abs=1e-9)
    seen = [step.observation.fields for step in steps]
    assert [(one["position"], one["previous"], one["labels"]) for one in seen] == [
        (0, 5, ()),
        (1, 0, ("LOC",)),
        (2, 0, ("LOC", "LOC")),
        (3, 1, ("LOC", "LOC", "MISC")),
    ]
    assert [step.ended for step in steps] == [None, None, None, "tagged"]
    assert (
        "".join(a + b for a, b in zip((step.observation.text for step in steps), [*said, ""], strict=True))
        == "NEW/LOC YORK/LOC 1996-08-22/MISC"
    )
    assert earned(gold, said, reward="span_f1", dense=False)[-1] == pytest.approx(2 / 3, abs=1e-9)
    # other labels earn otherwise
    assert earned(gold, ["LOC", "LOC", "O"]) != pytest.approx([1.0, 0.0, -1 / 3])


def test_st_2_a_type_in_error():
    gold, said = ["ORG", "O", "O", "O", "O"], ["LOC", "O", "O", "O", "O"]
    assert earned(gold, said) == pytest.approx([0, 0.5, 1 / 6, 1 / 12, 0.05], abs=1e-9)
    assert sum(earned(gold, said)) == pytest.approx(0.8, abs=1e-9)
    assert sum(earned(gold, said, reward="span_f1")) == 0.0
    assert span_scores.span_f1(gold, said, "io") == 0.0
    assert span_scores.token_f1(gold, said, "macro") == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize(
    ("average", "want"),
    [("micro", [1, -0.5, 1 / 6]), ("macro", [1, -2 / 3, 0]), ("weighted", [1, -0.5, 1 / 6])],
)
def test_st_3_averages(average, want):
    assert earned("ABA", "ACA", average=average) == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize(
    ("average", "want"),
    [("micro", [1 / 3, 0, 1 / 3]), ("macro", [1 / 3, -1 / 9, 1 / 9]), ("weighted", [4 / 9, 0, 2 / 9])],
)
def test_tokens_without_a_label_yet_may_count_as_wrong(average, want):
    """A right label of n earns 1 / n under micro; F1 of A rises from 2 * 1 / (1 + 2) to 1."""
    assert earned("ABA", "ACA", average=average, unlabelled="wrong") == pytest.approx(want, abs=1e-9)
    with pytest.raises(BadSetting, match="unlabelled"):
        task(reward="span_f1", unlabelled="wrong")


def test_st_4_nothing_to_find():
    assert earned("OOO", "OOO") == pytest.approx([1, 0, 0], abs=1e-9)
    assert earned("OOO", "OOO", reward="span_f1", dense=False) == [0, 0, 1.0]
    assert earned("OOO", ["O", "PER", "O"], reward="span_f1", dense=False) == [0, 0, 0.0]
    assert span_scores.span_f1("OOO", "OOO", "io") == 1.0
    said = ["O", "PER", "O"]
    scores = [span_scores.token_f1("OOO", said, average) for average in ("micro", "weighted", "macro")]
    assert scores == pytest.approx([2 / 3, 0.8, 0.4], abs=1e-9)
    assert span_scores.span_f1("OOO", said, "io") == 0.0


def test_st_5_partial_spans_and_schemes():
    assert span_scores.token_f1(["PER", "PER", "O"], ["PER", "O", "O"]) == pytest.approx(2 / 3, abs=1e-9)
    assert span_scores.span_f1(["PER", "PER", "O"], ["PER", "O", "O"], "io") == 0.0
    assert span_scores.span_f1(["B-PER", "B-PER"], ["B-PER", "I-PER"], "bio") == 0.0
    assert earned(["PER", "PER", "O"], ["PER", "O", "O"], reward="span_f1", dense=False)[-1] == 0.0
    assert earned(["B-PER", "B-PER"], ["B-PER", "I-PER"], reward="span_f1", dense=False)[-1] == 0.0
    assert (
        earned(
            ["B-PER", "B-PER"],
            ["PER", "PER"],
            labels=("O", "PER"),
            prefixes="strip",
            reward="span_f1",
            dense=False,
        )[-1]
        == 1.0
    )


@pytest.mark.parametrize(
    ("gold", "said", "changes"),
    [
        (["ORG", "O", "O", "O", "O"], ["LOC", "O", "O", "O", "O"], [0, 0, 0, 0, 0]),  # ST-2
        (["O", "O", "O"], ["O", "O", "O"], [1, 0, 0]),  # ST-4: no span where none is right
        (["O", "O", "O"], ["O", "PER", "O"], [1, -1, 0]),  # and one where none is
        (
            ["PER", "PER", "O"],
            ["PER", "O", "O"],
            [1, -1, 0],
        ),  # ST-5: right until the second token belongs to it
        (["B-PER", "B-PER"], ["B-PER", "I-PER"], [1, -1]),  # two spans told as one
        (["B-PER", "B-PER"], ["B-PER", "B-PER"], [1, 0]),
        (["B-PER", "I-PER", "O"], ["B-PER", "O", "B-PER"], [1, -1, 0]),
        (["PER", "O", "LOC"], ["PER", "O", "ORG"], [1, 0, -0.5]),  # 1 of 2 found, 1 of 2 right
    ],
)
def test_st_2_4_5_spans_as_they_are_played(gold, said, changes):
    score = sum(changes)
    assert earned(gold, said, reward="span_f1") == pytest.approx(changes, abs=1e-9)
    assert earned(gold, said, reward="span_f1", dense=False) == pytest.approx(
        [*[0] * (len(gold) - 1), score], abs=1e-9
    )
    for dense in (True, False):
        world, steps = played(gold, said, reward="span_f1", dense=dense)
        told = world.info(steps[-1].state, steps[-1].ended)
        assert told["episode_score"] == pytest.approx(score, abs=1e-9)
        assert told["is_success"] == (gold == said)
    world, steps = played(gold, said)  # the score that is not chosen is told at the end
    assert steps[-1].rewards["span_f1"] == pytest.approx(score, abs=1e-9)
    if gold != said:
        assert earned(gold, gold, reward="span_f1") != pytest.approx(changes)


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (("B", "I", "O"), "bio"),
        (("B", "O"), "bio"),
        (("B", "I", "E", "S", "O"), "bioes"),
        (("B-LOC", "I-LOC", "L-LOC", "U-LOC", "O"), "bioes"),
        (("B-PER", "I-PER", "MISC", "O"), "bio"),
        (("S-A", "B-A", "O"), "bioes"),
        (("I-PER", "O"), "bio"),
        (("O", "PER"), "io"),
        (("S-X", "NN"), "io"),
        (("B", "E", "M", "S"), "io"),
        (("O",), "io"),
        (("S", "L", "O"), "io"),
        (("S-A", "O"), "bioes"),
        (("B-", "O"), "io"),
        (("IN", "I-NP", "EX"), "bio"),
        (("Before", "SYM", "I"), "io"),
    ],
)
def test_schemes_are_told_by_prefixes(labels, scheme):
    assert span_scores.scheme_of(labels) == scheme


@pytest.mark.parametrize(
    ("labels", "scheme", "spans"),
    [
        ("BIO", "bio", [(0, 2, "_")]),
        ("BBI", "bio", [(0, 1, "_"), (1, 3, "_")]),
        ("OIIO", "bio", [(1, 3, "_")]),
        ("BIESBE", "bioes", [(0, 3, "_"), (3, 4, "_"), (4, 6, "_")]),
        ("BILUBL", "bioes", [(0, 3, "_"), (3, 4, "_"), (4, 6, "_")]),
        (["B-A", "L-A", "U-A", "U-A", "I-B"], "bioes", [(0, 2, "A"), (2, 3, "A"), (3, 4, "A"), (4, 5, "B")]),
        (["B-A", "I-A", "M", "M", "O", "M"], "bio", [(0, 2, "A"), (2, 4, "M"), (5, 6, "M")]),
        (["B-A", "A"], "bio", [(0, 1, "A"), (1, 2, "A")]),
    ],
)
def test_spans_of_untyped_and_bilou_labels(labels, scheme, spans):
    assert span_scores.spans(list(labels), scheme) == spans


def test_a_part_of_an_untyped_span_earns_nothing():
    assert earned("BIO", "BOO", reward="span_f1", dense=False, scheme="bio")[-1] == 0.0
    assert earned("BIO", "BOO", reward="span_f1", dense=False)[-1] == 0.0  # the scheme is told by B, I, O
    bilou = ("B-A", "I-A", "L-A", "O", "U-A")
    assert earned(["B-A", "L-A"], ["U-A", "U-A"], labels=bilou, reward="span_f1", dense=False)[-1] == 0.0
    assert earned(["B-A", "L-A"], ["B-A", "L-A"], labels=bilou, reward="span_f1", dense=False)[-1] == 1.0


def test_st_6_one_token():
    world, steps = played(["SYM"], ["PUNCT"], "...")
    assert [world.total(step.rewards) for step in steps[1:]] == [0.0]
    assert steps[-1].ended == "tagged"
    assert world.flags(steps[-1].ended) == (True, False)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A  B", ("A", "B")),
        ("A\u00a0B", ("A\u00a0B",)),
        ("naïve 東京 🙂", ("naïve", "東京", "🙂")),
        ("e\u0301 x\ty", ("e\u0301", "x\ty")),
    ],
)
def test_st_7_tokens_are_cut_at_the_space_alone(text, tokens):
    row = task().row_from({"text": text, "labels": ["O"] * len(tokens)})
    assert row["tokens"] == tokens
    assert row.id.startswith("added:")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": "", "labels": []}, "no token"),
        ({"text": "  ", "labels": []}, "no token"),
        ({"tokens": ["a", "b"], "labels": ["O"]}, "2 tokens and 1 labels"),
        ({"tokens": ["a", ""], "labels": ["O", "O"]}, "holds ''"),
        ({"tokens": ["a"], "labels": ["FROG"]}, "label 'FROG' is unknown"),
        ({"tokens": ["a"]}, "'labels' is missing"),
        ({"tokens": 3, "labels": ["O"]}, "is 3"),
        ({"tokens": ["a"] * 9, "labels": ["O"] * 9}, "at most max_tokens = 8"),
        ({"tokens": ["a"], "labels": ["O"], "weight": -1}, "weight is -1"),
        ({"tokens": ["a"], "labels": ["O"], "id": 1.5}, "id is 1.5"),
    ],
)
def test_st_7_what_is_no_sentence_is_refused(fields, words):
    with pytest.raises(BadRow, match=words):
        task(max_tokens=8).row_from(fields)
    with pytest.raises(ValueError):
        task(max_tokens=8).row_from(fields)


LABELLED = st.lists(st.tuples(st.sampled_from("ABCO"), st.sampled_from("ABCO")), min_size=1, max_size=12)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_st_8_changes_add_up_to_the_score_of_scikit_learn(average):
    from sklearn.metrics import f1_score

    rng, worst = Key(8, ("telescope", average)).generator(), 0.0
    for number in range(1000):
        gold, said = (["ABCO"[i] for i in rng.integers(4, size=n)] for n in [int(rng.integers(1, 9))] * 2)
        score = span_scores.token_f1(gold, said, average)
        if number % 20 == 0:  # it takes milliseconds
            assert score == pytest.approx(f1_score(gold, said, average=average, zero_division=0), abs=1e-12)
        changes, last = (
            earned(gold, said, average=average, labels=tuple("ABCO")),
            earned(gold, said, average=average, dense=False, labels=tuple("ABCO")),
        )
        worst = max(worst, abs(sum(changes) - score), abs(last[-1] - score), abs(sum(last) - score))
    assert worst < 1e-9


@pytest.mark.parametrize("reward", ["token_f1", "span_f1"])
@given(pairs=LABELLED)
def test_running_scores_are_those_of_every_beginning(reward, pairs):
    for scheme, mark in (("io", ""), ("bio", "BI"), ("bioes", "BIES")):
        marked = [
            [
                f"{mark[(i + len(label)) % len(mark)]}-{label}" if mark and label != "O" else label
                for i, label in enumerate(one)
            ]
            for one in zip(*pairs)
        ]
        gold, said = map(tuple, marked)
        follow = running(reward, "macro", scheme)
        tally = follow.start
        assert follow.score(tally) == 0.0
        for n in range(len(gold)):
            tally = follow.after(tally, gold, said[:n], said[n])
            whole = (
                span_scores.span_f1(gold[: n + 1], said[: n + 1], scheme)
                if reward == "span_f1"
                else span_scores.token_f1(gold[: n + 1], said[: n + 1], "macro")
            )
            assert follow.score(tally) == pytest.approx(whole, abs=1e-12)


# ST-9 and ST-10: the vectors


def hashed():
    return pytest.importorskip("loquent.data.features").Hashed(dimension=32)


def vectors(texts, **settings):
    samples = [{"text": text, "labels": ["O"] * len(text.split(" "))} for text in texts]
    return gymnasium.make(
        "loquent/SequenceTagging-v0",
        view="vector",
        source="samples",
        samples=samples,
        labels=list(LABELS),
        **settings,
    )


def test_st_9_a_vector_is_the_token_and_the_label_before():
    featurizer = hashed()
    text = "in mid-July they did n't leave the U.S. , ok"
    env = vectors([text], featurizer=featurizer)
    seen, _ = env.reset(seed=0)
    assert seen.shape == env.observation_space.shape == (32 + 5,)
    assert not seen[32:].any()
    for place, token in enumerate(text.split(" ")):
        np.testing.assert_array_equal(seen[:32], featurizer([token])[0])
        seen, *_ = env.step(place % 5)
        assert seen[32:].tolist() == [float(i == place % 5) for i in range(5)]
    assert not seen[:32].any()  # behind the last token there is none


def test_st_10_environments_share_a_featurizer_and_nothing_else():
    featurizer = hashed()
    texts = ["one two three four", "five six seven eight"]
    apart = [list(walk(vectors([text], featurizer=featurizer))) for text in texts]
    together = list(zip(*(walk(vectors([text], featurizer=featurizer)) for text in texts), strict=True))
    for first, second in zip(apart, zip(*together, strict=True), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(apart[0], apart[1])


def walk(env):
    yield env.reset(seed=0)[0]
    over = False
    while not over:
        seen, _, over, _, _ = env.step(2)
        yield seen


# arXiv:2011.08272 A.2.1: text, true labels, predicted labels, total reward as printed
PRINTED = [
    (
        "Ricky Watters , who leads the NFC in rushing , left the game after getting kneed to the "
        "helmet after gaining 33 yards on seven carries .",
        "PER PER" + " O" * 25,
        "PER PER" + " O" * 4 + " ORG" + " O" * 20,
        0.9629629629629629,
    ),
    ("SACRAMENTO 6 12 .333 8", "ORG O O O O", "LOC O O O O", 0.8000000000000002),
    (  # printed with 34 labels for 35 tokens, and 33/35 as its reward: one O is missing in print
        "Tampico port authorities said fishing restrictions were in place in an area adjacent to "
        "the port because of a geophysical study being carried out in deep waters of the region "
        "from the ship Kenda .",
        "LOC" + " O" * 32 + " MISC" + " O",
        "ORG" + " O" * 32 + " PER" + " O",
        0.9428571428571428,
    ),
    ("BEIJING 1996-12-06", "LOC O", "LOC O", 1.0),
    (
        "What if Google Morphed Into GoogleOS ?",
        "PRON SCONJ PROPN VERB ADP PROPN PUNCT",
        "PRON CCONJ PROPN VERB ADP PROPN PUNCT",
        0.8571428571428571,
    ),
    (
        "They know that the American advent implies for them a demotion , and an elevation of the "
        "Shiites and Kurds , and they refuse to go quietly .",
        "PRON VERB SCONJ DET ADJ NOUN VERB ADP PRON DET NOUN PUNCT CCONJ DET NOUN ADP DET PROPN CCONJ "
        "PROPN PUNCT CCONJ PRON VERB PART VERB ADV PUNCT",
        "PRON VERB PRON DET ADJ NOUN VERB ADP PRON DET NOUN PUNCT CCONJ DET NOUN ADP DET PROPN CCONJ "
        "PROPN PUNCT CCONJ PRON VERB ADP VERB ADV PUNCT",
        0.9285714285714286,
    ),
    ("...", "SYM", "PUNCT", 0.0),
    (
        "Can police trace a cell phone even if it is switched off ?",
        "AUX NOUN VERB DET NOUN NOUN ADV SCONJ PRON AUX VERB ADP PUNCT",
        "AUX ADJ NOUN DET NOUN NOUN ADV CCONJ PRON AUX VERB ADP PUNCT",
        0.7692307692307693,
    ),
]


@pytest.mark.parametrize(("text", "gold", "said", "score"), PRINTED)
def test_st_11_the_sums_of_the_paper(text, gold, said, score):
    gold, said = gold.split(), said.split()
    labels = tuple(sorted({*gold, *said}))
    world, steps = played(gold, said, text, labels)
    assert sum(world.total(step.rewards) for step in steps[1:]) == pytest.approx(score, abs=1e-9)
    world, steps = played(gold, said, text, labels, dense=False)
    assert [world.total(step.rewards) for step in steps[1:]] == pytest.approx(
        [0.0] * (len(gold) - 1) + [score], abs=1e-9
    )


# options


def test_a_word_that_is_no_label_is_a_wrong_label():
    world, steps = played(["O", "O"], [" O\n", "frog"], labels=LABELS)
    assert steps[-1].observation.fields["labels"] == ("O", "")
    assert steps[-1].observation.fields["previous"] == len(world.labels)
    assert [world.total(step.rewards) for step in steps[1:]] == [1.0, -0.5]


def test_what_lies_ahead_is_shown_as_asked():
    texts = {}
    for ahead in (0, 1, -1):
        _, steps = played(["O"] * 3, ["O"] * 3, "a b c", lookahead=ahead)
        texts[ahead] = [step.observation.text for step in steps]
    assert texts == {
        0: ["a/", " b/", " c/", ""],
        1: ["a b\na/", "\nb c\nb/", "\nc\nc/", ""],
        -1: ["a b c\na/", " b/", " c/", ""],
    }


def settle(observation, action, targets):
    """A reward of one's own, in the form of the paper's appendix A.4.2."""
    return float(action == targets[observation.fields["position"]]) - 0.5


def faulty(observation, action, targets):
    raise KeyError("nothing")


def test_a_reward_of_one_s_own():
    assert earned(["O", "PER"], ["O", "O"], labels=("O", "PER"), reward=f"{__name__}:settle") == [0.5, -0.5]
    with pytest.raises(BrokenTask, match="play raised KeyError"):
        earned(["O"], ["O"], reward=f"{__name__}:faulty")
    with pytest.raises(BadSetting, match="not of the form"):
        task(reward="token_f2")


def test_both_scores_are_told_at_the_end_and_one_weighs():
    world, steps = played(["LOC", "O"], ["LOC", "LOC"], labels=LABELS)
    assert dict(steps[1].rewards) == {"token_f1": 1.0}
    assert dict(steps[2].rewards) == {"token_f1": -0.5, "span_f1": 0.0}
    assert dict(world.spec.rewards) == {"token_f1": 1.0, "span_f1": 0.0}
    told = world.info(steps[2].state, "tagged")
    assert told == {
        "score": 0.5,
        "episode_score": 0.5,
        "prediction": ("LOC", "LOC"),
        "target": ("LOC", "O"),
        "is_success": False,
    }
    assert world.info(steps[1].state, None) == {"score": 1.0}


def test_a_corpus_is_measured_by_all_its_tokens():
    world = task()
    games = []
    for gold, said in ((["LOC", "LOC"], ["LOC", "LOC"]), (["PER", "O", "O", "O"], ["O", "O", "O", "O"])):
        row = world.row_from({"tokens": ["x"] * len(gold), "labels": gold})
        step = world.start(row, Key(0))
        for label in said:
            step = world.act(step, label)
        games.append((row, step.observation))
    # five of six tokens; of two right spans one was found, and nothing else was said
    want = {"token_f1": 5 / 6, "span_f1": 2 / 3, "span_precision": 1.0, "span_recall": 0.5, "exact": 0.5}
    assert dict(world.measure(games)) == pytest.approx(want)


def test_api_13_the_corpus_is_no_mean_of_sentences():
    gold, said = [["A"], ["A", "B", "B"]], [["A"], ["A", "A", "A"]]
    each = [span_scores.token_f1(a, b) for a, b in zip(gold, said, strict=True)]
    assert sum(each) / 2 == pytest.approx(2 / 3)
    assert span_scores.corpus_token_f1(gold, said) == pytest.approx(1 / 2)
    # A: right twice, said four times, there twice; B: never said
    assert span_scores.corpus_token_f1(gold, said, "macro") == pytest.approx((2 * 2 / 6 + 0) / 2)
    # spans (A), (A)(B B) against (A), (A A A): one of two is right, of three there are
    found = span_scores.span_scores(gold, said, "io")
    assert (found.precision, found.recall) == pytest.approx((1 / 2, 1 / 3))
    assert (gold, said) == ([["A"], ["A", "B", "B"]], [["A"], ["A", "A", "A"]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": "builtin", "path": "x"}, "belongs to the source 'path'"),
        ({"source": "path"}, "needs path"),
        ({"source": "samples"}, "no row has a label"),
        ({"labels": ("A", "A")}, "different names"),
        ({"labels": (" A",)}, "different names"),
        ({"average": "mean"}, "average"),
        ({"lookahead": -2}, "lookahead"),
        ({"token_field": "a", "label_field": "a"}, "name two columns"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(BadSetting, match=words):
        Tagging(Tagging.Options(**options))


def test_rows_of_unknown_labels_and_unknown_splits():
    samples = (Record(tokens=("a",), labels=("X",)),)
    with pytest.raises(BadRow, match="the label 'X' is unknown"):
        Tagging(Tagging.Options(source="samples", samples=samples, labels=("O",))).rows("train")
    with pytest.raises(UnknownName, match="dev"):
        Tagging().rows("dev")
    assert Tagging(Tagging.Options(source="samples", samples=samples)).labels == ("X",)


@pytest.mark.parametrize(
    "options",
    [
        {"dense": False},
        {"reward": "span_f1", "lookahead": 2},
        {"average": "macro", "lookahead": -1},
        {"average": "weighted", "instruct": False},
    ],
)
def test_the_laws_hold_under_every_option(options):
    assert check(Tagging(Tagging.Options(limit=40, **options)), episodes=6) == []


def test_context_matters_in_the_built_in_sentences():
    """A token alone tells the label less often than with the label before it, and less often than with its
    neighbours.
    """
    rows = {split: Tagging().rows(split) for split in ("train", "test")}
    plain = {
        token
        for row in rows["train"]
        for token, label in zip(row["tokens"], row["labels"], strict=True)
        if label == "O"
    }
    seen = {
        "token": lambda tokens, labels, i: tokens[i],
        "previous label": lambda tokens, labels, i: (tokens[i], labels[i - 1] if i else ""),
        "neighbours": lambda tokens, labels, i: (
            tokens[i - 1] if i else "",
            tokens[i] in plain,
            tokens[i + 1] if i + 1 < len(tokens) else "",
        ),
    }
    right = {name: best_by_table(rows, of) for name, of in seen.items()}
    assert 0.7 < right["token"] < right["previous label"] - 0.02
    assert right["neighbours"] > right["token"] + 0.05


def best_by_table(rows, of):
    """The share of test labels that are right when each is the commonest of train under what `of` sees."""
    table = {}
    for row in rows["train"]:
        for i, label in enumerate(row["labels"]):
            table.setdefault(of(row["tokens"], row["labels"], i), []).append(label)
    best = {key: max(sorted(set(labels)), key=labels.count) for key, labels in table.items()}
    pairs = [
        (best.get(of(row["tokens"], row["labels"], i), "O"), label)
        for row in rows["test"]
        for i, label in enumerate(row["labels"])
    ]
    return sum(a == b for a, b in pairs) / len(pairs)
