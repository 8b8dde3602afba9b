"""The folder of a judge: its files, and a card that says what it is, how it was trained, and their hashes.

The card is written last, so a folder with a card is whole. A judge of arrays has them in
`weights.safetensors`; a network of Hugging Face has the files of that library.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint, BadSetting, LoquentError, MissingExtra
from loquent.files import atomic, manifest, names

CARD, WEIGHTS = "card.json", "weights.safetensors"
FORMAT = 1
EARLIER = ("seat.json", "comments.json", "classifier.json")  # the notes of earlier versions

Arrays = dict[str, NDArray[Any]]
Judge = TypeVar("Judge")


def write(folder: Path, kind: str, content: Mapping[str, Any], unread: tuple[str, ...] = ()) -> None:
    """Write the card of a folder whose files are complete.

    Args:
        kind: the module that reads the folder, such as "layers".
        content: what that module wants to know, and how the judge was trained.
        unread: files that the judge does not need, which have no hash.
    """
    paths = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
    }
    files = {name: manifest.digest(path) for name, path in paths.items() if name not in (CARD, *unread)}
    card = {"format": FORMAT, "kind": kind, **content, "files": files}
    atomic.write_json(folder / CARD, manifest.add_seal(card))


def save(folder: Path, kind: str, content: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a judge of arrays to a folder, which must not exist or be empty."""
    from safetensors.numpy import save_file

    with atomic.replacing(folder, private=True) as aside:
        aside.mkdir()
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, aside / WEIGHTS)
        write(aside, kind, content)


def is_judge(folder: Path) -> bool:
    """Whether a folder has a card, or the note of an earlier version."""
    return any((folder / name).is_file() for name in (CARD, *EARLIER))


def read(
    folder: Path, kind: str | None, advice: str, *, error: type[LoquentError] = BadSetting
) -> dict[str, Any]:
    """The content of a folder's card, with the hashes that `check` compares.

    Args:
        kind: the kind that the judge must have; None: any.
        advice: what to do if the folder cannot be used, for the end of the error's message.
        error: the class of the error.

    Raises:
        BadSetting, or `error`: there is no card, it has changed, or it is of another kind or an earlier
            version.
    """
    path = folder / CARD
    earlier = next((name for name in EARLIER if (folder / name).is_file()), None)
    if earlier and not path.is_file():
        why = f"{folder} has {earlier}, which an earlier version of Loquent wrote, and no {CARD}"
        raise error(f"{why}; train the model again: {advice}")
    card = json_files.load_object(path, advice, error=error)
    kinds = (card.get("kind"), card.get("format"))
    if kinds != (kind or kinds[0], FORMAT):
        has, needed = " and ".join(map(json_files.show, kinds)), f"{kind or 'any'} and {FORMAT}"
        raise error(f"{path}: kind and format are {has}; {needed} are needed; {advice}")
    try:
        return manifest.remove_seal(card, path, advice)
    except BadCheckpoint as problem:
        raise error(str(problem)) from problem


def check(
    folder: Path, content: Mapping[str, Any], advice: str, *, error: type[LoquentError] = BadSetting
) -> None:
    """Compare the files that a judge needs with the hashes of its card.

    The files may be links, as in the cache of Hugging Face.

    Raises:
        BadSetting, or `error`: a file is missing or changed, or its name is that of a place outside the
            folder.
    """
    files = content.get("files")
    if not isinstance(files, dict) or not files:
        raise error(f"{folder / CARD} lacks the hashes of its files; {advice}")
    for name, digest in files.items():
        file = folder / name
        if not names.is_inside(name):
            raise error(f"{folder / CARD} names {name!r:.80}, which is outside the folder; {advice}")
        if not file.is_file():
            raise error(f"{file} is missing; {advice}")
        if manifest.digest(file) != digest:
            raise error(f"{file} is not what was written (its SHA-256 differs); {advice}")


def load(folder: Path, kind: str, advice: str) -> tuple[dict[str, Any], Arrays]:
    """The content of a card and the arrays of a judge.

    Raises:
        BadSetting: as `read` and `check`, or the arrays are damaged or not finite.
        MissingExtra: safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise MissingExtra("a trained model", "train") from error
    content = read(folder, kind, advice)
    check(folder, content, advice)
    try:
        arrays = {name: np.array(array) for name, array in load_file(folder / WEIGHTS).items()}
    except (OSError, SafetensorError, KeyError) as error:
        raise BadSetting(f"{folder / WEIGHTS}: it cannot be read ({error}); {advice}") from error
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise BadSetting(f"{folder / WEIGHTS}: it has weights that are not finite; {advice}")
    return content, arrays


def load_or_make(
    folder: Path,
    load: Callable[[Path], Judge],
    make: Callable[[], Judge],
    save: Callable[[Path, Judge], None],
) -> Judge:
    """The judge of a cache's folder, or one that is made now and written there.

    The folder's name has a hash of everything that the judge learned from, so a judge is never out of date. A
    folder that is damaged or of an earlier version is replaced. If another process was first, its equal judge
    stays.
    """
    with suppress(BadSetting):
        return load(folder)
    judge = make()
    with suppress(BadSetting):
        load(folder)
        return judge
    shutil.rmtree(folder, ignore_errors=True)
    try:
        save(folder, judge)
    except OSError as error:
        try:
            load(folder)
        except BadSetting:
            raise error from None
    return judge
