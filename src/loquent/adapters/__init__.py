"""A task in the form that other libraries expect: Gymnasium environments and tables of live games."""

from __future__ import annotations

from loquent.core.registry import environments

ANY_TASK = "loquent/Task-v0"  # needs the argument `task`: a registered name, or "module:Name"


def register() -> None:
    """Register the built-in environments with `gymnasium.make`.

    They are registered by name: this imports no task and no adapter.
    """
    import gymnasium

    for id, settings in {ANY_TASK: {}, **environments()}.items():
        if id not in gymnasium.registry:
            gymnasium.register(
                id=id, entry_point="loquent.adapters.gymnasium:Environment", kwargs=dict(settings)
            )
