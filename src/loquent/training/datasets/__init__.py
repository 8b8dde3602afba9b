"""Datasets of episodes: collected in several processes, or made by a design."""
