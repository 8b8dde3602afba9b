"""Kept states of decoding: caches of keys and values, rows of games, and reading with them."""
