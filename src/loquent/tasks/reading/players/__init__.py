"""Policies to compare with, the readers that answer for them, and a person at the terminal."""
