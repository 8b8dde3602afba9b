"""Metrics of captions and concepts: CIDEr, SPICE, coverage."""
