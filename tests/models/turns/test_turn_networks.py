"""Networks that choose among actions: words, patches, ViLT by folder, and a frozen encoder of sentences."""

import json

import numpy as np
import pytest
import torch
from transformers import ViltConfig, ViltModel

from helpers import small_encoder
from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel, BadSetting
from loquent.models.turns.pictures import patches
from loquent.models.turns.sentences import Words
from loquent.models.turns.settings import NetworkSettings
from loquent.models.turns.vilt import scaled_size
from loquent.models.turns.words import UNKNOWN, Pieces, Vocabulary, words
from loquent.training import recipes
from loquent.training.trainer import Trainer

TRAINING = {"updates": 1, "episodes": 4, "evaluate_every": 0, "final_episodes": 2}


def write_vilt(folder):
    """A small random ViLT model with the tokenizer of the small encoder."""
    small_encoder.write(folder)
    (folder / "model.safetensors").unlink()
    config = ViltConfig(
        vocab_size=len(small_encoder.WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=12,
        image_size=24,
        patch_size=2,
        hidden_dropout_prob=0.0,
    )
    with borrow_generators(Key(0)):
        ViltModel(config).eval().save_pretrained(folder)
    return folder


def trainer(folder, **algorithm):
    task = {"kind": "blocks", "limit": 40}
    small = {"kind": "turn_ppo", "width": 16, "layers": 1, "heads": 2, "minibatch": 16, "text": ["sentence"]}
    file = folder / "recipe.yaml"
    content = {"task": task, "training": TRAINING, "algorithm": {**small, **algorithm}}
    file.write_text(json.dumps(content))
    return Trainer(recipes.load(file))


def test_a_vocabulary_by_hand():
    vocabulary = Vocabulary(["A red box.", "a box"], 5)
    assert vocabulary.words == (".", "a", "box", "red")
    first = 1 + UNKNOWN
    assert vocabulary("Red, a BOX").tolist()[:1] == [first + 3]
    assert vocabulary("a box").tolist() == [first + 1, first + 2, 0, 0, 0]
    assert 1 <= vocabulary("zebra")[0] <= UNKNOWN
    assert vocabulary("a a a a a a a").tolist() == [first + 1] * 5
    assert len(vocabulary) == first + 4
    assert words("it's 3-blocks.") == ["it", "'", "s", "3", "-", "blocks", "."]


def test_padding_and_other_sentences_of_a_batch_change_nothing():
    torch.manual_seed(0)
    encoder = Words(20, 8, 16, 2, heads=2)
    short = torch.tensor([[3, 4, 5, 0, 0, 0, 0, 0]])
    both = torch.tensor([[7, 8, 9, 10, 11, 12, 13, 14], [3, 4, 5, 0, 0, 0, 0, 0], [3, 4, 5, 0, 0, 0, 0, 0]])
    with torch.no_grad():
        alone, real, _ = encoder(short)
        states, _, index = encoder(both)
    assert len(states) == 2
    assert index[1] == index[2]
    assert real.tolist() == [[True] * 4]
    assert torch.allclose(states[index[1]][:4], alone[0], atol=1e-6)
    assert not torch.allclose(states[index[0]][0], alone[0, 0], atol=1e-2)


def test_patches_by_hand():
    image = torch.arange(2 * 5 * 1).reshape(1, 2, 5, 1)
    found = patches(image, (2, 2)) * 255
    # rows 0 1 2 3 4 / 5 6 7 8 9; the third patch is filled with zeros at the right
    expected = [[0, 1, 5, 6], [2, 3, 7, 8], [4, 0, 9, 0]]
    assert found[0].round().int().tolist() == expected


def test_images_are_scaled_as_by_the_processor_of_vilt():
    from transformers.models.vilt import image_processing_pil_vilt as processor

    assert scaled_size(50, 190, 384, 32) == (160, 608)  # lilGym: a patch for each of 5 x 19 cells
    for height, wide in ((50, 190), (190, 50), (100, 380), (480, 640), (33, 33), (7, 1000), (384, 640)):
        right = processor.get_resize_output_image_size(
            np.zeros((3, height, wide)), 384, 639, 32, input_data_format="channels_first"
        )
        assert scaled_size(height, wide, 384, 32) == tuple(max(32, edge) for edge in right), (height, wide)


def test_vilt_by_folder(tmp_path):
    (tmp_path / "vilt").mkdir()
    folder = write_vilt(tmp_path / "vilt")
    made = trainer(
        tmp_path, network="vilt", path=str(folder), text=["sentence", "target"], critic="network", words=12
    )
    encoder = made.actor.policy.encoder
    assert encoder.edges == (10, 38)  # 5 x 19 patches of 2 pixels
    before = {name: x.clone() for name, x in encoder.model.state_dict().items()}
    state = torch.get_rng_state()
    logs = made.update()
    assert torch.equal(state, torch.get_rng_state())  # the library's draws are borrowed
    assert logs["policy/ratio_error"] <= 1e-5
    moved = [name for name, x in encoder.model.state_dict().items() if not torch.equal(before[name], x)]
    assert any("patch_embeddings" in name for name in moved)
    assert any("word_embeddings" in name for name in moved)
    rows = made.task.rows("train")
    seen = [made.task.start(row, Key(0)).observation for row in rows[:2]]
    assert made.actor.inputs.sentence(seen[0]) == f"{rows[0]['sentence']} True"


def test_a_model_that_is_no_vilt_is_refused(tmp_path):
    (tmp_path / "bert").mkdir()
    folder = small_encoder.write(tmp_path / "bert")
    with pytest.raises(BadModel, match="path must name a ViLT model"):
        trainer(tmp_path, network="vilt", path=str(folder))
    with pytest.raises(BadSetting, match="a ViLT model needs a path"):
        trainer(tmp_path, network="vilt")


def test_pieces_of_a_tokenizer(tmp_path):
    pieces = Pieces(str(small_encoder.write(tmp_path)), "", 6)
    # [CLS] the cat [SEP] are 2, 4, 5, 3; a number is the id + 1
    assert pieces("the cat").tolist() == [3, 5, 6, 4, 0, 0]
    assert pieces("the cat sat mid july").tolist()[-1] == 4  # cut off, with [SEP] at the end


def test_a_cnn_with_a_frozen_encoder_has_a_table_of_sentences(tmp_path):
    (tmp_path / "bert").mkdir()
    folder = small_encoder.write(tmp_path / "bert")
    features = {"kind": "contextual", "model": str(folder), "average": True}
    made = trainer(tmp_path, network="cnn", features=features, numbers=["target"])
    calls = []
    encode = type(made.actor.inputs.featurizer).encode
    try:
        type(made.actor.inputs.featurizer).encode = lambda self, texts: (
            calls.append(len(texts)) or encode(self, texts)
        )
        made.update()
        first = len(calls)
        made.update()
    finally:
        type(made.actor.inputs.featurizer).encode = encode
    assert first >= 1
    assert len(calls) == first  # every sentence was encoded once
    assert not any("bert" in name for name in made.actor.policy.state_dict())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"network": "objects", "width": 10, "heads": 4}, "must be a multiple of heads"),
        ({"network": "vector", "view": "image"}, "no effect with network = 'vector'"),
        ({"network": "patches", "features": {"kind": "hashed"}}, "which reads words"),
        ({"network": "patches", "patch": (10,)}, "must be two sizes"),
    ],
)
def test_settings_that_contradict_each_other(settings, words):
    with pytest.raises(BadSetting, match=words):
        NetworkSettings(**settings).check_network()
