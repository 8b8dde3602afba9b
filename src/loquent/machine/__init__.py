"""The machine a run computes on: identity, memory, processes, version."""
