"""Networks and their tokenizers, loaded by folder or Hugging Face name.

Importing this package imports torch (never transformers).
"""

from loquent.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover - the extra is installed where tests run
    raise MissingExtra("a language model", "train") from error

from loquent.pretrained.building import build
from loquent.pretrained.classifier import (
    ClassifierNetwork,
    SequenceClassifier,
    load_classifier,
    sequence_classifier,
)
from loquent.pretrained.encoder import Encoder, load_encoder
from loquent.pretrained.forward import dropping
from loquent.pretrained.language import END, LanguageModel, context, end_ids, load, prompt_room, save
from loquent.pretrained.likelihood import nll, nll_of_rows, plain_ids, strided_loss
from loquent.pretrained.matching import match
from loquent.pretrained.networks import (
    drops_out,
    evaluating,
    exactly,
    groups,
    hidden,
    logits,
    pad_rows,
    twin,
)
from loquent.pretrained.output import OutputLayer, head
from loquent.pretrained.pytorch.devices import DTYPES, device, dtype, exact, threads

__all__ = [
    "DTYPES", "END", "ClassifierNetwork", "Encoder", "LanguageModel", "OutputLayer", "SequenceClassifier",
    "build", "context", "device",
    "dropping", "drops_out", "dtype", "end_ids",
    "evaluating", "exact", "exactly", "groups", "head", "hidden", "load",
    "load_classifier", "load_encoder", "logits", "match", "nll", "nll_of_rows",
    "pad_rows", "plain_ids", "prompt_room", "save", "sequence_classifier", "strided_loss", "threads", "twin",
]  # fmt: skip
