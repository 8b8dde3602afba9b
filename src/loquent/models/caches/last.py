"""The output of a network at the last token of each live row."""

from __future__ import annotations

from typing import Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

Gives = Literal["logits", "states", "both"]
"""The requested outputs; a trunk has only states."""


class Last(NamedTuple):
    """At the last token of each row: the logits of the next token and the last hidden states.

    An output that was not requested is None.
    """

    logits: Float[Tensor, "n V"] | None
    states: Float[Tensor, "n H"] | None
