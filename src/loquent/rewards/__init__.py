"""Rewards made of metrics and callables: composition, shaping, placement, cache."""

from loquent.rewards.compose import apply, build, episode_texts, references_of
from loquent.rewards.counting import Counting
from loquent.rewards.learner import Learner
from loquent.rewards.terms import Function, Term, TokenTerm

__all__ = [
    "Counting",
    "Function",
    "Learner",
    "Term",
    "TokenTerm",
    "apply",
    "build",
    "episode_texts",
    "references_of",
]
