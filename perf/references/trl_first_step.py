"""GRPO and RLOO by TRL 1.16 at a first step on a whole network: advantages, terms of the loss, and gradients.

A tiny network in float64, its reference and sampled answers are made here and written beside TRL's numbers,
so that another implementation can compute the same from them. Log-probabilities come from TRL's own function.

    pip install --no-deps --target FOLDER trl==1.16.0 accelerate psutil
    PYTHONPATH=FOLDER:src:perf python perf/references/trl_first_step.py \
        tests/algorithms/policy_gradient/trl_first_step.json

The losses are those of arXiv:2402.03300 §4.1 (GRPO) and arXiv:2402.14740 §3 (RLOO).
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from loquent.core.seeding import Key
from references.trl_groups import ANSWERS, GRPO, LONGEST, RLOO, ROWS, WIDE, lines, trainer

SIZES = {
    "vocab_size": 9,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "n_positions": 12,
    "n_embd": 4,
    "n_layer": 1,
    "n_head": 2,
}
PROMPT = 3
DIGITS = 10


def network(name: str) -> Any:
    """A GPT-2 of 0.3 thousand parameters without dropout, its weights from a key."""
    from transformers import GPT2Config, GPT2LMHeadModel

    none = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    module = GPT2LMHeadModel(GPT2Config(**SIZES, **none)).double().eval()
    draw = Key(18, ("trl", name)).generator()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.from_numpy(draw.normal(0.0, 0.6, tuple(parameter.shape)).round(6)))
    return module


def episodes() -> dict[str, Tensor]:
    """Prompts of one length, answers of different lengths padded on the right, and their rewards."""
    draw = Key(19, ("trl",)).generator()
    count = ANSWERS * ROWS
    prompts = torch.from_numpy(draw.integers(1, 9, (ROWS, PROMPT))).repeat_interleave(ANSWERS, 0)
    answers = torch.from_numpy(draw.integers(0, 9, (count, WIDE)))
    mask = torch.arange(WIDE) < torch.from_numpy(draw.integers(1, WIDE + 1, count))[:, None]
    return {"prompts": prompts, "answers": answers * mask, "mask": mask.long(),
            "rewards": torch.from_numpy(draw.normal(size=count).round(6))}  # fmt: skip


def step(kind: str, settings: dict[str, Any], data: dict[str, Tensor]) -> dict[str, Any]:
    """TRL's advantages, loss, and gradient by all parameters, before the first step."""
    from trl.trainer import grpo_trainer, rloo_trainer
    from trl.trainer.utils import add_fused_lm_head

    grpo = kind == "grpo"
    module = grpo_trainer if grpo else rloo_trainer
    cls = module.GRPOTrainer if grpo else module.RLOOTrainer
    policy, reference = network("policy"), network("reference")
    own = trainer(data, torch.zeros(()), **settings)
    own.accelerator.autocast = nullcontext
    function = cls._get_per_token_logps_and_entropies.__wrapped__  # without the timing around it
    own._get_per_token_logps_and_entropies = partial(function, own)
    ids = torch.cat([data["prompts"], data["answers"]], 1)
    seen = torch.cat([torch.ones_like(data["prompts"]), data["mask"]], 1)
    logps = []
    with torch.no_grad():
        for model in (policy, reference):
            add_fused_lm_head(model, outputs=("log_probs", "entropy"))
            logps.append(own._get_per_token_logps_and_entropies(model, ids, seen, WIDE)[0])
    mask = data["mask"].double()
    names = {
        **vars(module), "self": own, "num_generations": ANSWERS, "device": "cpu", "gather": lambda x: x,
        "rewards_per_func": data["rewards"][:, None], "old_per_token_logps": logps[0],
        "ref_per_token_logps": logps[1], "completion_mask": mask,
    }  # fmt: skip
    scoring = (
        cls._score_completions if hasattr(cls, "_score_completions") else cls._generate_and_score_completions
    )
    exec(lines(scoring, "unscorable_mask = torch.isnan", "# Slice to keep only the local part"), names)
    given = {
        "prompt_ids": data["prompts"], "prompt_mask": torch.ones_like(data["prompts"]),
        "completion_ids": data["answers"], "completion_mask": data["mask"],
        "advantages": names["advantages"], "ref_per_token_logps": logps[1],
        "old_logps": (logps[0] * mask).sum(1),
    }  # fmt: skip
    loss = cls._compute_loss(own, policy, given)
    loss.backward()
    return {
        "advantages": rounded(names["advantages"]),
        "loss": float(loss.detach()),
        "gradient": {name: rounded(p.grad) for name, p in policy.named_parameters()},
    }


def rounded(tensor: Tensor) -> list[Any]:
    """The entries of a tensor, one after the other, to ten places."""
    return [round(value, DIGITS) for value in tensor.detach().flatten().tolist()]


def main(file: str) -> None:
    """Write network, episodes and TRL's numbers."""
    import trl

    data, cases = episodes(), {}
    for name, settings in {**GRPO, **RLOO}.items():
        kind = "grpo" if name in GRPO else "rloo"
        cases[name] = step(kind, settings, data)
        alone = step(kind, {**settings, "beta": 0.0}, data) if kind == "grpo" else cases[name]
        cases[name]["policy_term"] = alone["loss"]
    weights = {
        role: {name: rounded(p) for name, p in network(role).named_parameters()}
        for role in ("policy", "reference")
    }
    content = {"trl": trl.__version__, "sizes": SIZES, "longest": LONGEST, "each": ANSWERS, **weights,
               **{name: tensor.tolist() for name, tensor in data.items()}, "cases": cases}  # fmt: skip
    Path(file).write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
