"""The machine that a run computes on: its identity, memory and processes, and the version."""
