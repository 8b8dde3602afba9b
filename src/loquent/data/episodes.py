"""Episodes on disk in four forms: JSON lines (a file, or the folder of a collection), Parquet, a folder of `datasets`, and Minari's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from loquent import episode
from loquent.episode import Episode
from loquent.errors import BadSetting
from loquent.values import Record

JSONL, PARQUET, DATASETS, MINARI = "jsonl", "parquet", "datasets", "minari"
FORMS = (JSONL, PARQUET, DATASETS, MINARI)
COLLECTED = "episodes.jsonl"  # in the folder of a collection or a run


def read(path: str | Path) -> Iterator[Episode]:
    """The episodes of a file or folder, in order; its form is known by its name and by what is in it.

    Raises:
        BadSetting: there is nothing, or nothing of a known form. BadRow: something in it is no episode; names file and place.
        MissingExtra: the form needs an optional library.
    """
    place = Path(path).expanduser()
    form = form_of(place)
    if form == JSONL:
        return episode.read(place / COLLECTED if place.is_dir() else place)
    if form == MINARI:
        from loquent.data.minari import read_minari

        return read_minari(place)
    from loquent.data.arrow import read_datasets, read_parquet

    return read_parquet(place) if form == PARQUET else read_datasets(place)


def form_of(place: Path) -> str:
    """In which form episodes stand at a place; BadSetting where there are none."""
    if not place.exists():
        raise BadSetting(f"{place}: there is no such file or folder")
    if place.is_file() and place.suffix in (".jsonl", ".parquet"):
        return place.suffix[1:]
    marks = {JSONL: COLLECTED, DATASETS: "dataset_info.json", MINARI: "data/metadata.json"}
    for form, mark in marks.items():
        if place.is_dir() and (place / mark).is_file():
            return form
    what = f"neither {', '.join(marks.values())}" if place.is_dir() else "no file that ends in .jsonl or .parquet"
    raise BadSetting(f"{place}: here are no episodes: there is {what}")


def write(path: str | Path, episodes: Sequence[Episode], form: str, weights: Record) -> int:
    """Write episodes in a form, whole or not at all; returns how many.

    Args:
        weights: of rewards by name, for the rewards of Minari's steps; the other forms keep each reward under its name.

    Raises:
        BadSetting: something stands there already. MissingExtra: the form needs an optional library.
    """
    place = Path(path).expanduser()
    if place.exists():
        raise BadSetting(f"{place} exists already; name a new place")
    aside = place.parent / f".{place.name}.{os.getpid()}.partial" / place.name
    aside.parent.mkdir(parents=True)
    try:
        count = _written(aside, episodes, form, weights)
        os.replace(aside, place)
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)
    return count


def _written(place: Path, episodes: Sequence[Episode], form: str, weights: Record) -> int:
    if form == JSONL:
        return episode.write(place, episodes)
    if form == MINARI:
        from loquent.data.minari import write_minari

        return write_minari(place, episodes, weights)
    from loquent.data.arrow import write_datasets, write_parquet

    return write_parquet(place, episodes) if form == PARQUET else write_datasets(place, episodes)
