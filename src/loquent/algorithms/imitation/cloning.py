"""Behavioural cloning (BC in arXiv:2206.11871): the policy imitates the answers of recorded episodes.

It is supervised learning on recorded episodes, good and bad. The policy loss of ILQL with `awac_beta = 0` is
the same loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.algorithms.imitation import supervised
from loquent.algorithms.imitation.supervised import LOGGED, Supervised
from loquent.core.algorithm import StepSettings
from loquent.core.settings import redefault

__all__ = ["LOGGED", "Cloning", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(supervised.Config):
    """Settings of `cloning`."""

    learning_rate: float = redefault(StepSettings, "learning_rate", 1e-4, source="ILQL's released code")


class Cloning(Supervised):
    """Cross-entropy on the answers of recorded episodes."""

    Config: ClassVar[type] = Config
    name = "cloning"
    reads = ("data", "expert")
