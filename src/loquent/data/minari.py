"""Episodes as a dataset of Minari (Farama): texts in, texts out, one weighted reward a step.

What its fields hold is what offline learners of that library read: what the learning seat was told and what it said. Each episode's
whole line of JSON stands in its infos, and that is what is read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loquent.episode import Episode, from_json, to_json
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.fields import loads
from loquent.values import Record

NAME = re.compile(r"[A-Za-z0-9_-]+-v[0-9]+")
UNSAID = re.compile("[\0\ud800-\udfff]")  # what HDF5 cannot hold in a text
LINE = "episode"  # under which name the lines stand in the infos
STANDIN = "\ufffd"


def write_minari(folder: Path, episodes: Sequence[Episode], weights: Record) -> int:
    """Write a dataset into a folder named as Minari names them (NAME-v0); returns how many episodes are in it.

    With the folder's parent as MINARI_DATASETS_PATH, `minari.load_dataset("NAME-v0")` loads it.

    Args:
        weights: of rewards by name; a step's reward is their weighted sum.

    Raises:
        BadSetting: the folder is named otherwise. BadRow: an episode has no answer. MissingExtra: without minari or h5py.
    """
    minari, storage, buffer, spaces = _library()
    if not NAME.fullmatch(folder.name):
        raise BadSetting(f"{folder}: a dataset of Minari stands in a folder named like wordle-v0, with its version at the end")
    steps = [_steps(one, weights) for one in episodes]
    said = [text for observations, actions, _ in steps for text in (*observations, *actions)]
    space = spaces.Text(max(map(len, said), default=0) + 1, min_length=0, charset="".join(sorted({*"".join(said)} or {"a"})))
    folder.mkdir(parents=True, exist_ok=True)
    stored = storage.new(folder.absolute() / "data", observation_space=space, action_space=space, data_format="hdf5")
    described = {"dataset_id": folder.name, "minari_version": minari.__version__, "algorithm_name": _players(episodes)}
    stored.update_metadata(described)
    stored.update_episodes(buffer(**_buffer(one, step)) for one, step in zip(episodes, steps, strict=True))
    return len(episodes)


def read_minari(folder: Path) -> Iterator[Episode]:
    """The episodes of a dataset that `write_minari` wrote, in order.

    Raises:
        BadRow: the folder holds no dataset of Minari, or one of something else; names folder and episode. MissingExtra: without minari or h5py.
    """
    minari, *_ = _library()
    for number, infos in enumerate(_infos(minari, folder), 1):
        lines = (infos or {}).get(LINE)
        if not isinstance(lines, list | tuple | np.ndarray) or not len(lines):
            raise BadRow("this episode was not written by Loquent: its infos hold no line of an episode", file=folder, line=number)
        try:
            yield from_json(loads(lines[0]))
        except ValueError as error:
            raise BadRow(f"this is not an episode: {error}", file=folder, line=number) from error


def _infos(minari: Any, folder: Path) -> Iterator[Any]:
    try:
        for one in minari.MinariDataset(folder.absolute() / "data").iterate_episodes():
            yield one.infos
    except Exception as error:  # the library raises many kinds
        raise BadRow(f"this is not a dataset of Minari that can be read ({type(error).__name__}: {str(error)[:200]})", file=folder) from error


def _steps(episode: Episode, weights: Record) -> tuple[list[str], list[str], list[float]]:
    """What the learning seat was told before each answer and after the last, what it said, and what each answer earned."""
    observations, actions, rewards = [""], list[str](), list[float]()
    for turn in episode.seen_by(episode.learning):
        if turn.seat == episode.learning:
            actions.append(_text(turn.text))
            rewards.append(_earned(turn, weights))
            observations.append("")
        else:
            observations[-1] += _text(turn.text)
    if not actions:
        raise BadRow(f"the game {episode.row}#{episode.number} of {episode.task} has no answer, and an episode of Minari at least one")
    return observations, actions, rewards


def _earned(turn: Any, weights: Record) -> float:
    whole = sum(weights[name] * value for name, value in turn.rewards.items() if name in weights)
    return float(whole + sum(weights[name] * sum(values, 0.0) for name, values in turn.token_rewards.items() if name in weights))


def _buffer(episode: Episode, steps: tuple[list[str], list[str], list[float]]) -> Mapping[str, Any]:
    observations, actions, rewards = steps
    before = [False] * (len(actions) - 1)
    return {
        "seed": episode.seed if episode.seed < 2**63 else None,
        "observations": observations,
        "actions": actions,
        "rewards": rewards,
        "terminations": [*before, not episode.bootstraps],
        "truncations": [*before, episode.bootstraps],
        "infos": {LINE: [json.dumps(to_json(episode), allow_nan=False), *[""] * len(actions)]},
    }


def _players(episodes: Sequence[Episode]) -> str:
    return ", ".join(sorted({str(name) for one in episodes for name in one.agents.values()}))


def _text(said: str) -> str:
    return UNSAID.sub(STANDIN, said)


def _library() -> tuple[Any, Any, Any, Any]:
    try:
        import h5py  # noqa: F401 - Minari looks for these two only when it writes
        import minari
        import PIL  # noqa: F401
        from gymnasium import spaces
        from minari.data_collector import EpisodeBuffer
        from minari.dataset.minari_storage import MinariStorage
    except ImportError as error:
        raise MissingExtra("a dataset of Minari", "minari") from error
    return minari, MinariStorage, EpisodeBuffer, spaces
