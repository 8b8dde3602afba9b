"""The upvote model of ILQL's release: the layout of its weights, its numbers, and training one."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from transformers import DistilBertConfig, DistilBertModel, RobertaConfig, RobertaModel, RobertaTokenizerFast

import loquent
from helpers import small_encoder
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key, borrow_generators
from loquent.core.values import Record
from loquent.errors import BadModel
from loquent.metrics.judges import folders
from loquent.metrics.judges.encoders import EncoderSettings
from loquent.tasks.comments.learned import transformer
from loquent.tasks.comments.learned.examples import About

TEXTS = ["the cat sat on the mat", "a dog", "good night to the cat and to the dog"]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}


class Released(nn.Module):
    """The module of the released code, written again: its attributes give the names of the weights."""

    def __init__(self, encoder):
        super().__init__()
        self.model = encoder
        width = encoder.config.hidden_size
        self.layers = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, 1))

    def forward(self, ids, mask):
        return torch.sigmoid(self.layers(self.model(ids, attention_mask=mask).pooler_output)).squeeze(1)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    """A folder with a small untrained RoBERTa and its tokenizer."""
    folder = tmp_path_factory.mktemp("roberta")
    inner = ByteLevelBPETokenizer()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    inner.train_from_iterator(TEXTS, vocab_size=300, special_tokens=marks, show_progress=False)
    inner.save_model(str(folder))
    tokenizer = RobertaTokenizerFast.from_pretrained(folder, model_max_length=38)
    tokenizer.save_pretrained(folder)
    with borrow_generators(Key(3)):
        RobertaModel(
            RobertaConfig(vocab_size=len(tokenizer), initializer_range=0.5, **SIZES)
        ).save_pretrained(folder)
    return folder


def written(roberta, folder, change=lambda tensors: None):
    """A checkpoint of the released code beside the encoder's config and tokenizer; returns the module."""
    folder.mkdir()
    for file in roberta.iterdir():
        if file.name != "model.safetensors":
            (folder / file.name).write_bytes(file.read_bytes())
    with borrow_generators(Key(4)):
        module = Released(RobertaModel.from_pretrained(roberta)).eval()
        nn.init.normal_(module.layers[2].weight)
    # saved as the released code does, and converted as docs/comments.md says
    torch.save(module.state_dict(), folder / "model.pkl")
    weights = torch.load(folder / "model.pkl", map_location="cpu", weights_only=True)
    tensors = {name: tensor.contiguous() for name, tensor in weights.items()}
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return module


def test_weights_of_the_release_give_its_numbers(roberta, tmp_path):
    module = written(roberta, tmp_path / "upvotes")
    classifier = folders.load(str(tmp_path / "upvotes"))
    assert classifier.labels == ("1",)
    tokenizer = RobertaTokenizerFast.from_pretrained(roberta)
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = module(encoded["input_ids"], encoded["attention_mask"])
    assert expected.max() - expected.min() > 0.01, "the texts differ"
    np.testing.assert_allclose(classifier(TEXTS)[:, 0], expected, atol=1e-6)


def test_a_voter_of_the_release(roberta, tmp_path):
    def upvotes_all(tensors):
        tensors["layers.2.bias"].fill_(1e3)

    def upvotes_none(tensors):
        tensors["layers.2.bias"].fill_(-1e3)

    rows = {"parent": "the cat", "comment": "a dog", "label": 0}
    source = tmp_path / "rows"
    source.mkdir()
    (source / "test.jsonl").write_text(json.dumps(rows) + "\n")
    for name, change, vote in (("all", upvotes_all, 1.0), ("none", upvotes_none, -1.0)):
        written(roberta, tmp_path / name, change)
        voter = Record(kind="comments/classifier", path=str(tmp_path / name))
        task = loquent.task("comments", source="path", path=str(source), voter=voter)
        [episode] = play(task, games(task.rows("test")), make("comments/recorded", task), seed=0)
        assert episode.rewards["upvotes"] == vote


def test_incomplete_weights_are_refused(roberta, tmp_path):
    written(roberta, tmp_path / "a", lambda tensors: tensors.pop("layers.0.bias"))
    with pytest.raises(BadModel, match=r"lack 1 tensors, the first is 'layers\.0\.bias'"):
        folders.load(str(tmp_path / "a"))
    written(roberta, tmp_path / "b", lambda tensors: tensors.pop("model.pooler.dense.weight"))
    with pytest.raises(BadModel, match=r"'model\.pooler\.dense\.weight'"):
        folders.load(str(tmp_path / "b"))
    (tmp_path / "b" / "model.safetensors").write_bytes(b"\x80\x04not tensors")
    with pytest.raises(BadModel, match="not a safetensors file"):
        folders.load(str(tmp_path / "b"))


@pytest.mark.parametrize(("kind", "labels"), [("upvotes", ("1",)), ("toxicity", ("0", "2"))])
def test_the_head_of_the_release_is_trained(roberta, tmp_path, kind, labels):
    rows = [
        {"comment": "the cat sat" if i % 2 else "good night", "score": i % 2, "label": i % 2 * 2}
        for i in range(48)
    ]
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = loquent.task("comments", source="path", path=str(tmp_path))
    settings = EncoderSettings(model=str(roberta), learning_rate=3e-3, epochs=4, most_tokens=12)
    found = [transformer.train(task, tmp_path / name, About(kind), settings) for name in "ab"]
    assert found[0] == found[1], "the same seed gives the same network"
    assert found[0]["roc_auc"] > 0.95
    names = set(load_file(tmp_path / "a" / "model.safetensors"))
    assert {"layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"} <= names
    assert all(name.startswith(("model.", "layers.")) for name in names)
    classifier = folders.load(str(tmp_path / "a"))
    assert classifier.labels == labels
    assert classifier.probabilities.__self__.tokenizer.model_max_length == 12, "read as it was trained"


def test_an_encoder_without_a_pooled_state_is_refused(tmp_path):
    for split in ("train", "test"):
        rows = [json.dumps({"comment": "the cat", "score": score}) for score in (0, 1)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
    task = loquent.task("comments", source="path", path=str(tmp_path))
    encoder = small_encoder.write(tmp_path / "encoder")
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 12}
    DistilBertModel(DistilBertConfig(vocab_size=len(small_encoder.WORDS), **sizes)).save_pretrained(encoder)
    with pytest.raises(BadModel, match="no pooled state"):
        transformer.train(task, tmp_path / "a", About("upvotes"), EncoderSettings(model=str(encoder)))
