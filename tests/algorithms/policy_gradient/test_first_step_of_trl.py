"""GRPO and RLOO beside TRL 1.16 on one network and episodes: advantages, terms, gradients of a first step."""

import json
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from helpers.algorithms.groups_of_trl import CASES
from helpers.algorithms.letters import language
from loquent.core.seeding import Key
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import LanguageModel

# perf/references/trl_first_step.py writes it
TRL = json.loads((Path(__file__).parent / "trl_first_step.json").read_text(encoding="utf-8"))


def network(role):
    none = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config = GPT2Config(**TRL["sizes"], **none)
    module = GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(torch.tensor(TRL[role][name], dtype=torch.float64).view_as(parameter))
    return LanguageModel(module, language().tokenizer)


def episodes():
    """TRL's answers as a batch, with the reward on the last token."""
    prompts, answers, mask = (torch.tensor(TRL[name]) for name in ("prompts", "answers", "mask"))
    mask = mask.bool()
    ones = torch.ones(prompts.shape, dtype=torch.bool)
    is_action = torch.cat([~ones, mask], 1)
    reward = torch.zeros(is_action.shape, dtype=torch.float64)
    last = prompts.shape[1] + mask.sum(1) - 1
    reward[torch.arange(len(reward)), last] = torch.tensor(TRL["rewards"], dtype=torch.float64)
    zero = torch.zeros_like(reward)
    return TokenBatch(
        tokens=torch.cat([prompts, answers], 1),
        real=torch.cat([ones, mask], 1),
        is_action=is_action,
        turn=torch.where(is_action, 1, -1),
        reward=reward,
        ended=torch.ones(len(reward), dtype=torch.bool),
        episode=torch.arange(len(reward)),
        group=torch.arange(len(reward)) // TRL["each"],
        drawn_logprob=zero,
    )


@pytest.mark.parametrize("name", CASES)
def test_the_first_step_is_that_of_trl(name):
    kind, settings = CASES[name]
    expected, policy = TRL["cases"][name], network("policy")
    model = Actor.build(
        policy,
        critic="none",
        reference=network("reference"),
        decoding=Decoding(max_new_tokens=TRL["longest"]),
        key=Key(0),
    )
    algorithm = kind(kind.Config(**settings, ratio="raw"), model)
    batch = algorithm.prepare(score(model, episodes()))
    ours = batch.advantage[batch.is_action]
    first = torch.cat([torch.zeros(1, dtype=torch.long), batch.is_action.sum(1).cumsum(0)[:-1]])
    assert ours[first].tolist() == pytest.approx(expected["advantages"], abs=1e-6)
    parts = algorithm.loss(model, batch)
    assert float((parts["policy/ratio"] - 1).abs().max()) < 1e-12
    loss = parts["total"].sum() / algorithm.divisor(batch)
    assert float(loss.detach()) == pytest.approx(expected["loss"], abs=1e-6)
    if "kl/loss" in parts:
        term = expected["loss"] - expected["policy_term"]
        without = kind(kind.Config(**{**settings, "beta": 0.0}, ratio="raw"), model)
        policy_term = without.loss(model, batch)["total"].sum() / without.divisor(batch)
        assert float(policy_term.detach()) == pytest.approx(expected["policy_term"], abs=1e-6)
        assert float((loss - policy_term).detach()) == pytest.approx(term, abs=1e-6)
        assert abs(term) > 1e-3
    loss.backward()
    largest = 0.0
    for path, parameter in policy.module.named_parameters():
        gradient = torch.tensor(expected["gradient"][path], dtype=torch.float64).view_as(parameter)
        assert float((parameter.grad - gradient).abs().max()) < 1e-6, path
        largest = max(largest, float(gradient.abs().max()))
    assert largest > 1e-2
    # a sequence's ratio is 1 at a first step, so GSPO's gradient is then GRPO's
    others = [
        case for other, case in TRL["cases"].items() if other != name and {other, name} != {"grpo", "gspo"}
    ]
    word = "transformer.wte.weight"
    for case in others:
        apart = zip(expected["gradient"][word], case["gradient"][word], strict=True)
        assert max(abs(a - b) for a, b in apart) > 1e-6
