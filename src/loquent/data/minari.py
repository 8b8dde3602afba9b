"""Episodes as a dataset of Minari (Farama): text observations, text actions, one weighted reward per step.

Observations are the texts that the learning seat received, actions its own texts: what Minari's offline
learners read. The infos hold each episode's line of JSON, and `read_minari` reads it from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loquent.core.episode import Episode, from_json, to_json
from loquent.core.guards.json_files import loads
from loquent.core.guards.opening import check_expansion
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, MissingExtra

NAME = re.compile(r"[A-Za-z0-9_-]+-v[0-9]+")
FORBIDDEN = re.compile("[\0\ud800-\udfff]")  # characters that HDF5 cannot hold in a text
LINE = "episode"  # the key of the episode's line of JSON in the infos
REPLACEMENT = "\ufffd"


def write_minari(folder: Path, episodes: Sequence[Episode], weights: Record) -> int:
    """Write a dataset into a folder whose name has Minari's form, NAME-v0; return the number of episodes.

    With the folder's parent as MINARI_DATASETS_PATH, `minari.load_dataset("NAME-v0")` loads it.

    Args:
        weights: reward weights by name; a step's reward is the weighted sum.

    Raises:
        BadSetting: the folder's name has another form. BadRow: an episode has no answer. MissingExtra:
            without minari or h5py.
    """
    minari, storage, buffer, spaces = _library()
    if not NAME.fullmatch(folder.name):
        raise BadSetting(
            f"{folder}: the folder's name is {folder.name!r}; the name of a Minari dataset must end "
            "in a version, as in wordle-v0"
        )
    steps = [_steps(episode, weights) for episode in episodes]
    texts = [text for observations, actions, _ in steps for text in (*observations, *actions)]
    space = spaces.Text(
        max(map(len, texts), default=0) + 1, min_length=0, charset="".join(sorted({*"".join(texts)} or {"a"}))
    )
    folder.mkdir(parents=True, exist_ok=True)
    dataset = storage.new(
        folder.absolute() / "data", observation_space=space, action_space=space, data_format="hdf5"
    )
    metadata = {
        "dataset_id": folder.name,
        "minari_version": minari.__version__,
        "algorithm_name": _players(episodes),
    }
    dataset.update_metadata(metadata)
    dataset.update_episodes(
        buffer(**_buffer(episode, step)) for episode, step in zip(episodes, steps, strict=True)
    )
    return len(episodes)


def read_minari(folder: Path) -> Iterator[Episode]:
    """The episodes of a dataset that `write_minari` wrote, in order.

    Raises:
        BadRow: the folder holds no Minari dataset, or one that Loquent did not write; names folder and
            episode.
        MissingExtra: without minari or h5py.
    """
    minari, *_ = _library()
    for number, infos in enumerate(_infos(minari, folder), 1):
        lines = (infos or {}).get(LINE)
        if not isinstance(lines, list | tuple | np.ndarray) or not len(lines):
            why = f"this episode's infos have no {LINE!r}; only datasets that Loquent wrote can be read"
            raise BadRow(why, file=folder, line=number)
        try:
            yield from_json(loads(lines[0], nan="kept"))
        except ValueError as error:
            raise BadRow(f"this is not an episode: {error}", file=folder, line=number) from error


def _infos(minari: Any, folder: Path) -> Iterator[Any]:
    try:
        _check_sizes(folder / "data" / "main_data.hdf5")
        for stored in minari.MinariDataset(folder.absolute() / "data").iterate_episodes():
            yield stored.infos
    except Exception as error:  # the library raises many kinds
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise BadRow(
            f"this Minari dataset cannot be read ({why}); use a folder that Loquent wrote", file=folder
        ) from error


def _check_sizes(file: Path) -> None:
    """OSError for arrays that claim far more than the file holds, or that lie in other files."""
    import h5py

    sizes, size = list[int](), file.stat().st_size

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise OSError(f"{name} lies in another file")
            sizes.append(item.nbytes)
            check_expansion(sum(sizes), size)
            if h5py.check_string_dtype(item.dtype) or h5py.check_vlen_dtype(item.dtype):
                for place in np.ndindex(item.shape):  # many entries may refer to one long text
                    sizes[-1] += len(item[place])
                    check_expansion(sizes[-1], size)

    with h5py.File(file, "r") as opened:
        opened.visititems(add)
    check_expansion(sum(sizes), size)


def _steps(episode: Episode, weights: Record) -> tuple[list[str], list[str], list[float]]:
    """Observations, actions and rewards of the learning seat: n + 1, n and n entries.

    There is an observation before each answer and one after the last.
    """
    observations, actions, rewards = [""], list[str](), list[float]()
    for turn in episode.seen_by(episode.learning):
        if turn.seat == episode.learning:
            actions.append(_text(turn.text))
            rewards.append(_reward(turn, weights))
            observations.append("")
        else:
            observations[-1] += _text(turn.text)
    if not actions:
        raise BadRow(
            f"the episode {episode.row}#{episode.number} of {episode.task} has no answer; an episode "
            "in Minari must have at least one"
        )
    return observations, actions, rewards


def _reward(turn: Any, weights: Record) -> float:
    of_turn = sum(weights[name] * value for name, value in turn.rewards.items() if name in weights)
    return float(
        of_turn
        + sum(
            weights[name] * sum(values, 0.0) for name, values in turn.token_rewards.items() if name in weights
        )
    )


def _buffer(episode: Episode, steps: tuple[list[str], list[str], list[float]]) -> Mapping[str, Any]:
    observations, actions, rewards = steps
    before = [False] * (len(actions) - 1)
    return {
        "seed": episode.seed if -(2**63) <= episode.seed < 2**63 else None,
        "observations": observations,
        "actions": actions,
        "rewards": rewards,
        "terminations": [*before, not episode.bootstraps],
        "truncations": [*before, episode.bootstraps],
        "infos": {LINE: [json.dumps(to_json(episode), allow_nan=False), *[""] * len(actions)]},
    }


def _players(episodes: Sequence[Episode]) -> str:
    return ", ".join(sorted({str(name) for episode in episodes for name in episode.agents.values()}))


def _text(text: str) -> str:
    return FORBIDDEN.sub(REPLACEMENT, text)


def _library() -> tuple[Any, Any, Any, Any]:
    try:
        import h5py  # noqa: F401 - Minari imports h5py and PIL only when it writes
        import minari
        import PIL  # noqa: F401
        from gymnasium import spaces
        from minari.data_collector import EpisodeBuffer
        from minari.dataset.minari_storage import MinariStorage
    except ImportError as error:
        raise MissingExtra("a dataset of Minari", "minari") from error
    return minari, MinariStorage, EpisodeBuffer, spaces
