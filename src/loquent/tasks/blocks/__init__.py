"""Blocks: add and remove objects in three boxes until a sentence about them has its target value."""
