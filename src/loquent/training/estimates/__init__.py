"""Estimates of the time, memory and disk that a run needs, measured on a small part of it."""
