"""Benchmarks: a suite is a grid of recipes, run once for every seed, resumed where it stopped, and set beside the published numbers."""
