"""Geometry of items: overlap, distance, the vector of a snap and the area in a cell, from tables."""
