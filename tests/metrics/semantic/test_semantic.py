"""BLEURT, sentence vectors, classifiers and intents, on tiny networks.

The libraries' own forward pass one text at a time is the reference.
"""

import subprocess
import sys

import numpy as np
import pytest

from helpers.metrics import tiny_networks
from helpers.metrics.laws import check_laws, rows
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadModel, BadRow, BadSetting
from loquent.metrics.semantic.intent import intent_accuracy
from loquent.metrics.semantic.semantic import bleurt, classifier, embedding_similarity
from loquent.pretrained import load_classifier

SMALL = {"device": "cpu", "dtype": "float64"}
SAID, TOLD = ["a cat sat", "dogs", ""], [["the cat", "a cat"], ["no"], ["x"]]
NAMES = ("bert_score", "bleurt", "classifier", "embedding_similarity", "intent_accuracy", "summac_zs")
INTENTS = ("inform", "question", "directive", "commissive")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("networks")
    return {
        "encoder": str(tiny_networks.encoder(place / "encoder")),
        "regression": str(tiny_networks.classifier(place / "regression", ["score"])),
        "moods": str(tiny_networks.classifier(place / "moods", ["bad", "fair", "good"])),
        "tags": str(
            tiny_networks.classifier(place / "tags", ["rude", "funny"], problem="multi_label_classification")
        ),
        "intents": str(tiny_networks.classifier(place / "intents", list(INTENTS), seed=1)),
    }


