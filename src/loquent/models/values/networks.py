"""V and Q per token over hidden states, with slowly updated target networks (arXiv:2206.11871 sec. 4)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadSetting
from loquent.models.values.chunks import Columns, Rows, sum_chunks
from loquent.pretrained import exact, exactly, lora, twin
from loquent.pretrained.lora.low_rank import add_adapters
from loquent.pretrained.output import trunk, width
from loquent.pretrained.pytorch.torch_private import lerp_

BACKBONES = ("separate", "shared", "lora", "frozen")
CHUNK = 1 << 22  # the values of one chunk of a Q-head's outputs, if all outputs are needed


class Head(nn.Module):
    """Two linear layers with a ReLU between them, the heads of arXiv:2206.11871.

    The inner width is twice that of the hidden states.

    Args:
        initial: the first value of every output (output weight 0, bias `initial`); None: PyTorch's
            initialisation.
    """

    def __init__(self, width: int, outputs: int, initial: float | None = None) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, outputs)
        if initial is not None:
            nn.init.zeros_(self.outer.weight)
            nn.init.constant_(self.outer.bias, initial)

    def forward(self, hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N V"]:
        """All outputs."""
        outputs: Tensor = self.outer(self.features(hidden))
        return outputs

    def features(self, hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N F"]:
        """The inputs of the output layer, in the precision of the head (at least float32)."""
        return F.relu(self.inner(hidden.to(self.inner.weight.dtype)))

    def gather(self, hidden: Float[Tensor, "N H"], tokens: Int64[Tensor, " N"]) -> Float[Tensor, " N"]:
        """The output of one column for each row, without the other columns of [N, V]."""
        columns = F.embedding(tokens, self.outer.weight)
        return (self.features(hidden) * columns).sum(-1) + self.outer.bias[tokens]

    def sum_rows(self, hidden: Float[Tensor, "N H"], function: Rows) -> tuple[Tensor, Columns]:
        """The sum over rows of a function of all outputs, and the function's other columns.

        They are computed for some rows at a time (`chunks.sum_chunks`).
        """
        return sum_chunks(
            self.outer, self.features(hidden), max(1, CHUNK // self.outer.out_features), function
        )


def _heads(modules: nn.ModuleList) -> list[Head]:
    """The heads in a list of modules that holds only heads."""
    return cast(list[Head], list(modules))


class TokenValues(nn.Module):
    """V and Q per token for a policy. Target parts never require a gradient and stay in evaluation mode.

    Without a `value_trunk` the heads read the policy's hidden states. Without a `target_trunk` the target
    heads read the same states as the online heads.
    """

    def __init__(
        self,
        value_trunk: nn.Module | None,
        target_trunk: nn.Module | None,
        width: int,
        vocabulary: int,
        *,
        double: bool = True,
        initial: float | None = None,
        value_min: float | None = None,
        value_max: float | None = None,
    ) -> None:
        super().__init__()
        self.value_trunk, self.target_trunk = value_trunk, target_trunk
        self.value_min, self.value_max = value_min, value_max
        self.size = vocabulary  # the number of outputs of a Q-head
        self.v_head = Head(width, 1, initial)
        self.q_heads = nn.ModuleList(Head(width, vocabulary, initial) for _ in range(2 if double else 1))
        self.target_heads = copy.deepcopy(self.q_heads)
        for part in self.targets():
            part.requires_grad_(False)
        self.eval()

    @classmethod
    def build(
        cls,
        policy: Any,
        *,
        backbones: str = "separate",
        rank: int = 8,
        outputs: int | None = None,
        double: bool = True,
        initial: float | None = None,
        value_min: float | None = None,
        value_max: float | None = None,
        key: Key,
    ) -> TokenValues:
        """The values for a causal model, on its device.

        Args:
            backbones: "separate": one copy of the trunk for the values and one for their targets; "shared":
                the policy's trunk, which the policy and the values train; "frozen": the policy's trunk,
                frozen; "lora": the frozen trunk with low-rank adapters for the values and for their targets.
            rank: the rank of the adapters.
            outputs: the outputs of a Q-head: one for each token of the model (None), or 1 for a whole answer.
            double: use two Q-heads; the smaller target Q counts.
            initial: the first value of every output; None: PyTorch's initialisation.
            key: determines all initial weights.

        Raises:
            BadSetting: `backbones` is unknown.
        """
        if backbones not in BACKBONES:
            raise BadSetting(f"backbones = {backbones!r}; it must be one of {', '.join(BACKBONES)}")
        if backbones == "lora" and lora.is_adapted(policy):
            raise BadSetting(
                "backbones = 'lora' with model.lora.rank above 0: the policy has adapters already; set "
                "backbones to 'separate', whose trunks then share the frozen weights, or model.lora.rank to 0"
            )
        body = trunk(policy)
        value_trunk: nn.Module | None = None
        if backbones in ("lora", "frozen"):
            policy.requires_grad_(False)
        with borrow_generators(key.child("values")):
            if backbones == "separate":
                value_trunk = exactly(twin(body), exact(policy.dtype))
            elif backbones == "lora":
                value_trunk = add_adapters(body, rank)
            target_trunk = None if value_trunk is None else twin(value_trunk)
            size = policy.get_input_embeddings().weight.shape[0] if outputs is None else outputs
            limits = {"value_min": value_min, "value_max": value_max}
            values = cls(
                value_trunk, target_trunk, width(policy), size, double=double, initial=initial, **limits
            )
        for heads in (values.v_head, values.q_heads, values.target_heads):
            heads.to(exact(policy.dtype))
        return values.to(policy.device)

    def v(self, hidden: Float[Tensor, "*N H"]) -> Float[Tensor, " *N"]:
        """V of states, from the value trunk's hidden states."""
        values: Tensor = self.v_head(hidden)[..., 0]
        return values

    def q(self, hidden: Float[Tensor, "*N H"]) -> tuple[Float[Tensor, "*N V"], ...]:
        """Q of all tokens by each online head."""
        return tuple(head(hidden) for head in self.q_heads)

    @torch.no_grad()
    def target_q(self, hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N V"]:
        """The smaller Q of the target heads for all tokens, clipped; reads the target trunk's states."""
        return self._clipped(torch.stack([head(hidden) for head in self.target_heads]).amin(0))

    def gather(
        self, hidden: Float[Tensor, "N H"], tokens: Int64[Tensor, " N"]
    ) -> tuple[Float[Tensor, " N"], ...]:
        """Q of the taken token by each online head, without the other columns of [N, V]."""
        return tuple(head.gather(hidden, tokens) for head in _heads(self.q_heads))

    @torch.no_grad()
    def target_taken(self, hidden: Float[Tensor, "N H"], tokens: Int64[Tensor, " N"]) -> Float[Tensor, " N"]:
        """`target_q` of the taken token, without the other columns of [N, V]."""
        return self._clipped(
            torch.stack([head.gather(hidden, tokens) for head in _heads(self.target_heads)]).amin(0)
        )

    def sum_rows(
        self, hidden: Float[Tensor, "N H"], function: Rows
    ) -> tuple[Float[Tensor, ""], tuple[Columns, ...]]:
        """The sum over rows and online heads of a function of Q, and its other columns for each head.

        Args:
            function: (Q of some rows [n, V], the slice of these rows) -> the column [n] that is summed, and
                other columns.
        """
        sums, columns = zip(*(head.sum_rows(hidden, function) for head in _heads(self.q_heads)), strict=True)
        return torch.stack(sums).sum(), columns

    @torch.no_grad()
    def target_wide(
        self, hidden: Float[Tensor, "N H"], function: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, " N"]:
        """A function [n, V] -> [n] of `target_q`, computed for some rows at a time."""
        step = max(1, CHUNK // _heads(self.target_heads)[0].outer.out_features)
        parts = [function(self.target_q(chunk)) for chunk in hidden.split(step)]
        return torch.cat(parts) if parts else hidden.new_zeros(0)

    def targets(self) -> list[nn.Module]:
        """The target heads, and the target trunk if there is one."""
        return [self.target_heads, *([self.target_trunk] if self.target_trunk is not None else [])]

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Move each target towards its online part: θ' <- rate θ + (1 - rate) θ'; a rate of 1 copies it."""
        online = [self.q_heads, *([self.value_trunk] if self.value_trunk is not None else [])]
        for target, part in zip(self.targets(), online, strict=True):
            parameters = zip(target.parameters(), part.parameters(), strict=True)
            pairs = [(slow, fast) for slow, fast in parameters if slow is not fast]  # frozen ones are shared
            lerp_([slow for slow, _ in pairs], [fast for _, fast in pairs], rate)

    def train(self, mode: bool = True) -> TokenValues:
        """Training mode for the online parts; targets stay in evaluation mode."""
        super().train(mode)
        for part in self.targets():
            part.eval()
        return self

    def _clipped(self, values: Tensor) -> Tensor:
        if self.value_min is None and self.value_max is None:
            return values
        return values.clamp(self.value_min, self.value_max)
