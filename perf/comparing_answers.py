"""Benchmark of one GRPO iteration (collection and learning) against TRL's, 64 episodes in groups of 8."""

from __future__ import annotations

import statistics
from typing import Any

import measuring
import torch
import workloads
from learning import WEIGHTS

from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch, token_batch

EACH, BETA, LEARNING_RATE = 8, 0.04, 1e-6


class Ours:
    """An actor, GRPO and the task, as a run has them; an iteration is `update()`."""

    def __init__(self, size: str, wide: int, new: int, rows: int, *, budget: int = 2048) -> None:
        self.task = workloads.Continuation(size, wide, rows)
        language = workloads.language(size)
        decoding = Decoding(max_new_tokens=new)
        self.actor = Actor.build(
            language,
            critic="none",
            format=workloads.Endless(language.tokenizer),
            decoding=decoding,
            evaluation=decoding,
            key=Key(0, ("actor",)),
        )
        config = GRPO.Config(beta=BETA, learning_rate=LEARNING_RATE, token_budget=budget)
        self.learner = GRPO(config, self.actor)
        self.number = 0

    def batch(self) -> TokenBatch:
        """Eight episodes on every row, scored and prepared."""
        queue = games(self.task.rows("train"), each=EACH, first=EACH * self.number)
        self.number += 1
        episodes = play(self.task, queue, self.learner.agent(self.actor, False), seed=0)
        actor = self.actor
        made = token_batch(episodes, actor.format, WEIGHTS, max_length=actor.context, room=actor.room)
        budget = self.learner.config.token_budget
        return self.learner.prepare(score(actor, made.to(actor.device), token_budget=budget))

    def update(self) -> None:
        """Collection and learning."""
        self.learner.update(self.actor, self.batch())
        self.learner.after_update(self.actor)


def against_trl(rounds: int, *, size: str = "tiny") -> dict[str, Any]:
    """Ours against TRL 1.16's GRPO: 8 prompts of 64 tokens, 8 answers of 48 tokens to each, one step."""
    from references.trl_grpo import TrlGrpo

    wide, new, rows = (8, 6, 2) if size == "quick" else (64, 48, 8)
    ours = Ours(size, wide, new, rows)
    other = TrlGrpo(
        workloads.language(size),
        ours.task.texts,
        workloads.even,
        each=EACH,
        new=new,
        beta=BETA,
        learning_rate=LEARNING_RATE,
    )
    checked = _agreement(ours, other)
    sides = measuring.alternate(ours.update, other.iteration, rounds)
    return {
        "checked": checked,
        **measuring.summary(sides, rows * EACH * new, "tokens"),
        "reference_seconds": round(statistics.median(wall for wall, _ in sides.reference), 2),
    }


def _agreement(ours: Ours, other: Any) -> str:
    """That TRL's pass over its network gives what ours gives with its weights.

    Raises:
        AssertionError: log-probabilities differ.
    """
    ours.actor.policy.load_state_dict(other.trainer.model.state_dict())
    batch = ours.batch()
    apart = float((batch.policy_logprob[batch.is_action] - other.logprobs(batch)).abs().max())
    assert apart < 1e-4, f"log-probabilities differ by {apart}"
    advantage = batch.advantage[batch.is_action].view(-1, EACH, int(batch.is_action[0].sum()))
    assert bool(torch.isfinite(advantage).all())
    return f"log-probabilities after a step of its, by its pass and ours: equal within {apart:.0e}"
