"""The settings of low-rank adapters in a recipe.

They are apart from the adapters, so that a recipe can be read without torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting


@dataclass(frozen=True, kw_only=True)
class Lora:
    """Low-rank adapters on the policy (arXiv:2106.09685): the model's own weights are frozen."""

    rank: int = setting(
        0,
        "r, the rank of the adapters; 0: no adapters, all weights learn",
        source="2106.09685 sec. 4.1",
        low=0,
    )
    alpha: float = setting(
        16.0, "α: the output of an adapter is scaled by α / r", source="2305.14314 sec. B.2", low=1e-6
    )
    dropout: float = setting(
        0.0,
        "dropout on the inputs of adapters; used in supervised training only",
        source="2106.09685 sec. D",
        low=0,
        high=0.9,
    )
    targets: tuple[str, ...] = setting(
        (),
        "names of the layers with adapters, such as c_attn or q_proj; empty: all linear ones but the output",
        source="2305.14314 sec. 4",
    )

    def __post_init__(self) -> None:
        check_ranges(self)