def alone(folder, *texts, side="right", limit=64):
    """The logits of one text or pair by the library itself."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side=side)
    given = tokenizer(*([text] for text in texts), return_tensors="pt", truncation=True, max_length=limit)
    with torch.no_grad():
        return (
            AutoModelForSequenceClassification.from_pretrained(folder)
            .double()
            .eval()(**given)
            .logits[0]
            .numpy()
        )


def softmax(logits):
    return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()


# ---- bleurt


def test_bleurt_reads_reference_then_prediction_for_each_reference(folders):
    metric = bleurt(Context(), path=folders["regression"], **SMALL)
    right = [
        [alone(folders["regression"], told, said)[0] for told in own]
        for said, own in zip(SAID, TOLD, strict=True)
    ]
    measured = metric(Samples([*SAID, "x"], [*TOLD, []], [""] * 4, rows(4)))
    assert measured.samples["bleurt"] == [*(pytest.approx(max(own), abs=1e-9) for own in right), None]
    assert measured.corpus["bleurt"] == pytest.approx(np.mean([max(own) for own in right]))
    mean = bleurt(Context(), path=folders["regression"], over="mean", **SMALL)
    assert mean(Samples(SAID, TOLD, [""] * 3, rows(3))).samples["bleurt"][0] == pytest.approx(
        np.mean(right[0]), abs=1e-9
    )
    assert right[0][0] != pytest.approx(right[0][1], abs=1e-3)
    turned = alone(folders["regression"], SAID[0], TOLD[0][0])[0]
    assert turned != pytest.approx(right[0][0], abs=1e-3), "the twin: the other way round"
    joined = alone(folders["regression"], str(TOLD[0]), SAID[0])[0]
    assert joined != pytest.approx(max(right[0]), abs=1e-3), "the twin: references as one string"


def test_bleurt_has_one_output_and_no_default(folders):
    with pytest.raises(BadSetting, match="bleurt needs path"):
        bleurt(Context())
    with pytest.raises(BadModel, match="one output; this one has the labels 0: bad, 1: fair, 2: good"):
        bleurt(Context(), path=folders["moods"], **SMALL)(Samples(["a"], [["b"]], [""], rows(1)))


# ---- sentence vectors


def test_embedding_similarity_is_the_cosine_with_the_nearest_reference(folders):
    from loquent.pretrained.featurizers import Sentence

    metric = embedding_similarity(Context(), path=folders["encoder"], device="cpu")
    vectors = Sentence(model=folders["encoder"], device="cpu")
    cosines = [vectors([SAID[0]])[0] @ vectors([told])[0] for told in TOLD[0]]
    measured = metric(Samples([*SAID, "x", "x"], [*TOLD, [" "], []], [""] * 5, rows(5)))
    assert measured.samples["embedding_similarity"][0] == pytest.approx(max(cosines), abs=1e-6)
    assert measured.samples["embedding_similarity"][2:] == [0.0, None, None]
    mean = embedding_similarity(Context(), path=folders["encoder"], device="cpu", over="mean")
    assert mean(Samples(SAID, TOLD, [""] * 3, rows(3))).samples["embedding_similarity"][0] == pytest.approx(
        np.mean(cosines), abs=1e-6
    )


# ---- classifiers


@pytest.mark.parametrize("label", ["Good", 2])
def test_classifier_gives_the_probability_of_a_label(folders, label):
    measured = classifier(Context(), path=folders["moods"], label=label, **SMALL)(
        Samples(SAID, TOLD, [""] * 3, rows(3))
    )
    right = [softmax(alone(folders["moods"], text))[2] for text in SAID]
    assert measured.samples["classifier"] == pytest.approx(right, abs=1e-9)
    assert max(right) - min(right) > 1e-2


def test_labels_that_exclude_nothing_have_each_their_own(folders):
    measured = classifier(Context(), path=folders["tags"], label="funny", **SMALL)(
        Samples(SAID, TOLD, [""] * 3, rows(3))
    )
    assert measured.samples["classifier"] == pytest.approx(
        [1 / (1 + np.exp(-alone(folders["tags"], text)[1])) for text in SAID], abs=1e-9
    )


def test_the_prompt_counts_where_told_and_the_end_of_a_long_text_is_kept(folders):
    metric = classifier(Context(), path=folders["moods"], label=0, include_prompt=True, **SMALL)
    prompt = "once upon a time " * 9
    (score,) = metric(Samples(["good end"], [[]], [prompt], rows(1))).samples["classifier"]
    kept, cut = (
        softmax(alone(folders["moods"], prompt + "good end", side=side))[0] for side in ("left", "right")
    )
    assert score == pytest.approx(kept, abs=1e-9)
    assert score != pytest.approx(cut, abs=1e-4), "the twin: cut at the end"
    without = classifier(Context(), path=folders["moods"], label=0, **SMALL)(
        Samples(["good end"], [[]], [prompt], rows(1))
    )
    assert without.samples["classifier"] != [pytest.approx(score, abs=1e-4)]


def test_a_label_that_is_none(folders):
    with pytest.raises(
        BadModel, match="has no label 'great'; choose one of those known: 0: bad, 1: fair, 2: good"
    ):
        classifier(Context(), path=folders["moods"], label="great", **SMALL)(
            Samples(["a"], [[]], [""], rows(1))
        )


# ---- intents


def asked(*intents):
    return [
        Row(f"r{i}", Record() if intent is None else Record(intent=intent))
        for i, intent in enumerate(intents)
    ]


def test_intent_accuracy_by_hand(folders):
    said, prompts = (
        ["yes<EOU>", "when?", "go", "ok"],
        ["hi<EOU>how are you <EOU>", "hello", "", "a<EOU>b<EOU> "],
    )
    texts = ["how are you <EOU>yes<EOU>", "hello<EOU>when?", "<EOU>go", "b<EOU>ok"]
    heard = [int(alone(folders["intents"], text).argmax()) for text in texts]
    metric = intent_accuracy(Context(), path=folders["intents"], **SMALL)
    right = asked(heard[0] + 1, INTENTS[heard[1]], (heard[2] + 1,), None)
    measured = metric(Samples(said, [[]] * 4, prompts, right))
    assert measured.samples["intent_accuracy"] == [1, 1, 1, None]
    assert measured.corpus == {"intent_accuracy": 1.0}
    wrong = asked(*((label + 1) % 4 + 1 for label in heard))
    assert metric(Samples(said, [[]] * 4, prompts, wrong)).samples["intent_accuracy"] == [0, 0, 0, 0]


ANSWERS = [chr(97 + 5 * i % 26) * (i % 9 + 1) + " ok"[: i % 4] for i in range(24)]


def heard(metric, said, prompts):
    """The intent that a metric hears in each answer: the one for which it gives 1."""
    scores = np.array(
        [
            metric(Samples(said, [[]] * len(said), prompts, asked(*[k] * len(said)))).samples[
                "intent_accuracy"
            ]
            for k in (1, 2, 3, 4)
        ]
    )
    assert (scores.sum(0) == 1).all()
    return (scores.argmax(0) + 1).tolist()


def test_the_separator_reaches_the_classifier(folders):
    texts = [
        (intent_accuracy(Context(), path=folders["intents"], separator=separator, **SMALL))
        for separator in ("<EOU>", "")
    ]
    one, other = (heard(metric, ANSWERS, ["so"] * 24) for metric in texts)
    assert one != other


def test_m9_the_score_of_an_episode_depends_on_it_alone(folders):
    metric = intent_accuracy(Context(), path=folders["intents"], **SMALL)
    prompts = [f"{'hm' * (i % 5)}<EOU>" for i in range(24)]
    labels = heard(metric, ANSWERS, prompts)
    assert len(set(labels)) >= 3
    wanted = asked(*(label if i % 2 else label % 4 + 1 for i, label in enumerate(labels)))
    whole = metric(Samples(ANSWERS, [[]] * 24, prompts, wanted)).samples["intent_accuracy"]
    assert whole == [i % 2 for i in range(24)]
    order = [(7 * i) % 24 for i in range(24)]
    turned = metric(
        Samples(
            [ANSWERS[i] for i in order], [[]] * 24, [prompts[i] for i in order], [wanted[i] for i in order]
        )
    ).samples["intent_accuracy"]
    assert turned == [whole[i] for i in order]
    for size in (1, 5):
        parts = [
            metric(
                Samples(
                    ANSWERS[i : i + size],
                    [[]] * len(ANSWERS[i : i + size]),
                    prompts[i : i + size],
                    wanted[i : i + size],
                ),
            )
            for i in range(0, 24, size)
        ]
        assert [score for part in parts for score in part.samples["intent_accuracy"]] == whole
    cumulative = [sum(whole[: i + 1]) / (i + 1) for i in range(24)]
    assert cumulative != whole, "the twin: a mean over the episodes so far, as RL4LMs' reward has it"
    assert metric(Samples([])).samples == {"intent_accuracy": []}


@pytest.mark.parametrize("bad", [0, 5, "gossip", 1.5, True, (1, 2)])
def test_an_intent_that_is_none(folders, bad):
    with pytest.raises(
        BadRow,
        match=r"row r0: the classifier does not have the intent .* allowed are 1 to 4, or a name of 0: "
        r"inform",
    ):
        intent_accuracy(Context(), path=folders["intents"], **SMALL)(Samples(["a"], [[]], ["b"], asked(bad)))


# ---- long pairs


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_long_pair_is_truncated_as_the_library_does(folders, side):
    network = load_classifier(folders["regression"], device="cpu", dtype="float64")
    network.tokenizer.truncation_side = side
    texts = [" ".join(SAID[i % 3] for i in range(k)) for k in (1, 9, 20, 40, 41)]
    for first in texts:
        for second in texts:
            expected = network.tokenizer([first], [second], truncation=True, max_length=64)["input_ids"]
            assert network.encode([first], [second])[0] == [*expected]


def test_a_long_pair_takes_no_gigabytes(folders):
    """The library's tokenizers keep every combination of the pieces that truncation removes."""
    script = f"""
import resource
from loquent.pretrained import load_classifier
network = load_classifier({folders["regression"]!r}, device="cpu", dtype="float64")
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
print(network.logits([" a cat" * 8000], [" the dog" * 8000]).shape)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "(1, 1)\n", done.stderr[-500:]


# ---- all


def test_laws(folders):
    check_laws(bleurt(Context(), path=folders["regression"], **SMALL), -1e3, 1e3, examples=8)
    check_laws(bleurt(Context(), path=folders["regression"], over="mean", **SMALL), -1e3, 1e3, examples=4)
    check_laws(classifier(Context(), path=folders["moods"], include_prompt=True, **SMALL), 0, 1, examples=8)
    check_laws(embedding_similarity(Context(), path=folders["encoder"], device="cpu"), -1, 1, examples=8)
    intent = intent_accuracy(Context(), path=folders["intents"], **SMALL)
    check_laws(intent, 0, 1, row=lambda n: rows(n, intent=2), examples=8)


def test_a_prediction_equal_to_its_reference_has_cosine_one(folders):
    metric = embedding_similarity(Context(), path=folders["encoder"], device="cpu")
    assert metric(Samples(["a cat"], [["a cat"]], [""], rows(1))).samples["embedding_similarity"] == [
        pytest.approx(1, abs=1e-6)
    ]


@pytest.mark.parametrize("make", [bleurt, classifier, embedding_similarity, intent_accuracy])
def test_nothing_is_loaded_before_it_is_needed_and_a_missing_folder_is_named(make, tmp_path):
    metric = make(Context(), path=str(tmp_path / "none"), device="cpu")
    with pytest.raises(BadModel, match=r"none: there is no such folder$"):
        metric(Samples(["a"], [["b"]], [""], asked(1)))


@pytest.mark.parametrize("name", ["pooling", "over", "device"])
def test_a_wrong_option_of_the_similarity_is_named_before_an_encoder_is_loaded(name):
    with pytest.raises(BadSetting, match=f"embedding_similarity.{name} must be one of .*, got 'other'"):
        embedding_similarity(Context(), path="none", **{name: "other"})


def test_a_missing_extra_is_named_when_a_metric_is_asked():
    """A process in which torch cannot be imported, as after a plain `pip install loquent`."""
    script = """
import sys
for name in ("torch", "transformers"): sys.modules[name] = None
from loquent.core import registry
from loquent.errors import MissingExtra
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
for name in ("bert_score", "bleurt", "classifier", "embedding_similarity", "intent_accuracy", "summac_zs"):
    metric = registry.find("metric", name)(Context(), path="any")
    try:
        metric(Samples(["a long answer."], [["b"]], ["a long prompt."], [Row("r", Record(intent=1))]))
    except MissingExtra as error:
        print(name, "loquent[train]" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [word for name in NAMES for word in (name, "True")]
