"""Decoding: the loop, sampling, caches, beams, and the record of drawn tokens."""
