"""Networks so small that they load in no time, as ordinary folders.

Numpy alone draws their weights, so stored outputs outlive torch's versions.
"""

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

from loquent.core.seeding import Key

MARKS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def encoder(place, *, context=64, seed=0):
    """A BERT without a pooler whose tokens are bytes."""
    config = BertConfig(vocab_size=_tokenizer(place, context), max_position_embeddings=context, **SIZES)
    return _write(BertModel(config, add_pooling_layer=False), place, seed)


def classifier(place, labels, *, context=64, seed=0, problem=None):
    """A BERT with a label for each name; one name makes a regression."""
    named = {
        "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
        "problem_type": problem,
    }
    config = BertConfig(
        vocab_size=_tokenizer(place, context), max_position_embeddings=context, **SIZES, **named
    )
    return _write(BertForSequenceClassification(config), place, seed)


def _tokenizer(place, context):
    vocabulary = {
        **MARKS,
        **{letter: 4 + i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))},
    }
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=context, **marks).save_pretrained(
        place
    )
    return len(vocabulary)


def _write(module, place, seed):
    with torch.no_grad():
        for name, tensor in sorted(module.named_parameters()):
            drawn = Key(seed, ("tiny", name)).generator().normal(size=tuple(tensor.shape)) * _scale(name)
            tensor.copy_(torch.from_numpy(drawn) + (1.0 if name.endswith("LayerNorm.weight") else 0.0))
    module.eval().save_pretrained(place)
    assert json.loads((place / "config.json").read_text())["model_type"] == "bert"
    return place


def _scale(name):
    """Large enough that texts differ in what they are classified as."""
    if "LayerNorm" in name or name.endswith("bias"):
        return 0.1
    return 2.0 if name.startswith("classifier") or "word_embeddings" in name else 0.7
