"""Compares players on the same rows of a recipe: runs, models, agents and endpoints."""
