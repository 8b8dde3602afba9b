"""Estimates before a run: parameters, memory, disk and time of a recipe as it would run, from the real thing
and a tiny slice of it.

The networks are built; a few rows are collected and learned from, a few tokens decoded by the full number of
rows. What is saved for the backward pass is counted, times are measured, and both are scaled to the recipe's
sizes. Nothing is written.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from loquent.algorithms.shared.optimization import exact_copies
from loquent.core import registry
from loquent.core.algorithm import Playing
from loquent.estimate.actions import measured
from loquent.machine.memory import Saved, rss
from loquent.models.score import tokens as score
from loquent.models.tokens.batch import TokenBatch
from loquent.recipes import Recipe
from loquent.training.trainer import Trainer

PATIENCE = 20.0  # seconds that the larger slice may take
FIRST_ROWS, EVALUATED_ROWS = 2, 64
DECODING_BYTES = (
    40  # of work for one logit in decoding: float32 logits and masks, the cumulative sum in float64, copies
)
LOGIT_BYTES = 16  # of work for one logit in learning, beside what is saved: softmax, its gradient, copies


@dataclass(frozen=True)
class Estimate:
    """What a run would need.

    Bytes and seconds by part; `peak` is the largest memory at one time, `disk["at_most"]` the most on disk.
    """

    parameters: Mapping[str, int]
    memory: Mapping[str, int]
    peak: int
    disk: Mapping[str, int]
    seconds: Mapping[str, float]
    total_seconds: float
    sizes: Mapping[str, int]
    device: str

    def of_seeds(self, seeds: int) -> Estimate:
        """What so many runs one after the other would need: the memory of one, the time and the kept
        checkpoints of all.
        """
        before = self.disk["checkpoints"] * (
            seeds - 1
        )  # of the runs that are finished while the last one is under way
        return replace(
            self,
            disk={
                **self.disk,
                "checkpoints": self.disk["checkpoints"] * seeds,
                "at_most": before + self.disk["at_most"],
            },
            seconds={name: value * seeds for name, value in self.seconds.items()},
            total_seconds=self.total_seconds * seeds,
            sizes={**self.sizes, "seeds": seeds},
        )

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()
        }


def estimate(recipe: Recipe) -> Estimate:
    """What training this recipe would need; takes seconds, and the memory of the networks and a few rows."""
    if issubclass(registry.resolve("algorithm", recipe.algorithm), Playing):
        return Estimate(**measured(recipe, *_checkpoints(recipe)))
    config = recipe.config
    epochs, minibatch = config.epochs, config.minibatch or FIRST_ROWS
    small = recipe if epochs == 1 else replace(recipe, config=replace(config, epochs=1))
    build, trainer = _timed(lambda: Trainer(small))
    gc.collect()
    networks = _networks(trainer)
    weights = _bytes(tensor for network in networks.values() for tensor in _tensors(network))
    on_cpu = trainer.actor.device.type == "cpu"
    runtime = max(0, rss() - weights) if on_cpu else 0
    episodes, minibatch = recipe.training.episodes, min(minibatch, recipe.training.episodes)
    _slice(trainer, min(FIRST_ROWS, episodes), counting=False)  # the first time everything takes longer
    warm = _slice(trainer, min(FIRST_ROWS, episodes), counting=False)
    rows = minibatch if warm.seconds * minibatch / warm.rows < PATIENCE else warm.rows
    slice_, timed = _slice(trainer, rows, counting=True), _slice(trainer, rows, counting=False)
    collect = _collecting(trainer, recipe, timed)
    per_row = {
        "score": timed.phases["score"] / timed.rows,
        "learn": epochs * timed.phases["learn"] / timed.rows,
    }
    evaluation = _evaluating(trainer, recipe)
    seconds = _seconds(
        recipe,
        build,
        {"collect": collect, **{name: value * episodes for name, value in per_row.items()}},
        evaluation,
    )
    memory = {
        "runtime": runtime,
        "weights": weights,
        **_learning(trainer, slice_, minibatch),
        **_drawing(trainer, recipe, slice_),
    }
    memory["batch"] = slice_.batch_bytes * episodes // slice_.rows
    kept = memory["runtime"] + memory["weights"] + memory["gradients"] + memory["optimizer"] + memory["batch"]
    peak = kept + max(memory["activations"] + memory["logits"], memory["cache"] + memory["decoding"])
    reference = _bytes(_tensors(networks["reference"])) if "reference" in networks else 0
    checkpoint = _bytes(_tree(trainer.state())) - reference  # the reference never changes and is written once
    kept_at_once, at_most = _checkpoints(recipe)
    return Estimate(
        parameters={
            name: sum(p.numel() for p in _unique(network.parameters())) for name, network in networks.items()
        },
        memory=memory,
        peak=peak,
        disk={
            "checkpoint": checkpoint,
            "reference": reference,
            "checkpoints": checkpoint * kept_at_once + reference,
            "at_most": checkpoint * at_most + reference,
        },
        seconds=seconds,
        total_seconds=sum(seconds.values()),
        sizes={
            "episodes": episodes,
            "updates": recipe.training.updates,
            "width": slice_.width,
            "rows_measured": slice_.rows,
            "minibatch": minibatch,
        }
        | {"seeds": 1},
        device=str(trainer.actor.device),
    )


def _checkpoints(recipe: Recipe) -> tuple[int, int]:
    """How many stay at the end, and how many there are at most: a new one is written before the oldest is
    dropped.
    """
    settings = recipe.training
    made = 1 + (settings.updates // settings.checkpoint_every if settings.checkpoint_every else 0)
    if settings.checkpoint_every and settings.updates % settings.checkpoint_every == 0:
        made -= 1  # the last one is one of these
    if settings.stop_metric and settings.evaluate_every:
        made += settings.updates // settings.evaluate_every
    kept = min(max(1, made), settings.keep + bool(settings.stop_metric))
    return kept, min(max(1, made), kept + 1)


@dataclass(frozen=True)
class _Slice:
    """A few rows collected and learned from: how long it took, and what was saved for the backward pass."""

    rows: int
    seconds: float
    phases: Mapping[str, float]
    saved: int  # bytes at most at one time, in one micro-batch
    logits_saved: int  # of these by the output layer
    tokens: int  # padded tokens of the largest micro-batch
    actions: int  # action tokens of the whole slice
    width: int
    batch_bytes: int


def _slice(trainer: Trainer, rows: int, *, counting: bool) -> _Slice:
    """Collect and learn from so many rows.

    Counting what is saved takes time, so times are those of a slice without it.
    """
    trainer.settings = replace(trainer.settings, episodes=rows)
    own = frozenset(
        p.untyped_storage().data_ptr()
        for network in _networks(trainer).values()
        for p in network.parameters()
    )
    saved, phases = Saved(own), {}
    phases["collect"], (batch, _) = _timed(trainer.next)
    phases["score"] = trainer.seconds.get("score", 0.0)
    phases["collect"] -= phases["score"]
    with saved if counting else nullcontext():
        phases["learn"], _ = _timed(lambda: trainer.algorithm.update(trainer.actor, batch))
    budget = trainer.recipe.config.token_budget
    largest = max(
        len(some) * int(batch.real[some].sum(1).max()) for some in score.micro_batches(batch, budget)
    )
    return _Slice(
        rows=rows,
        seconds=sum(phases.values()),
        phases=phases,
        saved=saved.peak,
        logits_saved=_logits_saved(trainer, batch, own) if counting else 0,
        tokens=largest,
        actions=int(batch.is_action.sum()),
        width=batch.tokens.shape[1],
        batch_bytes=_bytes(value for value in vars(batch).values() if isinstance(value, Tensor))
        + (batch.support.nbytes if batch.support else 0),
    )


def _logits_saved(trainer: Trainer, batch: TokenBatch, own: frozenset[int]) -> int:
    """What the output layer alone saves for this batch."""
    width = trainer.actor.policy.get_output_embeddings().weight.shape[1]
    hidden = torch.zeros(
        *batch.tokens.shape, width, dtype=trainer.actor.policy.dtype, device=trainer.actor.device
    )
    with Saved(own) as saved:
        scores = score.action_scores(trainer.actor.policy, batch.to(trainer.actor.device), hidden=hidden)
        found = saved.live
    del scores
    return found


def _learning(trainer: Trainer, measured: _Slice, minibatch: int) -> dict[str, int]:
    """Gradients, the optimizer's state, what is saved for the backward pass, and the work on logits, in
    bytes.
    """
    algorithm = trainer.algorithm
    learned, optimizer = list(algorithm.parameters.values()), algorithm.optimizer
    state, copies = ({}, {}) if optimizer is None else (optimizer.state, exact_copies(optimizer))
    budget = trainer.recipe.config.token_budget
    tokens = max(measured.tokens, min(minibatch * measured.width, max(budget, measured.width)))
    share = tokens / max(1, measured.tokens)
    vocabulary = trainer.actor.policy.get_input_embeddings().weight.shape[0]
    logits = vocabulary * measured.actions * share * measured.tokens / max(1, measured.rows * measured.width)
    whole = logits <= score.WHOLE
    trunk = max(0, measured.saved - measured.logits_saved) * share
    return {
        "gradients": _bytes(learned),
        "optimizer": _bytes(
            [
                *copies.values(),
                *(part for entry in state.values() for part in entry.values() if isinstance(part, Tensor)),
            ]
        ),
        "activations": int(trunk + (measured.logits_saved * share if whole else 0)),
        "logits": int((logits if whole else min(logits, score.CHUNK)) * LOGIT_BYTES),
    }


def _drawing(trainer: Trainer, recipe: Recipe, measured: _Slice) -> dict[str, int]:
    """The cache of keys and values and the work on one step's logits, at the most rows decoded at once, in
    bytes.
    """
    decoding, policy = recipe.decoding, trainer.actor.policy
    drawn = 0 if trainer.source != "play" else min(decoding.live, recipe.training.episodes)
    evaluated = min(
        recipe.evaluation.live, max(recipe.training.final_episodes, recipe.training.evaluate_episodes)
    )
    rows = max(drawn, evaluated)
    columns = measured.width + max(0, decoding.max_new_tokens - measured.actions // max(1, measured.rows))
    config = policy.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    networks = 1 + ("mask" in _networks(trainer))
    size = policy.dtype.itemsize
    vocabulary = policy.get_input_embeddings().weight.shape[0]
    return {
        "cache": networks * 2 * config.num_hidden_layers * heads * width * columns * rows * size,
        "decoding": rows * vocabulary * DECODING_BYTES,
    }


def _collecting(trainer: Trainer, recipe: Recipe, measured: _Slice) -> float:
    """Seconds of one collection: of a few tokens by the full number of rows, carried on to the longest
    answer.
    """
    episodes, longest = recipe.training.episodes, recipe.decoding.max_new_tokens
    if trainer.source != "play":
        return measured.phases["collect"] * episodes / measured.rows
    rows = min(episodes, recipe.decoding.live)
    trainer.settings = replace(trainer.settings, episodes=rows)
    few, more = max(1, min(2, longest)), min(8, longest)
    spent = {}
    for tokens in (few, more):
        trainer.actor.decoding = replace(
            recipe.decoding, max_new_tokens=tokens, min_new_tokens=min(recipe.decoding.min_new_tokens, tokens)
        )
        spent[tokens], _ = _timed(trainer.collect)
    trainer.actor.decoding = recipe.decoding
    step = max(0.0, spent[more] - spent[few]) / max(1, more - few)
    return (spent[more] + step * (longest - more)) * episodes / rows


def _evaluating(trainer: Trainer, recipe: Recipe) -> float:
    """Seconds of the evaluation of one episode, measured on some."""
    rows = min(EVALUATED_ROWS, recipe.training.final_episodes)
    seconds, _ = _timed(lambda: trainer.evaluate(recipe.training.final_split, rows))
    return seconds / rows


def _seconds(
    recipe: Recipe, build: float, update: Mapping[str, float], evaluation: float
) -> dict[str, float]:
    settings = recipe.training
    watched = settings.evaluations * settings.evaluate_episodes
    parts = {"start": build, **{name: value * settings.updates for name, value in update.items()}}
    return parts | {"evaluate": evaluation * (watched + settings.final_episodes)}


def _networks(trainer: Trainer) -> dict[str, nn.Module]:
    """Every network by role; beside the actor's those that the algorithm keeps."""
    actor = trainer.actor
    found = {"policy": actor.policy, "critic": actor.critic, "reference": actor.reference}
    own = {id(part) for network in found.values() if network is not None for part in network.modules()}
    kept = {
        name: value
        for name, value in vars(trainer.algorithm).items()
        if isinstance(value, nn.Module) and id(value) not in own
    }
    found |= {
        "mask" if name == "masking_policy" else name: value
        for name, value in kept.items()
        if value is not actor
    }
    return {name: network for name, network in found.items() if network is not None}


def _tensors(network: nn.Module) -> Iterable[Tensor]:
    return [*network.parameters(), *network.buffers()]


def _unique(tensors: Iterable[Any]) -> list[Any]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _bytes(tensors: Iterable[Tensor]) -> int:
    """The bytes of tensors, those that share their memory counted once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def _tree(value: Any) -> Iterable[Tensor]:
    """All tensors in a tree of mappings and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tree(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tree(item)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call took, the device's work included, and what it gave."""
    before = time.perf_counter()
    found = call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - before, found
