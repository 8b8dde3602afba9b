"""Loquent: reinforcement learning meets language. Write a task once, play it with any agent."""

__version__ = "0.1.0"
