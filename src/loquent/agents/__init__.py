"""Agents: whoever answers."""
