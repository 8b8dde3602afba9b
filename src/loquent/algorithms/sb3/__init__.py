"""Learners of Stable-Baselines3 (extra `sb3`), which step live games themselves and learn in between."""
