"""The logits of causal sequence classifiers by our own forward passes of their trunks."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from loquent.pretrained.forward import gpt2, llama
from loquent.pretrained.forward.choice import pass_of
from loquent.pretrained.forward.parts import name
from loquent.pretrained.pytorch.torch_private import is_changed

KIND = "ForSequenceClassification"
CLASSIFIERS = {
    (gpt2.HOME, f"GPT2{KIND}"),
    *((llama.home(family), f"{family}{KIND}") for family in llama.FAMILIES),
}


def class_logits(module: Any, tokens: Int64[Tensor, "B T"]) -> Float[Tensor, "B labels"] | None:
    """The logits of right-padded rows; None if none of our forward passes serves the classifier.

    As in the library, a row is classified by the state of its last token that is not the padding token.
    """
    pad = module.config.pad_token_id
    if name(module) not in CLASSIFIERS or is_changed(module) or pad is None:
        return None
    own = pass_of(module.base_model)
    if own is None:
        return None
    places = torch.arange(tokens.shape[1], device=tokens.device)
    last = (places * (tokens != pad)).argmax(1, keepdim=True)
    logits: Tensor = module.score(own.last_hidden(module.base_model, tokens, last)[:, 0])
    return logits
