"""A task as others want it, one file a library."""

from __future__ import annotations

ENVIRONMENTS = {
    "loquent/Wordle-v0": {"task": "wordle"},
    "loquent/Generation-v0": {"task": "generation"},
    "loquent/SequenceTagging-v0": {"task": "tagging", "form": "index"},
    "loquent/MultiLabel-v0": {"task": "multilabel", "form": "index"},
    "loquent/MultipleChoice-v0": {"task": "multiple_choice", "form": "index"},
}


def register() -> None:
    """Make the built-in environments known to `gymnasium.make`, by strings: neither a task nor the adapter is imported."""
    import gymnasium

    for id, settings in ENVIRONMENTS.items():
        if id not in gymnasium.registry:
            gymnasium.register(id=id, entry_point="loquent.adapters.gymnasium:Environment", kwargs=dict(settings))
