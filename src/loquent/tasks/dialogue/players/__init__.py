"""Agents of the three seats: who asks, who answers, who judges."""
