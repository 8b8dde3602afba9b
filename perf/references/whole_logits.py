"""An update that holds its logits whole: [B, P + T, V] at once, and beside them the log-softmax of the action
tokens and the gradients of both.

What the notes on RL4LMs (§1.9 and §4.2, memory) describe and most programs do: the model's own logits of
every position. A careful user selects those of action tokens before the `log_softmax`, from which the tokens'
log-probabilities and the entropy are taken.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def scores(module: Any, tokens: Tensor, is_action: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability and entropy of every action token, in row-major order."""
    decided = is_action[:, 1:]
    logprob = module(input_ids=tokens, use_cache=False).logits[:, :-1][decided].log_softmax(-1)
    picked = logprob.gather(1, tokens[:, 1:][decided][:, None])[:, 0]
    with torch.no_grad():
        entropy = -torch.linalg.vecdot(logprob.exp(), logprob)
    return picked, entropy
