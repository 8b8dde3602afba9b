"""What a network gives at the end of each row under way."""

from __future__ import annotations

from typing import Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

Gives = Literal["logits", "states", "both"]
"""What is asked for; a trunk has only states."""


class Last(NamedTuple):
    """What stands at the last token of each row: logits of the next token, last hidden states.

    None where it was not asked for.
    """

    logits: Float[Tensor, "n V"] | None
    states: Float[Tensor, "n H"] | None
