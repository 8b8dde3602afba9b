"""Where code may come from: names that stand in a file are imported only when the file is trusted.

A recipe can name Python code (`module:Name`), a program (SPICE's `jar` and `java`) or a secret
(`api_key_variable`), so running a recipe can run what its author wrote. A file is trusted when it lies under
the current folder, or when this user's training wrote it: training signs `config.yaml` with a key that only
this user can read, so nobody else can make such a mark and a changed file loses it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loquent.core import registry
from loquent.core.guards.safe_yaml import Node
from loquent.core.settings import Remark
from loquent.errors import NotTrusted

MARK = ".mark"  # config.yaml.mark holds the mark of config.yaml
BYTES = 32  # of the key
PURPOSE = b"loquent: a file written by training\0"  # keeps this mark apart from any other use of the key
HARMLESS = {
    "jar": ("",),
    "java": ("", "java"),
    "api_key_variable": ("",),
}  # keys whose other values run a program or send a secret


@dataclass(frozen=True)
class Reach:
    """Something in a file that reaches beyond it: code that would be imported, a program or a secret."""

    place: str
    what: str
    name: str = ""  # "module:Name", where it is code


def reaches(root: Node, key: str = "") -> Iterator[Reach]:
    """All of a file's names of code, programs and secrets.

    What was typed on a command line has no line and is left out.
    """
    inside = (
        root.value.items()
        if isinstance(root.value, dict)
        else ((key, item) for item in root.value)
        if isinstance(root.value, list)
        else ()
    )
    for name, item in inside:
        if isinstance(root.value, dict) and item.line is not None and registry.is_import_name(name):
            yield Reach(item.place, f"the name {name!r} is Python code", name)
        yield from reaches(item, name)
    if root.line is not None and isinstance(root.value, str):
        if registry.is_import_name(root.value):
            yield Reach(root.place, f"{key or 'a value'} = {root.value!r} is Python code", root.value)
        elif root.value not in HARMLESS.get(
            option := key.rpartition(".")[2], (root.value,)
        ):  # a suite names options by their path
            what = "names a secret of your environment" if option == "api_key_variable" else "is a program"
            yield Reach(root.place, f"{key} = {root.value!r:.200} {what}")


def check(root: Node, file: Path) -> None:
    """See that a file whose names are about to be used is trusted.

    Raises:
        NotTrusted: it names code, a program or a secret, lies outside the current folder, and was not written
            here by this user.
    """
    first = next(reaches(root), None)
    if first is None or in_current_folder(file):
        return
    why = distrust_reason(file)
    if why:
        raise NotTrusted(
            f"{first.place}: {first.what} that would be used on this machine, and {file} is not "
            f"trusted: it lies outside the current folder, and {why}. Read what it names first; then "
            "--allow-imports lets it run (in Python: allow_imports=True)"
        )


def in_current_folder(file: Path) -> bool:
    """Whether a file, with all links followed, lies under the current folder."""
    try:
        return file.resolve(strict=True).is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError):  # it is not there, or its links go in a circle
        return False


def sign(file: Path) -> None:
    """Mark a file as written here by this user; a remark says so where that is not possible."""
    try:
        mark = _mark(file, _key(make=True))
        file.with_name(file.name + MARK).write_text(mark + "\n", encoding="ascii")
    except (OSError, RuntimeError, ValueError) as error:
        said = (
            f"{file} is not marked as made by you ({error}); outside the current folder it needs "
            "--allow-imports where it names code"
        )
        warnings.warn(said, Remark, stacklevel=3)


def distrust_reason(file: Path) -> str:
    """Why a file is not known to be written here by this user; "" where it is."""
    mark = file.with_name(file.name + MARK)
    try:
        with mark.open("rb") as opened:
            found = opened.read(200)
    except OSError:
        return f"there is no mark of yours beside it ({mark.name})"
    try:
        known = _mark(file, _key(make=False))
    except (OSError, RuntimeError, ValueError) as error:
        return f"your key cannot be used ({error})"
    if not hmac.compare_digest(found.strip(), known.encode()):
        return "it is not what your training wrote (its mark is another's, or the file was changed)"
    return ""


def _mark(file: Path, key: bytes) -> str:
    return hmac.new(key, PURPOSE + file.read_bytes(), hashlib.sha256).hexdigest()


def _key(make: bool) -> bytes:
    """This user's key, from a file that nobody else may read.

    Raises:
        OSError: there is none and it is not to be made, or cannot be. RuntimeError: there is no home.
            ValueError: others may read it.
    """
    base = Path(
        os.environ.get("XDG_STATE_HOME", "")
    )  # a relative one counts as none, as its specification says
    file = (base if base.is_absolute() else Path.home() / ".local" / "state") / "loquent" / "key"
    if make and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = file.with_name(f".key.{secrets.token_hex(8)}")
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                written.write(secrets.token_bytes(BYTES))
            os.link(aside, file)  # whole at once; of two processes the first one makes it
        except FileExistsError:
            pass
        finally:
            aside.unlink(missing_ok=True)
    with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
        about, key = os.fstat(opened.fileno()), opened.read(BYTES + 1)
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077):
        raise ValueError(
            f"{file} belongs to another user or may be read by one; delete it, and the next training "
            "makes a new one"
        )
    if len(key) != BYTES:
        raise ValueError(
            f"{file} holds no key of {BYTES} bytes; delete it, and the next training makes a new one"
        )
    return key
