"""Seats of dialogue behind an address, for clients in other processes."""
