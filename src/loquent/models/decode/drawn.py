"""What decoding gives for one prompt."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.episode import Tokens
from loquent.core.task import Stopped


@dataclass(frozen=True, eq=False)
class Drawn:
    """An answer's tokens as they were drawn, end token included, and why it stopped."""

    tokens: Tokens
    stopped: Stopped
