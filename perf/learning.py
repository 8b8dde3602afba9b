"""Benchmarks of one PPO iteration (collection and learning): ours through play, score, prepare and update,
against other programs.
"""

from __future__ import annotations

import copy
import statistics
from typing import Any

import measuring
import torch
import workloads
from references.learner import Learner, Rollout, Settings
from references.modern_loop import ModernLoop
from references.modern_pair_loop import ModernPairLoop
from references.old_way import MINIBATCH, OldWay

from loquent.algorithms.policy_gradient.ppo import PPO, Config
from loquent.core.episode import Episode
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch, positions, token_batch

WEIGHTS = Record(even=1.0)


class Ours:
    """An actor, PPO and the task, as a run has them; an iteration is `update()`."""

    def __init__(
        self,
        size: str,
        wide: int,
        settings: Settings,
        episodes: int,
        *,
        critic: str = "network",
        minibatch: int = 16,
        budget: int = 2048,
        device: str = "cpu",
        shape: str = "gpt2",
    ):
        self.task = workloads.Continuation(size, wide, episodes)
        language = workloads.language(size, shape=shape, device=device)
        format = workloads.EndlessPair if shape == "t5" else workloads.Endless
        decoding = Decoding(max_new_tokens=settings.new)
        build = {
            "critic": critic,
            "format": format(language.tokenizer),
            "decoding": decoding,
            "evaluation": decoding,
        }
        self.actor = Actor.build(language, **build, key=Key(0, ("actor",)))
        names = (
            "epochs",
            "gamma",
            "lam",
            "clip",
            "value_coefficient",
            "beta",
            "learning_rate",
            "max_grad_norm",
        )
        config = Config(
            minibatch=minibatch, token_budget=budget, **{name: getattr(settings, name) for name in names}
        )
        self.ppo = PPO(config, self.actor)
        self.number = 0

    def collect(self) -> list[Episode]:
        """One episode on every row."""
        self.number += 1
        return play(
            self.task,
            games(self.task.rows("train"), first=self.number),
            self.ppo.agent(self.actor, False),
            seed=0,
        )

    def batch(self, episodes: list[Episode]) -> TokenBatch:
        """The scored and prepared batch."""
        made = token_batch(
            episodes, self.actor.format, WEIGHTS, max_length=self.actor.context, room=self.actor.room
        ).to(self.actor.device)
        return self.ppo.prepare(score(self.actor, made, token_budget=self.ppo.config.token_budget))

    def update(self) -> None:
        """Collection and learning."""
        self.ppo.update(self.actor, self.batch(self.collect()))
        self.ppo.after_update(self.actor)


def reward(answer: list[int]) -> float:
    """The task's reward of an answer's ids."""
    return workloads.even("".join(map(workloads.character, answer)))


def agreement(ours: Ours, other: Learner, wide: int) -> str:
    """That both programs measure, estimate and would learn the same on the same episodes.

    Raises:
        AssertionError: log-probabilities, values, advantages or the first gradient differ.
    """
    batch = ours.batch(ours.collect())
    at = positions(batch)
    assert bool(at.real.all())
    assert batch.tokens.shape[1] == wide + at.action.shape[1]
    prompts, answers = batch.tokens[:, :wide], batch.tokens[:, wide:]
    if isinstance(other, ModernPairLoop):  # ours marks what the encoder reads, and begins the decoder with 0
        prompts = ~prompts[:, :-1]
    theirs: Rollout = other.collect(prompts, reward, answers)
    columns = {
        "logprob": (batch.policy_logprob, at.action),
        "reference": (batch.reference_logprob, at.action),
        "value": (batch.value, at.action),
    }
    columns |= {"advantage": (batch.advantage, at.action), "target": (batch.target, at.action)}
    worst = 0.0
    for name, (column, where) in columns.items():
        apart = float((column.gather(1, where) - getattr(theirs, name)).abs().max())
        assert apart < 1e-4, f"{name} differs by {apart}"
        worst = max(worst, apart)
    gradients = (
        _gradient(ours, batch),
        other.gradient(other.minibatch(theirs, torch.arange(_rows(other, theirs)))),
    )
    apart = float((gradients[0] - gradients[1]).norm() / gradients[1].norm())
    assert apart < 1e-3, f"the gradient differs by {apart} of its norm"
    return (
        f"log-probabilities, values, advantages equal within {worst:.0e}, the gradient within "
        f"{apart:.0e} of its norm"
    )


def _rows(other: Learner, rollout: Rollout) -> int:
    return rollout.logprob.numel() if isinstance(other, OldWay) else len(rollout.tokens)


def _gradient(ours: Ours, batch: TokenBatch) -> torch.Tensor:
    """The gradient of the whole batch as one minibatch, in the reference's order of parameters."""
    chosen = batch.is_action
    advantage = batch.advantage[chosen]
    batch.advantage[chosen] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ours.ppo.gradient.optimizer.zero_grad(set_to_none=True)
    ours.ppo.loss(ours.actor, batch)["total"].mean().backward()
    parts = (ours.actor.policy, ours.actor.critic.trunk, ours.actor.critic.head)
    return torch.cat(
        [
            p.grad.flatten() if p.grad is not None else torch.zeros_like(p).flatten()
            for part in parts
            for p in part.parameters()
        ]
    )


