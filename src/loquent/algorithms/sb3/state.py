"""All that influences the future of a learner of Stable-Baselines3, but its network: as tensors, numbers and lists."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np
import torch

from loquent.errors import AnotherRun, BadCheckpoint

ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")  # of the replay
COUNTERS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num", "exploration_rate")


def state_of(model: Any) -> dict[str, Any]:
    """The optimizer by the names of its parameters, the counters, and the replay as far as it is filled."""
    counters = {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)}
    found: dict[str, Any] = {"library": _versions(), "optimizer": _optimizer(model.policy), "counters": counters}
    if model._last_episode_starts is not None:
        found["starts"] = [bool(start) for start in model._last_episode_starts]
    replay = getattr(model, "replay_buffer", None)
    if replay is not None:
        filled = replay.buffer_size if replay.full else replay.pos
        found["replay"] = {
            "pos": replay.pos,
            "full": replay.full,
            **{name: torch.from_numpy(getattr(replay, name)[:filled].copy()) for name in ARRAYS},
        }
    return found | {"leaves": _leaves(found)}


def take_back(model: Any, state: Mapping[str, Any]) -> None:
    """Give a model back what `state_of` told.

    Raises:
        AnotherRun: it comes from another version of the library.
        BadCheckpoint: a part is missing, or belongs to a network or a replay of another size.
    """
    if unlike := sorted(set(state["leaves"]) ^ set(_leaves(state))):
        raise BadCheckpoint(f"{unlike[0]} of the learner's state is {'missing' if unlike[0] in state['leaves'] else 'not of it'}")
    if state["library"] != _versions():
        raise AnotherRun(f"it was made with {state['library']}, and {_versions()} is here; it would not be the same run to the bit")
    _load_optimizer(model.policy, state["optimizer"])
    for name, value in state["counters"].items():
        setattr(model, name, value)
    if "starts" in state:
        if len(state["starts"]) != model.n_envs:
            raise BadCheckpoint(f"{len(state['starts'])} games had a start, and there are {model.n_envs}")
        model._last_episode_starts = np.array(state["starts"], dtype=bool)
    replay = getattr(model, "replay_buffer", None)
    if (replay is None) != ("replay" not in state):
        raise BadCheckpoint("the state of a learner with a replay belongs to one with a replay")
    if replay is not None:
        saved = state["replay"]
        filled = replay.buffer_size if saved["full"] else saved["pos"]
        for name in ARRAYS:
            array, kept = getattr(replay, name), saved[name].numpy()
            if kept.shape != (filled, *array.shape[1:]) or filled > len(array):
                raise BadCheckpoint(
                    f"the replay's {name} have the shape {kept.shape}; {(filled, *array.shape[1:])} is right, in a replay of {len(array)}"
                )
            array[: len(kept)] = kept
        replay.pos, replay.full = saved["pos"], saved["full"]


def _leaves(state: Mapping[str, Any], place: str = "") -> list[str]:
    """The names of all that is saved: what no gradient has reached has no moments, so the network alone does not tell them."""
    found: list[str] = []
    for name, item in state.items():
        if place or name != "leaves":
            found += _leaves(item, f"{place}{name}: ") if isinstance(item, Mapping) else [place + name]
    return found


def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("stable-baselines3", "sb3-contrib")}


def _optimizer(policy: Any) -> dict[str, dict[str, Any]]:
    names = {id(parameter): name for name, parameter in policy.named_parameters()}
    return {
        names[id(parameter)]: {key: value.detach().clone() if isinstance(value, torch.Tensor) else value for key, value in entry.items()}
        for parameter, entry in policy.optimizer.state.items()
    }


def _load_optimizer(policy: Any, state: Mapping[str, Mapping[str, Any]]) -> None:
    parameters = dict(policy.named_parameters())
    if unknown := sorted(state.keys() - parameters.keys()):
        raise BadCheckpoint(f"the optimizer's state has {unknown[0]!r}, which the network has not; it belongs to another")
    policy.optimizer.state.clear()
    for name, entry in state.items():
        moments = [value for value in entry.values() if isinstance(value, torch.Tensor) and value.dim()]
        if any(value.shape != parameters[name].shape for value in moments):
            raise BadCheckpoint(
                f"the optimizer's state of {name!r} has the shape {tuple(moments[0].shape)}; {tuple(parameters[name].shape)} is right"
            )
        policy.optimizer.state[parameters[name]] = {key: _copied(value, parameters[name]) for key, value in entry.items()}


def _copied(value: Any, parameter: torch.Tensor) -> Any:
    """Moments go where their parameter is; a count of steps stays on the CPU, as torch's own loader has it."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(parameter.device, copy=True) if value.dim() else value.clone()
