"""TRL 1.16's numbers of comparisons within groups, and its inputs as a batch."""

import json
from pathlib import Path

import torch

from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.policy_gradient.rloo import RLOO
from loquent.models.tokens.batch import TokenBatch

# perf/references/trl_groups.py writes it
TRL = json.loads(
    (Path(__file__).parents[2] / "algorithms" / "policy_gradient" / "trl_groups.json").read_text(
        encoding="utf-8"
    )
)
CASES = {
    "grpo": (GRPO, {"beta": 0.04}),
    "grpo, k3 alone": (GRPO, {"beta": 0.04, "kl_correction": False}),
    "grpo, batch, no kl": (GRPO, {"beta": 0.0, "deviation": "batch"}),
    "dr_grpo": (GRPO, {"beta": 0.04, "deviation": "none", "length": "constant"}),
    "dapo": (GRPO, {"beta": 0.0, "length": "token", "clip_high": 0.28}),
    "gspo": (GRPO, {"beta": 0.04, "importance": "sequence", "clip": 0.03, "clip_high": 0.04}),
    "rloo": (RLOO, {"beta": 0.05}),
    "rloo, normalised": (RLOO, {"beta": 0.05, "normalize_advantages": True}),
}
RELATIVES = {
    "delta": (GRPO, {"beta": 0.0, "length": "token", "clip": 0.03, "cap": 1.15}),
    "cispo": (GRPO, {"beta": 0.04, "length": "token", "surrogate": "cispo", "cap": 1.1}),
    "sapo": (GRPO, {"beta": 0.0, "surrogate": "sapo"}),
}


def of_trl():
    """TRL's inputs as a batch, and the new log-probabilities of its action tokens."""
    data = {name: torch.tensor(value, dtype=torch.float64) for name, value in TRL["inputs"].items()}
    mask = data["mask"].bool()
    count, wide = mask.shape
    before = torch.zeros(count, 1, dtype=torch.float64)
    is_action = torch.cat([before.bool(), mask], 1)
    reward = torch.zeros(count, wide + 1, dtype=torch.float64)
    reward[torch.arange(count), mask.sum(1)] = data["rewards"]
    old, reference = (torch.cat([before, data[name]], 1) for name in ("old", "reference"))
    batch = TokenBatch(
        tokens=torch.zeros(count, wide + 1, dtype=torch.long),
        real=torch.cat([torch.ones(count, 1, dtype=torch.bool), mask], 1),
        is_action=is_action,
        turn=torch.where(is_action, 1, -1),
        reward=reward,
        ended=torch.ones(count, dtype=torch.bool),
        episode=torch.arange(count),
        group=torch.arange(count) // TRL["answers"],
        drawn_logprob=old,
        policy_logprob=old,
        reference_logprob=reference,
    )
    return batch, data["new"][mask].requires_grad_(), mask
