"""Boards of three boxes: their form, which edits are legal, and the board after each."""
