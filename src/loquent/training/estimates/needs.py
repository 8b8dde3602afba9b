"""The memory that a run will need at least, from its sizes alone, compared with free memory at its start.

`estimate` measures the same before a run. This takes no time, and leaves out what must be measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from loquent.core.settings import Remark
from loquent.errors import NotEnoughMemory, in_words
from loquent.files.machine import memory
from loquent.models.decode import sampling
from loquent.training.estimates.estimate import Measurable
from loquent.training.recipes.recipe import Recipe

DECODING_BYTES = 40  # for one logit in decoding: float32 logits and masks, cumulative sum in float64, copies
WIDE_DECODING_BYTES = 20  # of wide vocabularies on a CPU, whose rows are summed by blocks: without these sums
BATCH_BYTES = 32  # for one token of a batch: its id, log-probabilities and rewards
CLEARLY = 1.5  # times the free memory
NEARLY = 0.8
MODEL = "the size of the model; with model.lora.rank few weights learn"


def check(trainer: Measurable) -> None:
    """Compare what a run will need with what is free.

    Args:
        trainer: a `Trainer` that has made no update.

    Raises:
        NotEnoughMemory: the run needs clearly more than is free; a remark says that it needs nearly as much.
    """
    _check(trainer, trainer.experience.needs())


def check_decoding(trainer: Measurable) -> None:
    """`check` of one step of decoding alone, which an estimate makes with as many rows as the run."""
    parts = trainer.experience.needs()
    if parts:
        _check(trainer, {"decoding": parts["decoding"]})


def _check(trainer: Measurable, parts: Mapping[str, int]) -> None:
    device, total = trainer.actor.device, sum(parts.values())
    free = memory.free(device) if parts else None
    if free is None or total <= NEARLY * free:
        return
    words = ", ".join(f"{name} {in_words(size)}" for name, size in parts.items() if size > total / 100)
    largest = max(parts, key=lambda name: parts[name])
    text = (
        f"{trainer.recipe.name} needs at least {in_words(total)} more memory on {device} ({words}), and "
        f"{in_words(free)} are free. Lower {_settings(trainer.recipe)[largest]}"
    )
    if total > CLEARLY * free:
        raise NotEnoughMemory(text)
    warnings.warn(text, Remark, stacklevel=5)


def of_tokens(recipe: Recipe, actor: Any, algorithm: Any, *, decodes: bool) -> dict[str, int]:
    """The bytes by part that a run of a language model will allocate after its start.

    Empty where the network has no attention heads, by which its cache is counted.

    Args:
        decodes: whether collecting draws tokens from the policy.
    """
    policy = actor.policy
    text, new = policy.config.get_text_config(), recipe.decoding.max_new_tokens
    if getattr(text, "num_attention_heads", None) is None:
        return {}
    learned = sum(tensor.nbytes for tensor in algorithm.parameters.values())
    kind = "" if algorithm.gradient is None else type(algorithm.gradient.optimizer).__name__
    longest = min(new, getattr(text, "max_position_embeddings", None) or new)
    rows = min(recipe.decoding.live, recipe.training.episodes) if decodes else 0
    minibatch = min(recipe.config.minibatch or recipe.training.episodes, recipe.training.episodes)
    tokens = min(recipe.config.token_budget, minibatch * longest) if decodes else 0
    return {
        "gradients": learned,
        "optimizer": learned * (2 if "Adam" in kind else 0),
        "activations": tokens * text.num_hidden_layers * text.hidden_size * policy.dtype.itemsize,
        **decoding(policy, rows, longest),
        "batch": recipe.training.episodes * longest * BATCH_BYTES if decodes else 0,
    }


def decoding(policy: Any, rows: int, columns: int, decoders: int = 1) -> dict[str, int]:
    """The bytes of decoding rows at once: the cache of keys and values, and one step's logits.

    Args:
        columns: the tokens of a row.
        decoders: the networks that decode.
    """
    config = policy.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    numbers = decoders * 2 * config.num_hidden_layers * heads * width * columns * rows
    vocabulary = policy.get_input_embeddings().weight.shape[0]
    by_blocks = vocabulary >= sampling.WIDE and policy.device.type == "cpu"
    of_logit = decoders * (WIDE_DECODING_BYTES if by_blocks else DECODING_BYTES)
    return {"cache": numbers * policy.dtype.itemsize, "decoding": rows * vocabulary * of_logit}


def to_lower(recipe: Recipe) -> str:
    """The settings of a recipe that its memory depends on, with their values, for errors."""
    return "; or ".join(dict.fromkeys(_settings(recipe).values()))


def _settings(recipe: Recipe) -> Mapping[str, str]:
    """The settings on which each part depends."""
    live, new = recipe.decoding.live, recipe.decoding.max_new_tokens
    decoded = f"decoding.live = {live:,} or decoding.max_new_tokens = {new:,}"
    budget = vars(recipe.config).get("token_budget")
    return {
        "activations": "the size of the network"
        if budget is None
        else f"algorithm.token_budget = {budget:,}",
        "batch": f"training.episodes = {recipe.training.episodes:,}",
        "cache": decoded,
        "decoding": decoded,
        "gradients": MODEL,
        "optimizer": MODEL,
    }
