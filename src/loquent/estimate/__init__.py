"""Estimates of the time and memory that a run needs."""
