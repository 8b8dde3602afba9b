"""Estimates before a run: the parameters, memory, disk and time of a recipe, from a tiny slice of it.

The networks are built, a few rows are collected and learned from, and a few tokens are decoded by the full
number of rows. The bytes saved for the backward pass are counted, times are measured, and both are scaled to
the sizes of the recipe. No file is written.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from loquent.files.machine.memory import forget_peak, peak_rss, rss
from loquent.models.score import tokens as score
from loquent.models.score.one_pass import chunk_rows
from loquent.training.estimates import needs
from loquent.training.estimates.estimate import Estimate, Measurable, checkpoints, free
from loquent.training.estimates.optimizers import probe, without_steps
from loquent.training.estimates.slices import (
    Slice,
    bytes_of,
    measure,
    networks,
    tensors,
    time_call,
    tree,
    unique,
    vocabulary_of,
    whole,
)
from loquent.training.recipes import Recipe

PATIENCE = 20.0  # seconds that the larger slice may take
SHARE = 8  # the larger slice takes at most an eighth of the time of the run
FIRST_ROWS, EVALUATED_ROWS = 2, 64
LOGIT_BYTES = 16  # for one logit in learning, in addition to what is saved: softmax, its gradient, copies


def estimate(recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
    """Estimate what training this recipe would need.

    The estimate itself takes seconds, and the memory of the networks and a few rows.

    Args:
        build: makes the trainer of a recipe.
    """
    config, episodes = recipe.config, recipe.training.episodes
    minibatch = min(config.minibatch or episodes, episodes)
    one_epoch = recipe if config.epochs == 1 else replace(recipe, config=replace(config, epochs=1))
    start, trainer = time_call(lambda: build(one_epoch))
    experience = trainer.experience
    needs.check_decoding(trainer)
    optimizer = probe(trainer.algorithm, trainer.actor.policy)
    gc.collect()
    watched = trainer.actor.device.type == "cpu" and forget_peak()
    weights = bytes_of(tensor for network in networks(trainer).values() for tensor in tensors(network))
    runtime = max(0, rss() - weights) if trainer.actor.device.type == "cpu" else 0
    with without_steps(trainer.algorithm):
        counted, clocked = _slices(trainer, minibatch, episodes)
    steps = config.epochs * -(-episodes // minibatch)
    collect = _collecting(trainer, recipe, clocked)
    update = {
        "collect": collect,
        "score": clocked.phases["score"] / clocked.rows * episodes,
        "learn": config.epochs * clocked.phases["learn"] / clocked.rows * episodes
        + steps * optimizer.seconds,
    }
    seconds = _seconds(recipe, start, update, _evaluating(trainer, recipe))
    memory = {
        "runtime": runtime,
        "weights": weights,
        "optimizer": optimizer.state + optimizer.copies,
        **_learning(trainer, counted, minibatch),
        **_decoding(trainer, recipe, counted),
        "batch": counted.batch_bytes * episodes // counted.rows,
    }
    if watched:
        of_slice = {
            **_learning(trainer, counted, counted.rows),
            "batch": counted.batch_bytes,
            "optimizer": 0,  # no step was made
        }
        memory["uncounted"] = max(0, peak_rss() - _peak(memory | of_slice))
    return Estimate(
        parameters={
            name: sum(p.numel() for p in unique(network.parameters()))
            for name, network in networks(trainer).items()
        },
        memory=memory,
        peak=_peak(memory),
        disk=_disk(trainer, recipe, optimizer.state),
        seconds=seconds,
        total_seconds=sum(seconds.values()),
        sizes={
            "episodes": episodes,
            "updates": recipe.training.last_update,
            "width": counted.width,
            "rows_measured": counted.rows,
            "minibatch": minibatch,
            "seeds": 1,
            **({} if experience.recorded else {"rows": len(experience.rows)}),
        },
        device=str(trainer.actor.device),
        free=free(trainer.actor.device),
    )


def _slices(trainer: Measurable, minibatch: int, episodes: int) -> tuple[Slice, Slice]:
    """Two slices of a minibatch: for bytes, and for times.

    They have fewer rows if that takes too long, or too large a share of the time of the run.
    """
    few = whole(min(FIRST_ROWS, episodes), trainer.settings.answers)
    measure(trainer, few, counting=False)  # the first call of every operation takes longer
    before = time.process_time()
    warm = measure(trainer, few, counting=False)
    taken = min(warm.seconds, time.process_time() - before)  # a busy machine does not make the slice smaller
    of_run = taken * episodes * trainer.recipe.training.last_update / warm.rows
    if taken * minibatch / warm.rows < min(PATIENCE, of_run / SHARE):
        return measure(trainer, minibatch, counting=True), measure(trainer, minibatch, counting=False)
    chunked = _rows_in_chunks(trainer, warm)
    if few < chunked <= minibatch:
        few = whole(chunked, trainer.settings.answers)
    return _counted(trainer, few, minibatch), measure(trainer, few, counting=False)


def _rows_in_chunks(trainer: Measurable, measured: Slice) -> int:
    """The fewest rows whose logits are formed in chunks, as those of larger minibatches are."""
    return 1 + int(score.WHOLE * measured.rows / (max(1, measured.actions) * vocabulary_of(trainer)))


def _counted(trainer: Measurable, few: int, minibatch: int) -> Slice:
    """A slice for bytes where a minibatch takes long.

    If the learner can leave out repetitions, it has as many rows as there is time for then.
    """
    algorithm, config = trainer.algorithm, trainer.recipe.config
    if not hasattr(config, "without_repetitions"):
        return measure(trainer, few, counting=True)
    algorithm.config = config.without_repetitions()
    before = time.process_time()
    warm = measure(trainer, few, counting=False)
    taken = min(warm.seconds, time.process_time() - before)
    rows = max(few, min(minibatch, int(warm.rows * PATIENCE / taken)))
    counted = measure(trainer, rows, counting=True)
    algorithm.config = config
    return counted


def _peak(memory: Mapping[str, int]) -> int:
    """The largest memory at one time, in bytes: of learning or of decoding.

    `uncounted` is what the peak of the slice was above its parts: tensors that live for one operation, and
    freed memory that the process keeps.
    """
    always = sum(memory[name] for name in ("runtime", "weights", "gradients", "optimizer", "batch"))
    always += memory.get("uncounted", 0)
    return always + max(memory["activations"] + memory["logits"], memory["cache"] + memory["decoding"])


def _disk(trainer: Measurable, recipe: Recipe, optimizer: int) -> dict[str, int]:
    """The bytes of checkpoints; the reference model never changes and is written once."""
    roles = networks(trainer)
    saved = {id(tensor) for tensor in tree(trainer.state())}
    reference = (
        sum(bytes_of([t]) for t in unique(tensors(roles["reference"])) if id(t) in saved)
        if "reference" in roles
        else 0
    )
    checkpoint = bytes_of(tree(trainer.state())) - reference + optimizer
    at_end, at_most = checkpoints(recipe)
    return {
        "checkpoint": checkpoint,
        "reference": reference,
        "checkpoints": checkpoint * at_end + reference,
        "at_most": checkpoint * at_most + reference,
    }


def _learning(trainer: Measurable, measured: Slice, minibatch: int) -> dict[str, int]:
    """The bytes of learning: gradients, activations, and the work on logits."""
    budget = trainer.recipe.config.token_budget
    tokens = max(measured.tokens, min(minibatch * measured.width, max(budget, measured.width)))
    share = tokens / max(1, measured.tokens)
    vocabulary = vocabulary_of(trainer)
    logits = vocabulary * measured.actions * share * measured.tokens / max(1, measured.places)
    at_once = logits <= score.WHOLE
    chunk = logits if at_once else min(logits, chunk_rows(vocabulary) * vocabulary)
    return {
        "gradients": bytes_of(trainer.algorithm.parameters.values()),
        "activations": int(measured.saved * share) + measured.casts,
        "logits": int(chunk * LOGIT_BYTES + measured.logits_saved * (share if at_once else 1)),
    }


def _decoding(trainer: Measurable, recipe: Recipe, measured: Slice) -> dict[str, int]:
    """The bytes of decoding the most rows at once: the cache of keys and values, and one step's logits."""
    decoding, policy = recipe.decoding, trainer.actor.policy
    drawn = min(decoding.live, recipe.training.episodes) if trainer.experience.decodes else 0
    settings = recipe.training
    in_training = settings.evaluate_episodes if settings.evaluations else 0
    evaluated = min(recipe.evaluation.live, max(settings.final_episodes, in_training))
    rows = max(drawn, evaluated)
    columns = measured.width + max(0, decoding.max_new_tokens - measured.actions // max(1, measured.rows))
    return needs.decoding(policy, rows, columns, decoders=1 + ("mask" in networks(trainer)))


def _collecting(trainer: Measurable, recipe: Recipe, measured: Slice) -> float:
    """The seconds of one collection, extrapolated from a few tokens by the full number of rows."""
    episodes, longest = recipe.training.episodes, recipe.decoding.max_new_tokens
    experience = trainer.experience
    if not experience.decodes:
        return measured.phases["collect"] * episodes / measured.rows
    rows = min(episodes, whole(recipe.decoding.live, recipe.training.answers))
    experience.settings = replace(experience.settings, episodes=rows)
    few, more = max(1, min(2, longest)), min(8, longest)
    seconds = {}
    for tokens in (few, more):
        shortest = min(recipe.decoding.min_new_tokens, tokens)
        trainer.actor.decoding = replace(recipe.decoding, max_new_tokens=tokens, min_new_tokens=shortest)
        seconds[tokens], _ = time_call(experience.collect)
    trainer.actor.decoding = recipe.decoding
    step = max(0.0, seconds[more] - seconds[few]) / max(1, more - few)
    return (seconds[more] + step * (longest - more)) * episodes / rows


def _evaluating(trainer: Measurable, recipe: Recipe) -> float:
    """The seconds of the evaluation of one episode."""
    settings = recipe.training
    episodes = settings.evaluations * settings.evaluate_episodes + settings.final_episodes
    rows = min(EVALUATED_ROWS, settings.final_episodes, max(FIRST_ROWS, episodes // SHARE))
    seconds, _ = time_call(lambda: trainer.evaluate(recipe.training.final_split, rows))
    return seconds / rows


def _seconds(
    recipe: Recipe, start: float, update: Mapping[str, float], evaluation: float
) -> dict[str, float]:
    """The seconds of a run by part.

    Args:
        recipe: gives the numbers of updates and of evaluated episodes.
        start: seconds of the start.
        update: seconds of one update, by part.
        evaluation: seconds of the evaluation of one episode.
    """
    settings = recipe.training
    in_training = settings.evaluations * settings.evaluate_episodes
    parts = {"start": start, **{name: value * settings.last_update for name, value in update.items()}}
    return parts | {"evaluate": evaluation * (in_training + settings.final_episodes)}
