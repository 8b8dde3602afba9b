"""Sequence tagging: one label per token, in order."""
