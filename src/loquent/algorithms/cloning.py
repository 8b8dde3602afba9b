"""Behavioural cloning: a policy that says what was said in recorded episodes, good and bad (BC in arXiv:2206.11871).

Supervised learning, reading recorded episodes; ILQL's policy loss with `awac_beta = 0` is the same loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.algorithms import supervised
from loquent.algorithms.supervised import LOGGED, Supervised
from loquent.settings import setting

__all__ = ["LOGGED", "Cloning", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(supervised.Config):
    """What `algorithm:` may hold when `kind: cloning`."""

    learning_rate: float = setting(1e-4, "AdamW's largest step; a small model made here learns with 1e-3", source="ILQL's released code", low=0.0)


class Cloning(Supervised):
    """Cross-entropy on the answers of recorded episodes."""

    Config: ClassVar[type] = Config
    name = "cloning"
    reads = ("data", "expert")
