"""Sequence tagging: one label a token, in order."""
