"""The actor: a policy, its value function and its reference, as one module with one forward pass a
network.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from loquent import pretrained
from loquent.core.seeding import Key, borrowed
from loquent.errors import BadModel, BadSetting
from loquent.models.conditioning import Conditioning
from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import Format, Plain
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import TokenValues
from loquent.pretrained import LanguageModel
from loquent.pretrained.trunk import trunk, width

CRITICS = ("network", "head", "none")


class Hidden(NamedTuple):
    """What one pass gives: the policy's last hidden states, and a value at each of them (0 at padding) where
    asked for.
    """

    policy: Float[Tensor, "B T H"]
    values: Float[Tensor, "B T"] | None


class Critic(nn.Module):
    """A value for every hidden state: a linear layer without bias on a trunk of its own, or (`trunk` None) on
    the policy's.

    With its own trunk it is RL4LMs' value network (arXiv:2210.01241, the released code): a second copy of the
    checkpoint.
    """

    def __init__(self, trunk: nn.Module | None, width: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(width, 1, bias=False)

    def forward(
        self,
        tokens: Int64[Tensor, "B T"],
        shared: Float[Tensor, "B T H"] | None = None,
        wanted: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"]:
        """The values of all positions, or of those `wanted`.

        `shared`: the policy's hidden states, needed without a trunk of one's own.
        """
        hidden = shared if self.trunk is None else pretrained.hidden(self.trunk, tokens, wanted)
        if hidden is None:
            raise BadModel("a critic that is a head on the shared trunk needs the policy's hidden states")
        values: Tensor = self.head(hidden.to(self.head.weight.dtype))[..., 0]
        return values.to(torch.promote_types(values.dtype, torch.float32))


class Actor(nn.Module):
    """A policy with what reinforcement learning keeps beside it.

    Made in evaluation mode, in which rollouts and RL updates stay; `train()` turns dropout on in policy and
    critic (for supervised training), never in the reference.

    `policy` is the Hugging Face module of `language` itself; `critic` a `Critic` or None; `reference` a
    frozen causal model or None; `values` what an algorithm of values attached, `conditioning` what one that
    conditions the policy on a number did, or None.
    """

    def __init__(
        self,
        language: LanguageModel,
        critic: Critic | None,
        reference: nn.Module | None,
        *,
        format: Format,
        decoding: Decoding | None,
        evaluation: Decoding | None,
    ) -> None:
        super().__init__()
        self.language, self.format, self.decoding, self.evaluation = language, format, decoding, evaluation
        self.policy, self.critic, self.reference = language.module, critic, reference
        self.values: TokenValues | None = None  # attached by the algorithms that learn them
        self.conditioning: Conditioning | None = None
        self.eval()

    @classmethod
    def build(
        cls,
        language: LanguageModel,
        *,
        critic: str = "network",
        reference: str | LanguageModel = "copy",
        format: Format | None = None,
        decoding: Decoding | None = None,
        evaluation: Decoding | None = None,
        key: Key,
    ) -> Actor:
        """An actor around a language model.

        Args:
            critic: "network": its own copy of the trunk; "head": on the policy's trunk, which both train;
                "none".
            reference: "copy": the policy as it is now, frozen; another language model with the same
                vocabulary; or "none".
            format: `Plain` by default.
            key: the initial weights of the value head depend on it alone; no global generator is changed.

        Raises:
            BadSetting: no such critic or reference.
            BadModel: the reference has another vocabulary or a shorter context, or format and model do not
                belong together.
        """
        module = language.module
        rows = module.get_input_embeddings().weight.shape[0]
        format = Plain(language.tokenizer) if format is None else format
        if format.vocabulary > rows:
            raise BadModel(
                f"the format's tokenizer has ids up to {format.vocabulary - 1}, but the model has "
                f"only {rows} embeddings"
            )
        if critic not in CRITICS:
            raise BadSetting(f"critic = {critic!r} is none of {', '.join(CRITICS)}")
        made = None
        if critic != "none":
            with borrowed(key.child("value head")):
                made = Critic(copy.deepcopy(trunk(module)) if critic == "network" else None, width(module))
            made.to(device=module.device, dtype=pretrained.exact(module.dtype))
        frozen = _reference(language, reference)
        return cls(language, made, frozen, format=format, decoding=decoding, evaluation=evaluation)

    def forward(
        self, batch: TokenBatch, want_values: bool = True, wanted: Bool[Tensor, "B T"] | None = None
    ) -> Hidden:
        """Hidden states of the policy and, where asked for, values: exactly one forward pass for each
        network.

        Args:
            wanted: the positions somebody will look at (all by default); what stands at others is undefined.

        Raises:
            BadSetting: values are asked for and there is no critic.
        """
        hidden = pretrained.hidden(self.policy, batch.tokens, wanted)
        return Hidden(hidden, self.state_values(batch, hidden, wanted) if want_values else None)

    def state_values(
        self,
        batch: TokenBatch,
        hidden: Float[Tensor, "B T H"] | None = None,
        wanted: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"]:
        """V at every position (or those `wanted`), 0 at padding; one forward pass.

        `hidden`: the policy's states, which save a critic head that pass.
        """
        if self.critic is None:
            raise BadSetting("the actor has no critic; build it with critic='network' or 'head'")
        if self.critic.trunk is None and hidden is None:
            hidden = pretrained.hidden(self.policy, batch.tokens, wanted)
        values: Tensor = self.critic(batch.tokens, hidden, wanted).masked_fill(~batch.real, 0.0)
        return values

    def networks(self) -> dict[str, nn.Module]:
        """The trunks that are run, by role: a critic that is a head has none of its own.

        Hooks on them see every forward pass.
        """
        found = {"policy": trunk(self.policy)}
        if self.critic is not None and self.critic.trunk is not None:
            found["critic"] = self.critic.trunk
        if self.reference is not None:
            found["reference"] = trunk(self.reference)
        return found

    @property
    def device(self) -> torch.device:
        """Where the policy is."""
        device: torch.device = self.policy.device
        return device

    @property
    def context(self) -> int:
        """The longest sequence the policy takes; the reference takes at least as much."""
        return pretrained.context(self.policy)

    @property
    def room(self) -> int:
        """The longest prompt of the rollout: what its new tokens leave, or what the decoding allows.

        Raises:
            BadSetting: they take the whole context.
        """
        new = 0 if self.decoding is None else self.decoding.max_new_tokens
        if self.context - new < 1:
            raise BadSetting(
                f"max_new_tokens = {new} leaves no room for a prompt in a context of {self.context}"
            )
        most = 0 if self.decoding is None else self.decoding.max_prompt_tokens
        return min(self.context - new, most or self.context)

    def train(self, mode: bool = True) -> Actor:
        """Turn dropout on or off in policy and critic; the reference has none ever."""
        super().train(mode)
        if self.reference is not None:
            self.reference.eval()
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]  # torch overloads it
        """All parameters and buffers, tensors that several names share (tied embeddings) under their first
        name only.
        """
        state: dict[str, Any] = super().state_dict(*args, **kwargs)
        prefix = str(kwargs.get("prefix", ""))
        for name in self._shared():
            state.pop(prefix + name, None)
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take back what `state_dict` gave."""
        shared = {name: state_dict[first] for name, first in self._shared().items() if first in state_dict}
        return super().load_state_dict({**shared, **state_dict}, strict=strict, assign=assign)

    def _shared(self) -> dict[str, str]:
        """Each further name of a tensor that has several -> its first name."""
        first: dict[int, str] = {}
        further = {}
        for name, tensor in (
            *self.named_parameters(remove_duplicate=False),
            *self.named_buffers(remove_duplicate=False),
        ):
            known = first.setdefault(id(tensor), name)
            if known != name:
                further[name] = known
        return further


def _reference(language: LanguageModel, reference: str | LanguageModel) -> nn.Module | None:
    if reference == "none":
        return None
    if isinstance(reference, str):
        if reference != "copy":
            raise BadSetting(f"reference = {reference!r} is none of 'copy', 'none' and a language model")
        frozen = copy.deepcopy(language.module)
    else:
        if reference.tokenizer.get_vocab() != language.tokenizer.get_vocab():
            raise BadModel(
                "the reference has another vocabulary than the policy, so no KL can be measured "
                "between them; take one with the same tokenizer"
            )
        longest, needed = pretrained.context(reference.module), pretrained.context(language.module)
        if longest < needed:
            raise BadModel(
                f"the reference takes {longest} tokens and the policy {needed}; it could not score "
                "what the policy says"
            )
        frozen = (
            reference.module if reference.module is not language.module else copy.deepcopy(language.module)
        )
    module: nn.Module = frozen.requires_grad_(False).eval()
    return module
