"""Recorded episodes to learn from: files, one batch of them all, and draws from it."""
