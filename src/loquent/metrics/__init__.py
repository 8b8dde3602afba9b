"""Metrics, one folder a family; every metric can be a reward."""
