"""Files of episodes, read and written in four formats: JSON lines, Parquet, `datasets` and Minari."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.files import atomic, names

JSONL, PARQUET, DATASETS, MINARI = "jsonl", "parquet", "datasets", "minari"
FORMS = (JSONL, PARQUET, DATASETS, MINARI)


def read(path: str | Path) -> Iterator[Episode]:
    """The episodes of a file or folder, in order. `form_of` recognises its format.

    Raises:
        BadSetting: the path does not exist, or has no known format.
        BadRow: an entry is not an episode; names the file and the entry.
        MissingExtra: the format needs an optional library.
    """
    place = Path(path).expanduser()
    form = form_of(place)
    if form == JSONL:
        return episode.read(place / names.EPISODES if place.is_dir() else place)
    if form == MINARI:
        from loquent.data.minari import read_minari

        return read_minari(place)
    from loquent.data.arrow import read_datasets, read_parquet

    return read_parquet(place) if form == PARQUET else read_datasets(place)


def form_of(place: Path) -> str:
    """The format of the episodes at a path, one of `FORMS`: by a file's ending, or by a file in the folder.

    Raises:
        BadSetting: the path does not exist, or has no known format.
    """
    if not place.exists():
        raise BadSetting(f"{place}: there is no such file or folder; name a file or folder of episodes")
    if place.is_file() and place.suffix in (".jsonl", ".parquet"):
        return place.suffix[1:]
    marks = {JSONL: names.EPISODES, DATASETS: "dataset_info.json", MINARI: "data/metadata.json"}
    for form, mark in marks.items():
        if place.is_dir() and (place / mark).is_file():
            return form
    if place.is_dir():
        raise BadSetting(
            f"{place}: this folder has no episodes; it must hold one of {', '.join(marks.values())}"
        )
    raise BadSetting(f"{place}: this file has no episodes; its name must end in .jsonl or .parquet")


def write(path: str | Path, episodes: Sequence[Episode], form: str, weights: Record) -> int:
    """Write episodes in one of `FORMS`; return their number. A failure leaves nothing at the path.

    Args:
        weights: reward weights by name, for the rewards of Minari's steps; the other formats store each
            reward by name.

    Raises:
        BadSetting: the path exists. MissingExtra: the format needs an optional library.
    """
    place = Path(path).expanduser()
    if place.exists():
        raise BadSetting(f"{place} exists already; name a new file or folder")
    with atomic.replacing(place, private=True) as aside:
        return _write(aside, episodes, form, weights)


def _write(place: Path, episodes: Sequence[Episode], form: str, weights: Record) -> int:
    if form == JSONL:
        return episode.write(place, episodes)
    if form == MINARI:
        from loquent.data.minari import write_minari

        return write_minari(place, episodes, weights)
    from loquent.data.arrow import write_datasets, write_parquet

    return write_parquet(place, episodes) if form == PARQUET else write_datasets(place, episodes)
