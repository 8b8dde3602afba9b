"""The actor: a policy, its value function and its reference model in one module."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel, BadSetting
from loquent.models.conditioning import Conditioning
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Engine
from loquent.models.format.names import Format, of_model
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import TokenValues
from loquent.pretrained import LanguageModel, encoder_decoders, lora
from loquent.pretrained.output import trunk, width

CRITICS = ("network", "head", "none")
HEADS = ("random", "zero")


class Hidden(NamedTuple):
    """The policy's last hidden states, and the value at each position (0 at padding) if requested."""

    policy: Float[Tensor, "B T H"]
    values: Float[Tensor, "B T"] | None


class Critic(nn.Module):
    """A value for every hidden state: a linear layer without bias on a trunk.

    The trunk is the critic's own, or the policy's if `trunk` is None. With its own trunk it is the value
    network of RL4LMs (arXiv:2210.01241, the released code): a second copy of the checkpoint.
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
        """The values at all positions, or at those `wanted`.

        `shared`: the policy's hidden states, required if the critic has no trunk.

        Raises:
            BadModel: `shared` is None and the critic has no trunk.
        """
        hidden = shared if self.trunk is None else pretrained.hidden(self.trunk, tokens, wanted)
        if hidden is None:
            raise BadModel(
                "shared = None, but this critic is a head on the policy's trunk and needs the policy's "
                "hidden states; pass them"
            )
        values: Tensor = self.head(hidden.to(self.head.weight.dtype))[..., 0]
        return values.to(torch.promote_types(values.dtype, torch.float32))


class Actor(nn.Module):
    """A policy with its critic, its reference model, its format and its decoding settings.

    A new actor is in evaluation mode; rollouts and RL updates keep it so. `train()` turns on dropout in the
    policy and the critic (for supervised training), never in the reference model.

    Attributes:
        policy: the Hugging Face module of `language` itself.
        critic: a `Critic`, or None.
        reference: a frozen causal model, or None.
        values: token values, if a value-learning algorithm attached them.
        conditioning: the input of a number, if an algorithm that conditions the policy attached it.
        engines: the engines that draw for it, by name, each with a count of the changes of the weights that
            it has (`models.decode.transfer`).
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
        self.values: TokenValues | None = None
        self.conditioning: Conditioning | None = None
        self.engines: dict[str, tuple[Engine, int]] = {}
        self.eval()

    @classmethod
    def build(
        cls,
        language: LanguageModel,
        *,
        critic: str = "network",
        critic_head: str = "random",
        reference: str | LanguageModel = "copy",
        format: Format | None = None,
        decoding: Decoding | None = None,
        evaluation: Decoding | None = None,
        key: Key,
    ) -> Actor:
        """Build an actor around a language model.

        Args:
            critic: "network": on its own copy of the trunk; "head": on the policy's trunk, which both train;
                or "none".
            critic_head: the first weights of the value head: "random" or "zero".
            reference: "copy": a frozen copy of the policy, or with adapters the policy's own weights without
                them, which are in memory once; another language model with the same vocabulary;
                or "none".
            format: `Plain` by default.
            key: alone decides the initial weights of the value head; no global generator is changed.

        Raises:
            BadSetting: the critic or the reference is unknown.
            BadModel: the reference has another vocabulary or a shorter context, or the model has fewer
                embeddings than the format's tokenizer has ids.
        """
        module = language.module
        rows = module.get_input_embeddings().weight.shape[0]
        format = of_model("plain", module, language.tokenizer) if format is None else format
        if format.vocabulary > rows:
            raise BadModel(
                f"the format's tokenizer has ids up to {format.vocabulary - 1}, but the model has only "
                f"{rows} embeddings; it needs one for each id; resize the model's embeddings or take its "
                "own tokenizer"
            )
        if critic not in CRITICS:
            raise BadSetting(f"critic = {critic!r} must be one of {', '.join(CRITICS)}; choose one of them")
        if critic_head not in HEADS:
            allowed = ", ".join(HEADS)
            raise BadSetting(f"critic_head = {critic_head!r} must be one of {allowed}; choose one of them")
        value_function = None
        if critic != "none":
            with borrow_generators(key.child("value head")):
                own_trunk = pretrained.twin(trunk(module)) if critic == "network" else None
                value_function = Critic(own_trunk, width(module))
            if critic_head == "zero":
                nn.init.zeros_(value_function.head.weight)
            value_function = pretrained.exactly(value_function, pretrained.exact(module.dtype))
            value_function.to(device=module.device)
        return cls(
            language,
            value_function,
            _reference(language, reference),
            format=format,
            decoding=decoding,
            evaluation=evaluation,
        )

    def freeze_encoder(self) -> None:
        """Freeze the encoders of the policy, the critic and the reference; they read each source once.

        Raises:
            BadModel: the policy is no encoder-decoder.
        """
        for network in (self.policy, self.critic and self.critic.trunk, self.reference):
            if network is not None:
                encoder_decoders.freeze_encoder(network)

    def forward(
        self, batch: TokenBatch, want_values: bool = True, wanted: Bool[Tensor, "B T"] | None = None
    ) -> Hidden:
        """The policy's hidden states, and the values if wanted: one forward pass per network.

        Args:
            wanted: the positions to compute (all by default); the result at other positions is undefined.

        Raises:
            BadSetting: `want_values` is true and the actor has no critic.
        """
        hidden = pretrained.hidden(self.policy, batch.tokens, wanted)
        return Hidden(hidden, self.state_values(batch, hidden, wanted) if want_values else None)

    def state_values(
        self,
        batch: TokenBatch,
        hidden: Float[Tensor, "B T H"] | None = None,
        wanted: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"]:
        """V at every position (or those `wanted`), 0 at padding, in one forward pass.

        `hidden`: the policy's hidden states; with them a critic head needs no forward pass.

        Raises:
            BadSetting: the actor has no critic.
        """
        if self.critic is None:
            raise BadSetting(
                "the actor has no critic, but values need one; build it with critic='network' or 'head'"
            )
        if self.critic.trunk is None and hidden is None:
            hidden = pretrained.hidden(self.policy, batch.tokens, wanted)
        values: Tensor = self.critic(batch.tokens, hidden, wanted).masked_fill(~batch.real, 0.0)
        return values

    def networks(self) -> dict[str, nn.Module]:
        """The trunks by role (of an encoder-decoder the decoder); a critic that is a head has no trunk.

        A hook on each of them sees every forward pass.
        """
        trunks = {"policy": trunk(self.policy)}
        if self.critic is not None and self.critic.trunk is not None:
            trunks["critic"] = self.critic.trunk
        if self.reference is not None:
            trunks["reference"] = trunk(self.reference)
        return {name: encoder_decoders.reader(network) for name, network in trunks.items()}

    @property
    def device(self) -> torch.device:
        """The policy's device."""
        device: torch.device = self.policy.device
        return device

    @property
    def context(self) -> int:
        """The longest sequence of the policy in tokens; the reference model takes at least as much."""
        return pretrained.context(self.policy)

    @property
    def room(self) -> int:
        """The longest prompt of a rollout in tokens.

        It is the context less the new tokens (of an encoder-decoder, the encoder's context), and at most the
        decoding's `max_prompt_tokens`.

        Raises:
            BadSetting: the new tokens take the whole context.
        """
        new = 0 if self.decoding is None else self.decoding.max_new_tokens
        room = pretrained.prompt_room(self.policy, new)
        if room < 1:
            raise BadSetting(
                f"max_new_tokens = {new} leaves no room for a prompt in a context of {new + room}; it "
                f"must be at most {new + room - 1}; lower it"
            )
        limit = 0 if self.decoding is None else self.decoding.max_prompt_tokens
        return min(room, limit or room)

    @property
    def truncation_side(self) -> str:
        """The side on which a text loses tokens if it is too long for a prompt of a rollout."""
        return "left" if self.decoding is None else self.decoding.truncation_side

    def train(self, mode: bool = True) -> Actor:
        """Turn dropout on or off in the policy and the critic; the reference model never has dropout."""
        super().train(mode)
        if self.reference is not None:
            self.reference.eval()
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]  # torch overloads it
        """All parameters and buffers; a tensor with several names (tied embeddings) has its first one.

        With adapters the weights under them are left out: they never change.
        """
        state: dict[str, Any] = super().state_dict(*args, **kwargs)
        prefix = str(kwargs.get("prefix", ""))
        for name in (*self._shared(), *self._under_adapters()):
            state.pop(prefix + name, None)
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Load the result of `state_dict`.

        Weights of a critic or a reference that the actor does not have are left out: runs of before have them
        for algorithms that use none.
        """
        absent = tuple(f"{name}." for name in ("critic", "reference") if getattr(self, name) is None)
        state_dict = {name: tensor for name, tensor in state_dict.items() if not name.startswith(absent)}
        shared = {name: state_dict[first] for name, first in self._shared().items() if first in state_dict}
        unchanged = self._under_adapters()
        return super().load_state_dict({**unchanged, **shared, **state_dict}, strict=strict, assign=assign)

    def _under_adapters(self) -> dict[str, Tensor]:
        """The frozen weights under adapters, by each of their names; empty without adapters."""
        frozen = lora.base_tensors(self.policy)
        everything = self.named_parameters(remove_duplicate=False) if frozen else ()
        return {name: tensor for name, tensor in everything if id(tensor) in frozen}

    def _shared(self) -> dict[str, str]:
        """A dict from each further name of a tensor to the tensor's first name."""
        first_names: dict[int, str] = {}
        shared = {}
        for name, tensor in (
            *self.named_parameters(remove_duplicate=False),
            *self.named_buffers(remove_duplicate=False),
        ):
            first = first_names.setdefault(id(tensor), name)
            if first != name:
                shared[name] = first
        return shared


