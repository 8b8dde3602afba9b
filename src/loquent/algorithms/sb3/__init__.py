"""Learners of Stable-Baselines3, which step live games themselves."""
