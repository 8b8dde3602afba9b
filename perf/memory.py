"""Peak memory of an update with a large vocabulary: ours, which forms logits in chunks, against logits held
whole.

Each side runs in a process of its own; what counts is how far the resident memory rises above what it was
before the update.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measuring
import torch
import workloads
from references.whole_logits import scores as whole_scores
from safetensors.torch import load_file, save_file

from loquent.algorithms.policy_gradient.ppo import PPO, Config
from loquent.core.seeding import Key
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import Scores
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.optimization import take_step

SIDES = ("ours", "whole")


def vocabulary(rounds: int, *, size: str = "wide vocabulary") -> dict[str, Any]:
    """One gradient step of PPO over 16 episodes of 64 + 48 tokens: how many times our rise of memory the
    whole logits' is.
    """
    return rises(__file__, SIDES, rounds, "quick" if size == "quick" else "wide vocabulary", most=1e-5)


def rises(script: str, sides: tuple[str, str], rounds: int, size: str, *, most: float) -> dict[str, Any]:
    """How many times the first side's rise of memory the second's is.

    Each side in a process of its own, that a script runs.

    Args:
        most: how far the two gradients may differ, as a share of the largest.
    """
    risen: dict[str, list[int]] = {side: [] for side in sides}
    seconds: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{side}.safetensors") for side in sides]
        for _ in range(rounds):
            for side, file in zip(sides, files, strict=True):
                found = json.loads(
                    subprocess.run(
                        [sys.executable, script, side, size, file], check=True, capture_output=True, text=True
                    ).stdout
                )
                risen[side].append(found["bytes"])
                seconds[side].append(tuple(found["seconds"]))
        mine, other = (load_file(file)["gradient"] for file in files)
    apart = float((mine - other).abs().max() / other.abs().max())
    assert apart < most, f"the gradients differ by {apart} of the largest"
    ours, reference = (risen[side] for side in sides)
    ratios = [theirs / own for own, theirs in zip(ours, reference, strict=True)]
    low, high, covered = measuring.interval(ratios)
    speed = measuring.summary(measuring.Sides(*(seconds[side] for side in sides)), 1, "steps")
    return {
        "checked": f"gradients equal within {apart:.0e} of the largest",
        "steps_per_second": speed["steps_per_second"],
        "reference_steps_per_second": speed["reference_steps_per_second"],
        **{
            "ratio": round(statistics.median(ratios), 3),
            "low": round(low, 3),
            "high": round(high, 3),
            "coverage": round(covered, 3),
        },
        "megabytes": round(statistics.median(ours) / 1e6, 1),
        "reference_megabytes": round(statistics.median(reference) / 1e6, 1),
    }


def side(name: str, size: str, file: str) -> None:
    """One side, in this process: prints how far memory rose and how long it took, writes the gradient to a
    file.
    """
    rows, wide, new = (2, 8, 6) if size == "quick" else (16, 64, 48)
    language = workloads.language(size)
    decoding = Decoding(max_new_tokens=new)
    parts = {"format": workloads.Endless(language.tokenizer), "decoding": decoding, "evaluation": decoding}
    actor = Actor.build(language, critic="head", reference="none", **parts, key=Key(0))
    ppo = (Whole if name == "whole" else PPO)(Config(beta=0.0, minibatch=rows, max_grad_norm=None), actor)
    # threads, buffers and the optimizer's state come before the measurement
    step(ppo, actor, batch(size, 1, 2, 2))
    start = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    whole = batch(size, rows, wide, new)
    taken = measuring.timed(lambda: step(ppo, actor, whole))
    print(json.dumps({"bytes": memory("VmHWM") - start, "seconds": taken}))
    save_file({"gradient": torch.cat([p.grad.flatten() for p in ppo.parameters.values()])}, file)


def batch(size: str, rows: int, wide: int, new: int) -> TokenBatch:
    """A prepared batch with made-up advantages and targets."""
    tokens = torch.tensor(workloads.prompts(size, rows, wide + new))
    place = torch.arange(wide + new).expand(rows, -1)
    numbers = torch.from_numpy(
        Key(0, ("advantage",)).generator().standard_normal((4, rows, wide + new))
    ).float()
    is_action = place >= wide
    return TokenBatch(
        tokens=tokens,
        real=torch.ones_like(is_action),
        is_action=is_action,
        turn=torch.zeros_like(tokens),
        reward=numbers[0],
        ended=torch.ones(rows, dtype=torch.bool),
        episode=torch.arange(rows),
        drawn_logprob=torch.full(
            (rows, wide + new), -float(torch.log(torch.tensor(workloads.SIZES[size].vocabulary)))
        ),
        value=numbers[1],
        advantage=numbers[2],
        target=numbers[3],
    )


def step(ppo: PPO, actor: Actor, batch: TokenBatch) -> None:
    """The loss of a batch, its gradient and the optimizer's step."""
    ppo.gradient.optimizer.zero_grad(set_to_none=True)
    ppo.loss(actor, batch)["total"].mean().backward()
    take_step(ppo.gradient.optimizer)


class Whole(PPO):
    """PPO whose scores come from the reference."""

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, torch.Tensor]:
        import loquent.algorithms.policy_gradient.actor_critic as learner

        def losses(module: Any, batch: TokenBatch, function: Any, **_: Any) -> tuple[torch.Tensor, Scores]:
            logprob, entropy = whole_scores(module, batch.tokens, batch.is_action)
            scores = Scores(logprob, logprob, entropy)
            return function(scores, slice(None)), scores

        own, learner.action_losses = learner.action_losses, losses
        try:
            return super().loss(model, batch)
        finally:
            learner.action_losses = own


def memory(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    return (
        next(
            int(line.split()[1])
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith(name + ":")
        )
        * 1024
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    side(*sys.argv[1:])
