"""The upvote model of ILQL's release: RoBERTa, and a head of two layers on its pooled state.

A folder of it has `config.json` and the tokenizer of the encoder, and `model.safetensors` with the names of
the released code: `model.` before those of the encoder, and `layers.0` and `layers.2`, which are
Linear(d, 2d) and Linear(2d, 1) with ReLU between them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.errors import BadModel, MissingExtra

try:
    from safetensors import SafetensorError, safe_open
    from torch import Tensor, nn
    from transformers import AutoConfig, AutoModel, PreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput
except ImportError as error:  # pragma: no cover - the extra is installed where tests run
    raise MissingExtra("a transformer that classifies comments", "train") from error

from loquent.pretrained import ClassifierNetwork
from loquent.pretrained.folder import from_pretrained, new_network
from loquent.pretrained.language import load_module, load_tokenizer

WEIGHTS = "model.safetensors"
POOLER = "pooler."  # weights that many encoders lack; they are drawn then
OUTPUT = "layers.2.weight"  # [labels, 2d]


class Head(PreTrainedModel):
    """An encoder with the head of the release; called like a sequence classifier of Hugging Face.

    Args:
        config: that of the encoder, with `num_labels`; one label has one logit, for a sigmoid.
        encoder: the encoder; by default an untrained one of the config.

    Raises:
        BadModel: the encoder has no pooled state.
    """

    base_model_prefix = "model"
    _supports_sdpa = True  # of the encoder; the head has no attention

    def __init__(self, config: Any, encoder: Any = None) -> None:
        super().__init__(config)
        self.model = new_network(AutoModel, config) if encoder is None else encoder
        if getattr(self.model, "pooler", None) is None:
            raise BadModel(
                f"{config.name_or_path or config.model_type}: the encoder has no pooled state, which this "
                "head reads; use RoBERTa or BERT, or the head of the library"
            )
        width = config.hidden_size
        self.layers = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, config.num_labels)
        )
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Leave weights as they are: PyTorch has drawn them, as in the release, or they are loaded."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SequenceClassifierOutput:
        """The logits [n, labels] of rows of ids."""
        pooled = self.model(input_ids=input_ids, attention_mask=attention_mask).pooler_output
        return SequenceClassifierOutput(logits=self.layers(pooled))


def start(encoder: str, names: dict[int, str]) -> Head:
    """A new head on an encoder by folder or Hugging Face name; torch's global generator draws its weights.

    Args:
        names: the labels by their number.

    Raises:
        BadModel: there is no such encoder, or it has no pooled state.
    """
    trunk = load_module(AutoModel, encoder, None, "cpu", "float32", spare=POOLER)
    trunk.config.id2label = names
    return Head(trunk.config, trunk)


def is_released(folder: Path) -> bool:
    """Whether the weights of a folder have the names of the release; BadModel where they cannot be read."""
    file = folder / WEIGHTS
    if not file.is_file():
        return False
    try:
        with safe_open(file, framework="pt") as saved:
            return OUTPUT in saved.keys()  # noqa: SIM118  # the file is no mapping
    except (SafetensorError, OSError) as error:
        raise BadModel(f"{file}: not a safetensors file ({error}); get it again") from error


def load(folder: Path) -> ClassifierNetwork:
    """The classifier of a folder in the layout of the release.

    An encoder's own config names two labels by default, so the weights decide how many there are.

    Raises:
        BadModel: weights are missing or do not fit the config.
    """
    tokenizer = load_tokenizer(folder, None)
    config = from_pretrained(AutoConfig, folder, None, "config")
    with safe_open(folder / WEIGHTS, framework="pt") as saved:
        outputs = saved.get_slice(OUTPUT).get_shape()[0]
    if config.num_labels != outputs:
        config.id2label = {0: "1"} if outputs == 1 else {i: f"LABEL_{i}" for i in range(outputs)}
    module = load_module(Head, folder, None, "auto", "float32", config=config)
    return ClassifierNetwork(module, tokenizer)
