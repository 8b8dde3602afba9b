"""NLPO: PPO that draws each token from the nucleus of a masking policy (2210.01241 sec. 4, Algorithm 1 and eq. 6).

The masking policy π_ψ is a copy of the policy, brought up to date every mu updates. Its top-p (or top-k) tokens are the
support the policy draws from, renormalised; the support is recorded with the token and replayed in the loss, so the ratio's
log-probabilities are those of the drawing. Where nothing would be masked there is no masking policy, and NLPO is PPO to the bit.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import ppo
from loquent.algorithms.ppo import PPO, START
from loquent.errors import BadCheckpoint, BadSetting, UnknownName
from loquent.logged import Logged
from loquent.models.actor import Actor
from loquent.models.decode import Nucleus
from loquent.models.score import Scores
from loquent.seeding import Key
from loquent.settings import setting
from loquent.values import Record

LOGGED = {
    **ppo.LOGGED,
    "nlpo/age": Logged("updates", "updates since the masking policy was last equal to the policy; 0 right after it was synchronised"),
}

# B.3.1 and A.1 of the paper; what its released code does instead (frozen mask, 100 tokens kept, raw log-probabilities and an
# entropy without the normaliser, the mask in evaluation too).
PRESETS = {
    "paper": Record(
        epochs=5, learning_rate=1e-6, gamma=0.99, lam=0.95, clip=0.2, value_coefficient=0.5, beta=0.1, kl_target=0.1, kl_gain=0.2, top_p=0.9, mu=5
    ),
    "rl4lms": Record(
        epochs=5,
        learning_rate=1e-6,
        gamma=0.99,
        lam=0.95,
        clip=0.2,
        value_coefficient=0.5,
        beta=0.1,
        kl_target=0.1,
        kl_gain=0.1,
        top_p=0.9,
        mu=0,
        min_keep=100,
        ratio="raw",
        entropy="raw",
        mask_in_evaluation=True,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """What `algorithm:` may hold when `kind: nlpo`: all of PPO's, and the masking policy's."""

    top_p: float = setting(0.9, "mass of the masking policy's nucleus; 1: no mask", source="2210.01241 sec. B.3.1", low=0.0, high=1.0)
    top_k: int = setting(0, "keep this many of the masking policy's likeliest tokens; 0: not limited by number", low=0)
    mu: int = setting(5, "updates between synchronisations of the masking policy; 0: it stays the initial policy", source="2210.01241 table 4", low=0)
    min_keep: int = setting(1, "tokens kept whatever their mass", source="RL4LMs keeps 100", low=1)
    mask_in_evaluation: bool = setting(False, "draw from the nucleus in evaluation too, as RL4LMs does")
    entropy: str = setting("support", "entropy of the masked policy, or RL4LMs's, which lacks its normaliser", choices=("support", "raw"))


def preset(name: str, **changes: Any) -> Config:
    """The settings of the paper ("paper") or of its released code ("rl4lms"), with changes; UnknownName for any other name."""
    if name not in PRESETS:
        raise UnknownName("NLPO preset", name, PRESETS)
    return Config(**{**PRESETS[name], **changes})


class NLPO(PPO):
    """PPO with a support from a masking policy; `masking_policy` is None where nothing is masked, or where it is the policy itself."""

    Config: ClassVar[type] = Config
    name = "nlpo"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        vocabulary = int(model.policy.get_output_embeddings().weight.shape[0])
        kept = min(config.top_k, vocabulary) or vocabulary
        self.masks = (config.top_p < 1 or kept < vocabulary) and config.min_keep < vocabulary
        if self.masks and config.mask_in_evaluation and model.evaluation is not None and model.evaluation.method == "beam":
            raise BadSetting("mask_in_evaluation with evaluation.method = 'beam': beams have no mask; evaluate by 'sample' or 'greedy', or unmasked")
        if config.entropy == "raw" and model.decoding is not None and model.decoding.temperature != 1:
            raise BadSetting(
                f"entropy = 'raw' with decoding.temperature = {model.decoding.temperature}: it is exact at 1 only; set that, or entropy to 'support'"
            )
        # With mu = 1 the masking policy equals the policy whenever tokens are drawn: a copy would be the same numbers twice.
        self.masking_policy = frozen_copy(model.policy) if self.masks and config.mu != 1 else None
        self.synchronised = 0

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, drawing from the masking policy's nucleus; in evaluation only by setting."""
        if not self.masks or (evaluating and not self.config.mask_in_evaluation):
            return super().agent(model, evaluating)
        special = tuple(sorted({*model.language.tokenizer.all_special_ids, *model.format.end}))
        nucleus = Nucleus(self.masking_policy, self.config.top_p, self.config.top_k, self.config.min_keep, special)
        return LanguageModelAgent(model.policy, model.format, model.evaluation if evaluating else model.decoding, nucleus, name=self.name)

    def entropy(self, scores: Scores) -> Float[Tensor, " N"]:
        """The masked policy's entropy; "raw" is - sum of (π/Z) log π over the kept tokens, which is less by log Z."""
        if self.config.entropy == "support":
            return scores.entropy
        return scores.entropy - (scores.policy - scores.drawn)  # log Z = log π(a) - log π_ψ(a) of any kept a, eq. 6

    def after_update(self, model: Actor) -> dict[str, float]:
        """The KL controller moves; every mu updates the masking policy takes the policy's parameters, in place."""
        logs = super().after_update(model)
        if not self.masks:
            return logs
        if self.config.mu and self.updates % self.config.mu == 0:
            self.synchronised = self.updates
            if self.masking_policy is not None:
                follow(self.masking_policy, tensors(model.policy))
        return {**logs, "nlpo/age": float(self.updates - self.synchronised)}

    def state_dict(self) -> dict[str, Any]:
        """PPO's, and the masking policy's parameters where it is a model of its own."""
        mask = {} if self.masking_policy is None else {name: x.detach().clone() for name, x in tensors(self.masking_policy).items()}
        return {**super().state_dict(), "synchronised": self.synchronised, "masking_policy": mask}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; BadCheckpoint when it belongs to another model."""
        super().load_state_dict(state)
        self.synchronised = int(state["synchronised"])
        if self.masking_policy is not None:
            follow(self.masking_policy, state["masking_policy"])


def frozen_copy(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode that receives no gradient."""
    return copy.deepcopy(module).eval().requires_grad_(False)


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """The parameters and buffers of a module by name, shared ones once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


@torch.no_grad()
def follow(copied: nn.Module, source: Mapping[str, Tensor]) -> None:
    """Give a copy the values of the model it is a copy of, in place: whoever holds the copy sees them.

    Raises:
        BadCheckpoint: the names or shapes are another model's.
    """
    mine = tensors(copied)
    wrong = [name for name in {*mine, *source} if name not in mine or name not in source or mine[name].shape != source[name].shape]
    if wrong:
        raise BadCheckpoint(f"the masking policy and its source differ in {sorted(wrong)[0]!r}; they are not of the same model")
    for name, tensor in mine.items():
        tensor.copy_(source[name])
