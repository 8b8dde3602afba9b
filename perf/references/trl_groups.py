"""GRPO and RLOO by TRL 1.16: advantages, losses and gradients of its own code, as golden numbers.

Log-probabilities and rewards are made up, so that ratios leave the clipping range; no network is needed. The
losses are those of `_compute_loss`, the advantages those of the lines of TRL that compute them. It is no
dependency of ours; for this comparison alone:

    pip install --no-deps --target FOLDER trl==1.16.0 accelerate psutil
    PYTHONPATH=FOLDER:src:perf python perf/references/trl_groups.py \
        tests/algorithms/policy_gradient/trl_groups.json

The losses are those of arXiv:2402.03300 §4.1 (GRPO) and arXiv:2402.14740 §3 (RLOO).
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections import defaultdict
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from loquent.core.seeding import Key

ANSWERS, ROWS, WIDE, LONGEST = 4, 3, 6, 8
GRPO = {
    "grpo": {"loss_type": "grpo", "beta": 0.04},
    "grpo, k3 alone": {"loss_type": "grpo", "beta": 0.04, "use_bias_correction_kl": False},
    "grpo, batch, no kl": {"loss_type": "grpo", "beta": 0.0, "scale_rewards": "batch"},
    "dr_grpo": {"loss_type": "dr_grpo", "beta": 0.04, "scale_rewards": "none"},
    "dapo": {"loss_type": "bnpo", "beta": 0.0, "epsilon_high": 0.28},
    "gspo": {"loss_type": "grpo", "beta": 0.04, "importance_sampling_level": "sequence",
             "epsilon": 0.03, "epsilon_high": 0.04},
}  # fmt: skip
RELATIVES = {  # their gradients at ratio 1 are those of the cases above
    "delta": {"loss_type": "bnpo", "beta": 0.0, "epsilon": 0.03, "delta": 1.15},
    "cispo": {"loss_type": "cispo", "beta": 0.04, "epsilon_high": 1.1},
    "sapo": {"loss_type": "sapo", "beta": 0.0},
}
RLOO = {"rloo": {"beta": 0.05}, "rloo, normalised": {"beta": 0.05, "normalize_advantages": True}}


def inputs() -> dict[str, Tensor]:
    """Answers of different lengths, with log-probabilities before, now and by the reference, in float64."""
    draw = Key(16, ("trl",)).generator()
    count = ANSWERS * ROWS
    lengths = torch.from_numpy(draw.integers(1, WIDE + 1, count))
    mask = (torch.arange(WIDE) < lengths[:, None]).double()
    old = -torch.from_numpy(draw.gamma(2.0, 1.0, (count, WIDE)))
    shift, other = (torch.from_numpy(draw.normal(0.0, s, (count, WIDE))) for s in (0.2, 0.5))
    rewards = torch.from_numpy(draw.normal(size=count))
    return {"mask": mask, "old": old * mask, "new": (old + shift) * mask, "reference": (old + other) * mask,
            "rewards": rewards}  # fmt: skip


def lines(function: Any, first: str, last: str) -> Any:
    """The lines of a function of TRL between two others, compiled."""
    source = inspect.getsource(function)
    start = source.index(first)
    start = source.rindex("\n", 0, start) + 1
    return compile(textwrap.dedent(source[start : source.index(last)]), "trl", "exec")


def trainer(data: dict[str, Tensor], new: Tensor, **settings: Any) -> Any:
    """What `_compute_loss` asks of its trainer; a setting that is not given has TRL's default."""
    from trl import GRPOConfig

    defaults = {field.name: field.default for field in fields(GRPOConfig)}
    own = ("use_bias_correction_kl", "delta", "sapo_temperature_pos", "sapo_temperature_neg")
    epsilon = settings.get("epsilon", 0.2)
    total = SimpleNamespace(reduce=lambda x, reduction: x, gather=lambda x: x, num_processes=1)
    return SimpleNamespace(
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level=settings.get("importance_sampling_level", "token"),
        beta=settings["beta"],
        epsilon_low=epsilon,
        epsilon_high=settings.get("epsilon_high", epsilon),
        loss_type=settings.get("loss_type"),
        args=SimpleNamespace(**{name: settings.get(name, defaults[name]) for name in own}),
        use_vllm=False,
        vllm_importance_sampling_correction=False,
        model=SimpleNamespace(training=False),
        max_completion_length=LONGEST,
        accelerator=total,
        _entropy_bonus_enabled=False,
        _metrics={"eval": defaultdict(list)},
        _get_per_token_logps_and_entropies=lambda *given, **more: (new, torch.zeros_like(new), None),
        scale_rewards=settings.get("scale_rewards", "group"),
        multi_objective_aggregation="sum_then_normalize",
        normalize_advantages=settings.get("normalize_advantages", False),
        reward_clip_range=None,
        reward_weights=torch.ones(1, dtype=torch.float64),
    )


def measured(kind: str, settings: dict[str, Any], data: dict[str, Tensor]) -> dict[str, Any]:
    """TRL's advantages, loss, and gradient by the new log-probabilities."""
    from trl.trainer import grpo_trainer, rloo_trainer

    grpo = kind == "grpo"
    module = grpo_trainer if grpo else rloo_trainer
    cls = module.GRPOTrainer if grpo else module.RLOOTrainer
    new = data["new"].clone().requires_grad_()
    own = trainer(data, new, **settings)
    names = {
        **vars(module), "self": own, "num_generations": ANSWERS, "device": "cpu", "gather": lambda x: x,
        "rewards_per_func": data["rewards"][:, None], "old_per_token_logps": data["old"],
        "ref_per_token_logps": data["reference"], "completion_mask": data["mask"],
    }  # fmt: skip
    scoring = (
        cls._score_completions if hasattr(cls, "_score_completions") else cls._generate_and_score_completions
    )
    exec(lines(scoring, "unscorable_mask = torch.isnan", "# Slice to keep only the local part"), names)
    advantages = names["advantages"]
    zeros = torch.zeros(len(new), WIDE, dtype=torch.long)
    given = {
        "prompt_ids": zeros, "prompt_mask": zeros, "completion_ids": zeros, "completion_mask": data["mask"],
        "advantages": advantages, "old_per_token_logps": data["old"],
        "ref_per_token_logps": data["reference"], "old_logps": (data["old"] * data["mask"]).sum(1),
        "num_items_in_batch": data["mask"].sum(),
    }  # fmt: skip
    loss = cls._compute_loss(own, own.model, given)
    (gradient,) = torch.autograd.grad(loss, new)
    return {"advantages": advantages.tolist(), "loss": float(loss.detach()), "gradient": gradient.tolist()}


def main(file: str) -> None:
    """Write the golden numbers."""
    import trl

    data = inputs()
    cases = {name: measured("grpo", settings, data) for name, settings in {**GRPO, **RELATIVES}.items()}
    cases |= {name: measured("rloo", settings, data) for name, settings in RLOO.items()}
    content = {
        "trl": trl.__version__,
        "longest": LONGEST,
        "answers": ANSWERS,
        "inputs": {name: tensor.tolist() for name, tensor in data.items()},
        "cases": cases,
    }
    Path(file).write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
