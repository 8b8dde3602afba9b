"""The state of a learner of Stable-Baselines3 without its network: tensors, numbers and lists."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np
import torch

from loquent.algorithms.sb3.private_names import counters_of, episode_starts, set_episode_starts
from loquent.errors import AnotherRun, BadCheckpoint
from loquent.files import saved_state

ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")  # of the replay
LEGAL = "legal"  # the array of a replay that keeps legal actions


def state_of(model: Any) -> dict[str, Any]:
    """The optimizer by the names of its parameters, the counters, and the filled part of the replay."""
    counters = {name: getattr(model, name) for name in counters_of(model)}
    state: dict[str, Any] = {
        "library": _versions(),
        "optimizer": _optimizer(model.policy),
        "counters": counters,
    }
    starts = episode_starts(model)
    if starts is not None:
        state["starts"] = [bool(start) for start in starts]
    replay = getattr(model, "replay_buffer", None)
    if replay is not None:
        filled = replay.buffer_size if replay.full else replay.pos
        state["replay"] = {
            "pos": replay.pos,
            "full": replay.full,
            **{name: torch.from_numpy(getattr(replay, name)[:filled].copy()) for name in _arrays(replay)},
        }
    return state | {"leaves": _leaves(state)}


def restore(model: Any, state: Mapping[str, Any]) -> None:
    """Restore a state from `state_of`.

    Raises:
        AnotherRun: it is from another version of the library.
        BadCheckpoint: a part is missing, or fits a network or a replay of another size.
    """
    if unlike := sorted(set(state["leaves"]) ^ set(_leaves(state))):
        problem = "missing" if unlike[0] in state["leaves"] else "not part of it"
        raise BadCheckpoint(
            f"{unlike[0]} of the learner's state is {problem}; resume from an undamaged checkpoint"
        )
    if state["library"] != _versions():
        raise AnotherRun(
            f"the run was made with {state['library']}, but {_versions()} is installed, which may give "
            "other results; install the versions of the run"
        )
    _load_optimizer(model.policy, state["optimizer"])
    counters = saved_state.part(state, "counters")
    if unlike := sorted(counters.keys() ^ set(counters_of(model))):
        raise BadCheckpoint(
            f"the counter {unlike[0]} is in only one of the saved state and the learner; resume with the "
            "algorithm of the run"
        )
    for name in counters:
        share = name == "exploration_rate"
        setattr(
            model, name, saved_state.number(counters, name, 0) if share else saved_state.count(counters, name)
        )
    if "starts" in state:
        if len(state["starts"]) != model.n_envs:
            raise BadCheckpoint(
                f"the state has {len(state['starts'])} live games, but the learner has "
                f"{model.n_envs}; resume with the same `games`"
            )
        set_episode_starts(model, np.array(state["starts"], dtype=bool))
    replay = getattr(model, "replay_buffer", None)
    if (replay is None) != ("replay" not in state):
        raise BadCheckpoint(
            "only one of the saved state and the learner has a replay; resume with the algorithm of the run"
        )
    if replay is not None:
        _restore_replay(replay, saved_state.part(state, "replay"))


def _restore_replay(replay: Any, saved: Mapping[str, Any]) -> None:
    place, full = (
        saved_state.count(saved, "pos", most=replay.buffer_size),
        saved_state.flag(saved, "full"),
    )
    filled = replay.buffer_size if full else place
    for name in _arrays(replay):
        array, values = getattr(replay, name), saved[name].numpy()
        if values.shape != (filled, *array.shape[1:]) or filled > len(array):
            raise BadCheckpoint(
                f"the replay's {name} have the shape {values.shape}; a replay of {len(array)} needs "
                f"{(filled, *array.shape[1:])}; resume with the settings of the run"
            )
        array[: len(values)] = values
    replay.pos, replay.full = place, full


def _arrays(replay: Any) -> tuple[str, ...]:
    return (*ARRAYS, LEGAL) if hasattr(replay, LEGAL) else ARRAYS


def _leaves(state: Mapping[str, Any], place: str = "") -> list[str]:
    """The names of all saved values.

    Parameters without a gradient have no moments, so the network does not give them.
    """
    names: list[str] = []
    for name, item in state.items():
        if place or name != "leaves":
            names += _leaves(item, f"{place}{name}: ") if isinstance(item, Mapping) else [place + name]
    return names


def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("stable-baselines3", "sb3-contrib")}


def _optimizer(policy: Any) -> dict[str, dict[str, Any]]:
    names = {id(parameter): name for name, parameter in policy.named_parameters()}
    return {
        names[id(parameter)]: {
            key: value.detach().clone() if isinstance(value, torch.Tensor) else value
            for key, value in entry.items()
        }
        for parameter, entry in policy.optimizer.state.items()
    }


def _load_optimizer(policy: Any, state: Mapping[str, Mapping[str, Any]]) -> None:
    parameters = dict(policy.named_parameters())
    if unknown := sorted(state.keys() - parameters.keys()):
        problem = (
            f"the optimizer's state has {unknown[0]!r}, which the network does not have, so it belongs "
            "to another"
        )
        raise BadCheckpoint(f"{problem}; resume with the network of the run")
    policy.optimizer.state.clear()
    for name, entry in state.items():
        moments = [value for value in entry.values() if isinstance(value, torch.Tensor) and value.dim()]
        if any(value.shape != parameters[name].shape for value in moments):
            raise BadCheckpoint(
                f"the optimizer's state of {name!r} has the shape {tuple(moments[0].shape)}; the parameter "
                f"has {tuple(parameters[name].shape)}; resume with the network of the run"
            )
        policy.optimizer.state[parameters[name]] = {
            key: _copied(value, parameters[name]) for key, value in entry.items()
        }


def _copied(value: Any, parameter: torch.Tensor) -> Any:
    """A copy: moments on the device of their parameter, step counts on the CPU, as in torch's own loader."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(parameter.device, copy=True) if value.dim() else value.clone()
