"""Batches made of episodes: rows, utterances, token rewards."""