def old_way(
    rounds: int, *, size: str = "tiny", new: int = 48, device: str = "cpu", dtype: str = "float32"
) -> dict[str, Any]:
    """Ours against RL4LMs' way: prompt 64, five epochs, separate value network.

    All of the old way's collection is timed, and of its learning so many gradient steps a round as `steps`
    says: they all cost the same.
    """
    wide, episodes, steps = (8, 4, 1) if size == "quick" else (64, 32, 2)
    settings = Settings(new=min(new, 6) if size == "quick" else new)
    ours = Ours(size, wide, settings, episodes, device=device)
    other = OldWay(copy.deepcopy(ours.actor.policy), ours.actor.critic.head, settings)
    checked = agreement(*_small(size, wide, settings, OldWay, device), wide)
    prompts = torch.tensor(workloads.prompts(size, episodes, wide), device=device)
    learning: list[tuple[float, float]] = []

    def theirs() -> None:
        rollout = other.collect(prompts, reward)
        learning.append(measuring.timed(lambda: other.learn(rollout, steps)))

    with measuring.mixed(device, dtype):
        sides = measuring.alternate(ours.update, theirs, rounds)
    total = episodes * settings.new
    share = settings.epochs * -(-total // MINIBATCH) / steps
    # the steps that were not made cost what those that were did
    rest = [tuple((share - 1) * spent for spent in during) for during in learning[-rounds:]]
    sides.reference = [
        tuple(a + b for a, b in zip(*pair, strict=True)) for pair in zip(sides.reference, rest, strict=True)
    ]
    extra = {"timed_learning_steps": steps, "of_learning_steps": round(share * steps)}
    return {"checked": checked, **measuring.summary(sides, total, "tokens"), **extra}


def modern_loop(
    rounds: int, *, size: str = "tiny", new: int = 48, device: str = "cpu", dtype: str = "float32"
) -> dict[str, Any]:
    """Ours against a plain modern loop: prompt 64, 64 episodes, five epochs, minibatches of 16, separate
    value network.
    """
    wide, episodes = (8, 4) if size == "quick" else (64, 64)
    settings = Settings(new=min(new, 6) if size == "quick" else new)
    ours = Ours(size, wide, settings, episodes, device=device)
    other = ModernLoop(workloads.network(size, device=device), ours.actor.critic.head, settings)
    checked = agreement(*_small(size, wide, settings, ModernLoop, device), wide)
    prompts = torch.tensor(workloads.prompts(size, episodes, wide), device=device)
    with measuring.mixed(device, dtype):
        sides = measuring.alternate(ours.update, lambda: other.learn(other.collect(prompts, reward)), rounds)
    return {"checked": checked, **measuring.summary(sides, episodes * settings.new, "tokens")}


def modern_pair_loop(
    rounds: int, *, size: str = "tiny", new: int = 48, device: str = "cpu", dtype: str = "float32"
) -> dict[str, Any]:
    """The same for a T5-shaped encoder-decoder: source 64, 64 episodes of 48 tokens, five epochs."""
    wide, episodes = (8, 4) if size == "quick" else (64, 64)
    settings = Settings(new=min(new, 6) if size == "quick" else new)
    ours = Ours(size, wide, settings, episodes, device=device, shape="t5")
    network = workloads.network(size, "t5", device=device)
    other = ModernPairLoop(network, ours.actor.critic.head, settings)
    checked = agreement(*_small(size, wide, settings, ModernPairLoop, device, "t5"), wide + 1)
    prompts = torch.tensor(workloads.prompts(size, episodes, wide), device=device)
    prompts = prompts.roll(-1, 1)  # a source ends with the token that begins a causal model's prompt
    with measuring.mixed(device, dtype):
        sides = measuring.alternate(ours.update, lambda: other.learn(other.collect(prompts, reward)), rounds)
    return {"checked": checked, **measuring.summary(sides, episodes * settings.new, "tokens")}


def _small(
    size: str,
    wide: int,
    settings: Settings,
    kind: type[Learner],
    device: str = "cpu",
    shape: str = "gpt2",
) -> tuple[Ours, Learner]:
    """Both programs with equal weights and few episodes, for the comparison of what they compute.

    In float32 always.
    """
    ours = Ours(size, wide, settings, 2, device=device, shape=shape)
    return ours, kind(workloads.network(size, shape, device=device), ours.actor.critic.head, settings)


def against_trl(
    rounds: int, *, size: str = "tiny", critic: str = "network", device: str = "cpu", dtype: str = "float32"
) -> dict[str, Any]:
    """Ours against TRL 1.12's PPO: 64 episodes, prompt 64, 48 new tokens, four epochs, one gradient step an
    epoch.
    """
    from references.trl_ppo import TrlPpo

    wide, episodes = (8, 4) if size == "quick" else (64, 64)
    settings = Settings(new=6 if size == "quick" else 48, epochs=4, learning_rate=3e-6)
    ours = Ours(size, wide, settings, episodes, critic=critic, minibatch=episodes, device=device)
    other = TrlPpo(
        workloads.language(size, device=device),
        workloads.prompts(size, episodes, wide),
        settings,
        reward,
        dtype,
    )
    checked = other.check(ours)

    def mine() -> None:
        with measuring.mixed(device, dtype):  # theirs has its own
            ours.update()

    sides = measuring.alternate(mine, other.iteration, rounds)
    result = measuring.summary(sides, episodes * settings.new, "tokens")
    return {
        "checked": checked,
        **result,
        "critic": critic,
        "reference_seconds": round(statistics.median(wall for wall, _ in sides.reference), 2),
    }
