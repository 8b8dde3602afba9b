"""Recorded episodes to learn from: their files, and all of them as one batch."""
