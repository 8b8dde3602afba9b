"""Batches made of episodes: rows, turns, utterances, token rewards."""
