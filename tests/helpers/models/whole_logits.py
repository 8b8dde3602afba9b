"""Scores from the logits of all positions, as the model gives them."""

import torch


def whole(module, batch):
    """Log-probabilities of the action tokens from the model's own logits [B, T, V]."""
    logits = module(
        input_ids=batch.tokens, attention_mask=torch.ones_like(batch.tokens), use_cache=False
    ).logits
    logits = logits[:, :-1][batch.is_action[:, 1:]]
    return logits, logits.log_softmax(1).gather(1, batch.tokens[batch.is_action][:, None])[:, 0]
