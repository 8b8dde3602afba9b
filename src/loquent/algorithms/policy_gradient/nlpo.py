"""NLPO: PPO that draws each token from the nucleus of a masking policy.

Source: arXiv:2210.01241, section 4, Algorithm 1 and eq. 6.

The masking policy π_ψ is a copy of the policy, updated every `mu` updates. Its top-p (or top-k) tokens are
the support; the policy draws from its own distribution renormalised on them. The support is recorded with
each token and used again in the loss, so the ratio uses the probabilities of the draw. Without a mask, NLPO
equals PPO bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent import pretrained
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient import ppo
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.algorithms.presets import PRESETS
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting, UnknownName
from loquent.files import saved_state
from loquent.models.actor import Actor
from loquent.models.engine import Nucleus
from loquent.models.score.one_pass import Scores
from loquent.pretrained import lora

LOGGED = logged_keys.BUILT_IN["nlpo"]


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """Settings of `nlpo`: those of PPO and of the masking policy."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["nlpo"]
    top_p: float = setting(
        0.9,
        "probability mass of the masking policy's nucleus; 1: no mask",
        source="2210.01241 sec. B.3.1",
        low=0.0,
        high=1.0,
    )
    top_k: int = setting(0, "number of the masking policy's most likely tokens to keep; 0: no limit", low=0)
    mu: int = setting(
        5,
        "updates between synchronisations of the masking policy; 0: it remains the initial policy",
        source="2210.01241 table 4",
        low=0,
    )
    min_keep: int = setting(1, "least number of tokens to keep", source="RL4LMs keeps 100", low=1)
    keep_special: bool = setting(
        True,
        "whether the mask always keeps special tokens, of which one ends an answer",
        source="RL4LMs; 2210.01241 eq. 6 keeps the nucleus alone",
    )
    mask_in_evaluation: bool = setting(False, "whether evaluation draws from the nucleus too, as in RL4LMs")
    entropy: str = setting(
        "support",
        "entropy of the masked policy, or that of RL4LMs, without the normaliser",
        choices=("support", "raw"),
    )


def preset(name: str, **changes: Any) -> Config:
    """Settings of the paper ("paper") or of its released code ("rl4lms"), with changes.

    UnknownName for other names.
    """
    if name not in Config.presets:
        raise UnknownName("NLPO preset", name, Config.presets)
    return Config(**{**Config.presets[name], **changes})


class NLPO(PPO):
    """PPO with a support from a masking policy.

    `masking_policy` is None without a mask, and where it would equal the policy (mu = 1).
    """

    Config: ClassVar[type] = Config
    name = "nlpo"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        vocabulary = int(model.policy.get_output_embeddings().weight.shape[0])
        support = min(config.top_k, vocabulary) or vocabulary
        self.masks = (config.top_p < 1 or support < vocabulary) and config.min_keep < vocabulary
        if (
            self.masks
            and config.mask_in_evaluation
            and model.evaluation is not None
            and model.evaluation.method == "beam"
        ):
            problem = "mask_in_evaluation with evaluation.method = 'beam': beam search has no mask"
            raise BadSetting(
                f"{problem}; set the method to 'sample' or 'greedy', or mask_in_evaluation to false"
            )
        if config.entropy == "raw" and model.decoding is not None and model.decoding.temperature != 1:
            raise BadSetting(
                f"entropy = 'raw' with decoding.temperature = {model.decoding.temperature}: it is "
                "exact at temperature 1 only; set the temperature to 1, or entropy to 'support'"
            )
        # With mu = 1 the masking policy always equals the policy when tokens are drawn, so no copy is needed.
        self.masking_policy = frozen_copy(model.policy) if self.masks and config.mu != 1 else None
        self.synchronised = 0

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, which draws from the masking policy's nucleus.

        In evaluation only with `mask_in_evaluation`.
        """
        if not self.masks or (evaluating and not self.config.mask_in_evaluation):
            return super().agent(model, evaluating)
        special = {*model.language.tokenizer.all_special_ids, *model.format.end}
        kept = tuple(sorted(special)) if self.config.keep_special else ()
        nucleus = Nucleus(
            self.masking_policy, self.config.top_p, self.config.top_k, self.config.min_keep, kept
        )
        return LanguageModelAgent.of(model, evaluating, self.updates, nucleus=nucleus, name=self.name)

    def entropy(self, scores: Scores) -> Float[Tensor, " N"]:
        """The entropy of the masked policy.

        "raw" is -Σ (π/Z) log π over the kept tokens, which omits log Z.
        """
        if self.config.entropy == "support":
            return scores.entropy
        log_z = scores.policy - scores.drawn  # log π(a) - log π_ψ(a) of any kept a, eq. 6
        return scores.entropy - log_z

    def after_update(self, model: Actor) -> dict[str, float]:
        """One step of the KL controller.

        Every `mu` updates the policy is copied to the masking policy, in place.
        """
        logs = super().after_update(model)
        if not self.masks:
            return logs
        if self.config.mu and self.updates % self.config.mu == 0:
            self.synchronised = self.updates
            if self.masking_policy is not None:
                follow(self.masking_policy, tensors(model.policy))
        return {**logs, "nlpo/age": float(self.updates - self.synchronised)}

    def state_dict(self) -> dict[str, Any]:
        """The state of PPO, and the tensors of the masking policy if it is a separate model."""
        mask = (
            {}
            if self.masking_policy is None
            else {name: x.detach() for name, x in tensors(self.masking_policy).items()}
        )
        return {**super().state_dict(), "synchronised": self.synchronised, "masking_policy": mask}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        super().load_state_dict(state)
        self.synchronised = saved_state.count(state, "synchronised", most=self.updates)
        if self.masking_policy is not None:
            follow(self.masking_policy, state["masking_policy"])


def frozen_copy(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode without gradients. It shares the weights that are frozen already."""
    copied: nn.Module = pretrained.twin(module)
    return copied.eval().requires_grad_(False)


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers of a module by name; shared tensors appear once.

    The weights under adapters, which never change, are left out.
    """
    named, unchanged = (
        {**dict(module.named_parameters()), **dict(module.named_buffers())},
        lora.base_tensors(module),
    )
    return {name: tensor for name, tensor in named.items() if id(tensor) not in unchanged}


@torch.no_grad()
def follow(copied: nn.Module, source: Mapping[str, Tensor]) -> None:
    """Copy the tensors of `source` into `copied`, in place, so that other references to the copy see them.

    Raises:
        BadCheckpoint: the names or shapes differ.
    """
    targets = tensors(copied)
    wrong = [
        name
        for name in {*targets, *source}
        if name not in targets or name not in source or targets[name].shape != source[name].shape
    ]
    if wrong:
        problem = f"the masking policy and its source differ in the tensor {sorted(wrong)[0]!r}"
        raise BadCheckpoint(f"{problem}; take both from the same model")
    for name, tensor in targets.items():
        tensor.copy_(source[name])
