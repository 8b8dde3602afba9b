"""Preferences that reward models learn from: files of pairs, the report of a model, and over-optimisation."""
