"""A task as others want it, one file a library."""

from __future__ import annotations

ENVIRONMENTS = {"loquent/Wordle-v0": "wordle", "loquent/Generation-v0": "generation"}


def register() -> None:
    """Make the built-in environments known to `gymnasium.make`, by strings: neither a task nor the adapter is imported."""
    import gymnasium

    for id, task in ENVIRONMENTS.items():
        if id not in gymnasium.registry:
            gymnasium.register(id=id, entry_point="loquent.adapters.gymnasium:Environment", kwargs={"task": task})