def _longest(module: Any) -> int:
    """The most tokens of a row, or of the shorter side of an encoder-decoder."""
    return (
        min(encoder_decoders.limits(module))
        if encoder_decoders.is_pair(module)
        else pretrained.context(module)
    )


def _reference(language: LanguageModel, reference: str | LanguageModel) -> nn.Module | None:
    """The frozen reference model of `Actor.build`, checked against the policy."""
    if reference == "none":
        return None
    if isinstance(reference, str):
        if reference != "copy":
            raise BadSetting(
                f"reference = {reference!r} must be 'copy', 'none' or a language model; choose one of them"
            )
        adapted = lora.is_adapted(language.module)
        frozen = lora.base(language.module) if adapted else copy.deepcopy(language.module)
    else:
        if reference.tokenizer.get_vocab() != language.tokenizer.get_vocab():
            raise BadModel(
                "the reference has another vocabulary than the policy, so the KL between them is undefined; "
                "it must have the same tokenizer; take another model"
            )
        longest, needed = (_longest(model.module) for model in (reference, language))
        if longest < needed:
            raise BadModel(
                f"the reference takes {longest} tokens and the policy {needed}, so it cannot score long "
                f"answers; it must take at least {needed}; take a model with a longer context"
            )
        frozen = (
            reference.module if reference.module is not language.module else copy.deepcopy(language.module)
        )
    module: nn.Module = frozen.requires_grad_(False).eval()
    return module
