"""Rewards: terms made of metrics or of any callable, penalties, and their weighted composition. Scores stay raw; weights come last."""

from loquent.rewards.compose import apply, build, episode_texts, references_of
from loquent.rewards.terms import Function, Term, TokenTerm

__all__ = ["Function", "Term", "TokenTerm", "apply", "build", "episode_texts", "references_of"]
