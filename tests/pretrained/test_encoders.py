"""Encoders: a small network made here, compared with the library's own forward pass, one text at a time."""

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from transformers import AutoModel

from helpers import small_encoder
from loquent.errors import BadModel, BadSetting
from loquent.pretrained.featurizers import Contextual, Sentence


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a small encoder."""
    return small_encoder.write(tmp_path_factory.mktemp("encoder"))


def states(folder, ids, layer=-1):
    """The library's hidden states of one row of ids."""
    module = AutoModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32).eval()
    with torch.no_grad():
        return (
            module(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0].numpy()
        )


def test_a_token_has_the_mean_over_its_pieces_in_its_sentence(folder):
    encoder = Contextual(model=str(folder))
    tokens = ("the", "mid-july", "n't", "cats", "\u200b")
    assert encoder.dimension == 16
    found = encoder.tokens(tokens)
    right = states(folder, [2, 4, 7, 8, 9, 10, 11, 12, 5, 14, 1, 3][:12])
    #            [CLS] the | mid - july | n ' t | cat ##s | a space without a width, unknown | [SEP]
    expected = [right[1], right[2:5].mean(0), right[5:8].mean(0), right[8:10].mean(0), right[10]]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found[1] - right[1:4].mean(0)).max() > 1e-2  # a shift by one piece is seen


def test_layers_and_texts(folder):
    first = Contextual(model=str(folder), layer=0)
    right = states(folder, [2, 4, 5, 3], layer=0)
    np.testing.assert_allclose(first(["the cat", ""]), [right[1:3].mean(0), np.zeros(16)], atol=1e-5)
    with pytest.raises(BadModel, match=r"use 0 .* to 2"):
        Contextual(model=str(folder), layer=5)(["the"])


def test_the_mean_of_all_layers(folder):
    found = Contextual(model=str(folder), average=True)(["the cat"])[0]
    right = np.mean([states(folder, [2, 4, 5, 3], layer=layer)[1:3].mean(0) for layer in range(3)], axis=0)
    np.testing.assert_allclose(found, right, atol=1e-5)
    assert np.abs(found - Contextual(model=str(folder))(["the cat"])[0]).max() > 1e-3


def test_a_batch_is_what_its_texts_are_alone(folder):
    texts = ["the", "the cat sat .", "cat", "", "mid - july the cat sat the cat sat the cat"]
    together, alone = Contextual(model=str(folder)), Contextual(model=str(folder))
    np.testing.assert_allclose(together(texts), [alone([text])[0] for text in texts], atol=1e-5)
    sentences = [tuple(text.split()) for text in texts]
    together.warm([], sentences)
    for sentence in sentences:
        np.testing.assert_allclose(together.tokens(sentence), alone.tokens(sentence), atol=1e-5)


def test_what_is_beyond_the_context_is_zeros(folder):
    encoder = Contextual(model=str(folder))
    found = encoder.tokens(("the",) * 14)
    assert found[:10].any(axis=1).all()
    assert not found[10:].any()


def test_sentences_have_length_one(folder):
    right = states(folder, [2, 4, 5, 3])
    mean, first = Sentence(model=str(folder)), Sentence(model=str(folder), pooling="first")
    np.testing.assert_allclose(mean(["the cat"])[0], right.mean(0) / np.linalg.norm(right.mean(0)), atol=1e-5)
    np.testing.assert_allclose(first(["the cat"])[0], right[0] / np.linalg.norm(right[0]), atol=1e-5)
    assert not mean(["", " "]).any()
    assert mean.identity != first.identity


def test_a_folder_says_its_own_pooling(folder, tmp_path):
    copied = tmp_path / "copied"
    copied.mkdir()
    for file in folder.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    (copied / "1_Pooling").mkdir()
    (copied / "1_Pooling" / "config.json").write_text(
        json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    )
    assert (
        Sentence(model=str(copied))(["the cat"]) == Sentence(model=str(folder), pooling="first")(["the cat"])
    ).all()
    (copied / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(BadSetting, match="set pooling=mean or pooling=first"):
        Sentence(model=str(copied))(["the cat"])


def test_odd_texts_and_copies(folder):
    encoder = Sentence(model=str(folder))
    assert np.isfinite(encoder(["\ud800", "\0", "😀" * 50])).all()
    assert copy.deepcopy(encoder) is encoder
    again = pickle.loads(pickle.dumps(encoder))
    assert len(pickle.dumps(encoder)) < 500
    np.testing.assert_array_equal(again(["the cat"]), encoder(["the cat"]))
    assert again.identity == encoder.identity


def test_loading_draws_from_no_global_stream(folder):
    before = torch.random.get_rng_state()
    Sentence(model=str(folder))(["the"])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_missing_model_is_named():
    with pytest.raises(BadModel, match="no such folder"):
        Sentence(model="./nowhere")(["a"])
