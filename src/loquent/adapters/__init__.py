"""A task in the form that other libraries expect: Gymnasium environments and tables of live games."""

from __future__ import annotations

from loquent.core.registry import environments

ANY_TASK = "loquent/Task-v0"  # needs the argument `task`: a registered name, or "module:Name"


def register() -> None:
    """Register the built-in environments with `gymnasium.make`.

    They are registered by name: this imports no task and no adapter. The settings of an environment may hold
    `vector_entry_point`, the "module:Name" of its vector environment.
    """
    import gymnasium

    for id, settings in {ANY_TASK: {}, **environments()}.items():
        if id not in gymnasium.registry:
            arguments = dict(settings)
            vector = arguments.pop("vector_entry_point", None)
            gymnasium.register(
                id=id,
                entry_point="loquent.adapters.gymnasium:Environment",
                vector_entry_point=vector,
                kwargs=arguments,
            )
