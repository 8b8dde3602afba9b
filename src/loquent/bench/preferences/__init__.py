"""Reward models learned from preferences: pairs of texts, training, the report, and over-optimisation."""
