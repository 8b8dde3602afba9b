"""Rewards made of metrics and callables: composition, shaping, placement, cache."""

from loquent.rewards.compose import apply, build, episode_texts, references_of, samples_of
from loquent.rewards.counting import Counting
from loquent.rewards.learner import Learner
from loquent.rewards.terms import Term, TokenTerm

__all__ = [
    "Counting",
    "Learner",
    "Term",
    "TokenTerm",
    "apply",
    "build",
    "episode_texts",
    "references_of",
    "samples_of",
]
