"""The network of a reward model: a sequence classifier, new or on the trunk of a pretrained model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loquent.core.seeding import Key, borrow_generators
from loquent.metrics.judges.reward_models.note import LABELS
from loquent.metrics.judges.reward_models.settings import RewardModelSettings
from loquent.pretrained import ClassifierNetwork, sizes
from loquent.pretrained.building import train_tokenizer
from loquent.pretrained.folder import new_network
from loquent.pretrained.language import END, load_module, load_tokenizer, transformers_library
from loquent.pretrained.pytorch import devices

PAD = "<|pad|>"
SPREAD = 0.02  # the deviation of new weights, that of BERT


def make(
    settings: RewardModelSettings, texts: Sequence[str], key: Key, find: Callable[[str], str | Path]
) -> ClassifierNetwork:
    """The network at the start of training; long texts lose their beginnings.

    Args:
        texts: the training texts, for the tokenizer of a new network.
        key: the stream of the new weights.
        find: the model of `settings.path`, as a folder or a Hugging Face name.

    Raises:
        BadModel, BadCheckpoint: the network of `settings.path` cannot be loaded.
    """
    labels = dict(enumerate(LABELS[settings.objective]))
    head = {
        "num_labels": len(labels),
        "id2label": labels,
        "label2id": {name: i for i, name in labels.items()},
    }
    with borrow_generators(key):
        if settings.path:
            module, tokenizer = _loaded(settings, find(settings.path), head)
        else:
            module, tokenizer = _new(settings, texts, head)
    tokenizer.truncation_side = "left"
    return ClassifierNetwork(module, tokenizer)


def _loaded(settings: RewardModelSettings, path: str | Path, head: dict[str, Any]) -> tuple[Any, Any]:
    revision = settings.revision or None
    kind = transformers_library().AutoModelForSequenceClassification
    tokenizer = load_tokenizer(path, revision, "; check the spelling of path")
    logging = transformers_library().utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()  # it reports the new head
    try:
        return load_module(kind, path, revision, settings.device, "float32", head=head), tokenizer
    finally:
        logging.set_verbosity(level)


def _new(settings: RewardModelSettings, texts: Sequence[str], head: dict[str, Any]) -> tuple[Any, Any]:
    transformers = transformers_library()
    tokenizer = train_tokenizer(texts, settings.vocabulary - 1, settings.context)
    tokenizer.add_special_tokens({"pad_token": PAD})
    common = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **head}
    if settings.shape == "t5":
        config = transformers.T5Config(
            d_model=settings.width,
            d_kv=settings.width // settings.heads,
            d_ff=4 * settings.width,
            num_layers=settings.layers,
            num_heads=settings.heads,
            dropout_rate=settings.dropout,
            classifier_dropout=settings.dropout,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
            **common,
        )
    else:
        _start(tokenizer)
        config = transformers.BertConfig(
            hidden_size=settings.width,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.width,
            max_position_embeddings=settings.context,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
            initializer_range=SPREAD * (768 / settings.width) ** 0.5,
            **common,
        )
    kind, device = transformers.AutoModelForSequenceClassification, devices.device(settings.device)
    sizes.check(kind, config, "model", devices.dtype("float32"), device)
    module = new_network(kind, config)
    return module.to(device).eval(), tokenizer


def _start(tokenizer: Any) -> None:
    """Put the marker at the start of each text; an encoder reads the state there."""
    from tokenizers.processors import TemplateProcessing

    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{END} $A", pair=f"{END} $A {END} $B", special_tokens=[(END, tokenizer.eos_token_id)]
    )
