"""SummaC: the original's stored output, by hand on one pair, what it refuses, the laws."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.metrics import pairs, tiny_layer, tiny_networks
from helpers.metrics.laws import check_laws, rows
from loquent.core.metric import Context, Samples
from loquent.errors import BadModel, BadRow, BadSetting
from loquent.metrics.consistency.convolution import BINS, Convolution
from loquent.metrics.consistency.inference import find_label
from loquent.metrics.consistency.summac import summac_conv, summac_zs
from loquent.metrics.sentences import sentences

GOLDEN = Path(__file__).parents[1] / "golden" / "summac.json"
LABELS = ["contradiction", "neutral", "entailment"]
SMALL = {"device": "cpu", "dtype": "float64"}
DOCUMENT = "The cat sat on the mat. Dogs were barking outside all night!"
SUMMARY = "A cat was sitting there. No dog was to be heard."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_networks.classifier(tmp_path_factory.mktemp("nli"), LABELS, context=128))


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """layer(bins, labels): a file of weights."""
    from safetensors.numpy import save_file

    place = tmp_path_factory.mktemp("layers")

    def write(bins=23, labels=1):
        save_file(tiny_layer.tensors(bins, labels), place / f"{bins}-{labels}.safetensors")
        return str(place / f"{bins}-{labels}.safetensors")

    return write


def scored(metric, documents, summaries, **fields):
    (scores,) = metric(
        Samples(summaries, [()] * len(summaries), documents, rows(len(summaries), **fields))
    ).samples.values()
    return scores


@pytest.mark.data
def test_m8_equal_to_the_original(beside, tmp_path, layer):
    stored = json.loads(GOLDEN.read_text())["scores"]
    path = str(tiny_networks.classifier(tmp_path, LABELS, context=512))
    given = {"path": path, **SMALL}
    metrics = {
        "zs": summac_zs(Context(), **given),
        "zs-contradiction": summac_zs(Context(), use_contradiction=True, op2="min", **given),
        "zs-mean-max": summac_zs(
            Context(), use_entailment=False, use_contradiction=True, op1="mean", op2="max", **given
        ),
        "conv-even50-e-mean": summac_conv(Context(), weights=layer(50), bins="even50", **given),
        "conv-percentile-e-mean": summac_conv(Context(), weights=layer(23), **given),
        "conv-even50-ecn-all": summac_conv(
            Context(), weights=layer(50, 3), bins="even50", labels="ecn", over="all", **given
        ),
    }
    documents, summaries = pairs.summaries(beside)
    assert metrics.keys() == stored.keys()
    assert len(summaries) >= 200
    images = metrics["zs"].inference.images(documents, summaries, contradiction=True)
    scores = {
        name: metric.convolution().score if name.startswith("conv") else metric.score
        for name, metric in metrics.items()
    }
    found = {name: np.array([score(image) for image in images]) for name, score in scores.items()}
    for name in ("zs", "conv-even50-ecn-all"):
        assert scored(metrics[name], documents[:20], summaries[:20]) == pytest.approx(
            found[name][:20].tolist(), abs=1e-9
        )
    assert {name: np.abs(values - stored[name]).max() for name, values in found.items()} == {
        name: pytest.approx(0, abs=1e-6) for name in stored
    }
    assert (
        min(np.abs(np.array(stored["zs"]) - stored[name]).mean() for name in stored if name != "zs") > 1e-2
    ), "each differs from the first"


def test_zero_shot_by_hand(folder):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, module = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForSequenceClassification.from_pretrained(folder).double().eval(),
    )
    given = tokenizer(
        [premise for premise in sentences(DOCUMENT) for _ in range(2)],
        sentences(SUMMARY) * 2,
        return_tensors="pt",
        padding=True,
    )
    with torch.no_grad():
        # [document, summary, label]
        probabilities = module(**given).logits.softmax(1).reshape(2, 2, 3).numpy()
    entailed, contradicted = probabilities[..., 2], probabilities[..., 0]
    assert scored(summac_zs(Context(), path=folder, **SMALL), [DOCUMENT], [SUMMARY]) == [
        pytest.approx(entailed.max(0).mean(), abs=1e-9)
    ]
    both = summac_zs(Context(), path=folder, use_contradiction=True, op1="min", op2="max", **SMALL)
    assert scored(both, [DOCUMENT], [SUMMARY]) == [
        pytest.approx((entailed.min(0) - contradicted.min(0)).max(), abs=1e-9)
    ]
    named = summac_zs(Context(), path=folder, entailment=0, **SMALL)
    assert scored(named, [DOCUMENT], [SUMMARY]) == [pytest.approx(contradicted.max(0).mean(), abs=1e-9)]


def test_conv_by_hand():
    image = np.zeros((3, 3, 2))
    # even50: column 0 in bins 0, 25, 49; column 1 twice in bin 0, once in 49
    image[0] = [[0.0, 0.99], [0.5, 0.01], [1.0, 0.01]]
    weight = np.zeros(50)
    weight[[0, 25, 49]] = 0.1, 0.2, 0.4
    layer = Convolution(
        weight, 0.05, np.array([[0.0, 0, 0], [1, 1, 1]]), np.array([0.0, -0.5]), "even50", "e", "mean"
    )
    mean = ((0.1 + 0.2 + 0.4 + 0.05) + (0.2 + 0.4 + 0.05)) / 2
    assert layer.score(image) == pytest.approx(1 / (1 + np.exp(-(3 * mean - 0.5))), abs=1e-12)
    assert layer.score(np.repeat(image, 9, axis=2)) == pytest.approx(
        layer.score(np.repeat(image, 9, axis=2)[:, :, :10]), abs=1e-12
    ), "ten sentences"
    assert [len(edges) for edges in BINS.values()] == [24, 51]


def test_conv_refuses_to_run_without_its_weights(folder, layer, tmp_path):
    with pytest.raises(BadSetting, match="summac_conv needs weights"):
        summac_conv(Context(), path=folder)
    with pytest.raises(
        BadModel, match=r"none.safetensors' is not a file. A safetensors file with trained weights is needed"
    ):
        scored(
            summac_conv(Context(), path=folder, weights=str(tmp_path / "none.safetensors")),
            [DOCUMENT],
            [SUMMARY],
        )
    (tmp_path / "torn.bin").write_bytes(b"PK\x03\x04")
    with pytest.raises(BadModel, match="not a safetensors file"):
        scored(summac_conv(Context(), path=folder, weights=str(tmp_path / "torn.bin")), [DOCUMENT], [SUMMARY])
    with pytest.raises(
        BadModel,
        match=r"'mlp.weight' has the shape \(1, 50\); with bins = percentile and labels = e the shape \(1, "
        r"23\) is needed",
    ):
        scored(summac_conv(Context(), path=folder, weights=layer(50)), [DOCUMENT], [SUMMARY])


def test_what_is_read(folder):
    zs = summac_zs(Context(), path=folder, **SMALL)
    assert scored(zs, ["", "Too short.", DOCUMENT, DOCUMENT], [SUMMARY, SUMMARY, "", "Short."]) == [
        None,
        None,
        0.0,
        0.0,
    ]
    whole = summac_zs(Context(), path=folder, granularity="document", **SMALL)
    assert scored(whole, [DOCUMENT], [SUMMARY]) != scored(zs, [DOCUMENT], [SUMMARY])
    paragraphs = summac_zs(Context(), path=folder, granularity="paragraph", **SMALL)
    assert scored(paragraphs, ["\n".join(sentences(DOCUMENT))], ["\n".join(sentences(SUMMARY))]) == scored(
        zs, [DOCUMENT], [SUMMARY]
    )
    first = summac_zs(Context(), path=folder, most=1, **SMALL)
    assert scored(first, [DOCUMENT], [SUMMARY]) == scored(zs, [sentences(DOCUMENT)[0]], [SUMMARY])
    of_row = summac_zs(Context(), path=folder, field="article", **SMALL)
    assert scored(of_row, ["no document."], [SUMMARY], article=DOCUMENT) == scored(zs, [DOCUMENT], [SUMMARY])
    with pytest.raises(BadRow, match="row r0: the field 'article' with the document is None"):
        scored(of_row, [DOCUMENT], [SUMMARY])
    with pytest.raises(BadSetting, match="both off"):
        summac_zs(Context(), path=folder, use_entailment=False)


def test_which_label_means_entailment(folder, tmp_path):
    from loquent import pretrained

    for number, names in enumerate(
        (["ENTAILMENT", "neutral", "CONTRADICTION"], ["not_entailment", "entailment"], ["LABEL_0", "LABEL_1"])
    ):
        place = tmp_path / str(number)
        place.mkdir()
        network = pretrained.load_classifier(tiny_networks.classifier(place, names), device="cpu")
        if number < 2:
            assert find_label(network, "entailment", "") == number
        else:
            with pytest.raises(
                BadModel,
                match=r"the label for entailment is not clear.* 0: LABEL_0, 1: LABEL_1; .*Set the option "
                r"entailment",
            ):
                find_label(network, "entailment", "")
            assert find_label(network, "entailment", "label_1") == find_label(network, "entailment", 1) == 1


def test_laws(folder, layer):
    check_laws(summac_zs(Context(), path=folder, **SMALL), 0, 1, examples=6)
    check_laws(summac_zs(Context(), path=folder, use_contradiction=True, **SMALL), -1, 1, examples=4)
    check_laws(summac_conv(Context(), path=folder, weights=layer(), **SMALL), 0, 1, examples=6)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("  \n ", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        (
            "Dr. Smith met J. R. Jones in the U.S. Senate. It rained.",
            ["Dr. Smith met J. R. Jones in the U.S. Senate.", "It rained."],
        ),
        (
            "See Fig. 3 and Sec. 4, e.g. the mean of 1.5. Done.",
            ["See Fig. 3 and Sec. 4, e.g. the mean of 1.5.", "Done."],
        ),
        ("A title\n\nand a text ... that goes on.", ["A title", "and a text ... that goes on."]),
        ("猫坐。狗跑！", ["猫坐。", "狗跑！"]),
    ],
)
def test_sentences(text, parts):
    assert sentences(text) == parts


def test_sentences_lose_nothing_and_take_linear_time():
    text = 'a. "B." (C!) ' * 5000
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.data
def test_sentences_agree_with_nltks(beside):
    import nltk

    documents, _ = pairs.summaries(beside)
    nltk.data.path.insert(0, str(beside / "data" / "nltk_data"))
    try:
        theirs = [ends(nltk.tokenize.sent_tokenize(text)) for text in documents]
    finally:
        nltk.data.path.pop(0)
    ours, naive = (
        [ends(sentences(text)) for text in documents],
        [ends(text.replace(". ", ".\0").split("\0")) for text in documents],
    )
    assert agreement(ours, theirs) > 0.99
    assert agreement(naive, theirs) < agreement(ours, theirs), "the twin: cut at every full stop"


def ends(parts):
    """Where sentences end, white space not counted."""
    return set(np.cumsum([len("".join(part.split())) for part in parts]).tolist())


def agreement(left, right):
    """F1 of ends."""
    both = sum(len(a & b) for a, b in zip(left, right, strict=True))
    return 2 * both / sum(len(a) + len(b) for a, b in zip(left, right, strict=True))
