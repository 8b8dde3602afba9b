"""Trust in files that name code: such names are imported only when the file is trusted.

A recipe can name Python code (`module:Name`), a program (SPICE's `jar` and `java`), a secret
(`api_key_variable`) or a server (`base_url`), so a recipe can run code of its author, or send data there. A
file is trusted when it lies under the current folder, or when this user's training wrote it. Training signs
`config.yaml` with a key that only this user can read. Nobody else can make such a mark, and it no longer fits
a changed file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loquent.core import registry
from loquent.core.safe_yaml import Node
from loquent.core.settings import Remark
from loquent.errors import NotTrusted

MARK = ".mark"  # config.yaml.mark holds the signature of config.yaml
BYTES = 32  # the length of the key
PURPOSE = b"loquent: a file written by training\0"  # separates this signature from other uses of the key
PROGRAM, SECRET = "is a program", "names a secret of your environment"
SERVER = "a server"
ADDRESS = f"is the address of {SERVER}"
# settings that run a program, send a secret or name a server, with their harmless values
OPTIONS = {
    "jar": (PROGRAM, ("",)),
    "java": (PROGRAM, ("", "java")),
    "api_key_variable": (SECRET, ("",)),
    "base_url": (ADDRESS, ("",)),
    "url": (ADDRESS, ("",)),
}
REMOTE = "/remote"  # agents WORLD/remote ask a server, which needs no address


@dataclass(frozen=True)
class Reach:
    """A name in a file that reaches outside it: code to import, a program, a secret or a server."""

    node: Node
    what: str
    name: str = ""  # "module:Name" of code; "" for anything else

    @property
    def place(self) -> str:
        """The file and the line of the name."""
        return self.node.place


def reaches(root: Node, key: str = "") -> Iterator[Reach]:
    """All names of code, programs, secrets and servers in a file.

    Values from the command line (they have no line number) are left out.
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
            yield Reach(item, f"the name {name!r} is Python code", name)
        yield from reaches(item, name)
    if root.line is not None and isinstance(root.value, str):
        if registry.is_import_name(root.value):
            yield Reach(root, f"{key or 'a value'} = {root.value!r} is Python code", root.value)
            return
        what, harmless = OPTIONS.get(key.rpartition(".")[2], ("", ()))  # a suite names options by their path
        if what and root.value not in harmless:
            yield Reach(root, f"{key} = {root.value!r:.200} {what}")
        if root.value.endswith(REMOTE) and root.value in registry.names("agent"):
            yield Reach(root, f"{key or 'a value'} = {root.value!r} asks {SERVER}")


def check(root: Node, files: Sequence[Path]) -> None:
    """Check that the files of a tree are trusted, before the names in the tree are used.

    Args:
        files: the files of the tree, without those that were found by a registered name.

    Raises:
        NotTrusted: a file names code, a program, a secret or a server, lies outside the current folder, and
            was not written by this user's training.
    """
    for reach in sorted(reaches(root), key=lambda reach: SERVER in reach.what):  # a secret is named first
        for file in files:
            if file.name != reach.node.file or in_current_folder(file):
                continue
            if why := distrust_reason(file):
                raise NotTrusted(
                    f"{reach.place}: {reach.what} that would be used on this machine, and {file} is not "
                    f"trusted: it lies outside the current folder, and {why}. Read what it names first; then "
                    "allow it with --allow-imports (in Python: allow_imports=True)"
                )


def in_current_folder(file: Path) -> bool:
    """Whether a file lies under the current folder, after all links are followed."""
    try:
        return file.resolve(strict=True).is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError):  # the file is missing, or its links form a circle
        return False


def sign(file: Path) -> None:
    """Sign a file as written by this user; warns with a Remark when that is not possible."""
    try:
        mark = _mark(file, _key(make=True))
        file.with_name(file.name + MARK).write_text(mark + "\n", encoding="ascii")
    except (OSError, RuntimeError, ValueError) as error:
        message = (
            f"{file} is not marked as written by you ({error}); if it names code, it needs "
            "--allow-imports outside the current folder"
        )
        warnings.warn(message, Remark, stacklevel=3)


def distrust_reason(file: Path) -> str:
    """Why a file cannot be shown to be written by this user; "" when its signature is right."""
    mark = file.with_name(file.name + MARK)
    try:
        with mark.open("rb") as opened:
            signature = opened.read(200)
    except OSError:
        return f"there is no mark of yours beside it ({mark.name})"
    try:
        expected = _mark(file, _key(make=False))
    except (OSError, RuntimeError, ValueError) as error:
        return f"your key cannot be used ({error})"
    if not hmac.compare_digest(signature.strip(), expected.encode()):
        return "it is not what your training wrote (the mark is not yours, or the file was changed)"
    return ""


def _mark(file: Path, key: bytes) -> str:
    return hmac.new(key, PURPOSE + file.read_bytes(), hashlib.sha256).hexdigest()


def _key(make: bool) -> bytes:
    """This user's key, from a file that nobody else may read.

    Args:
        make: whether to create a missing key.

    Raises:
        OSError: the key is missing, or cannot be created or read.
        RuntimeError: the user has no home folder.
        ValueError: other users may read the key, or its length is wrong.
    """
    base = Path(os.environ.get("XDG_STATE_HOME", ""))  # its specification says to ignore a relative path
    file = (base if base.is_absolute() else Path.home() / ".local" / "state") / "loquent" / "key"
    if make and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = file.with_name(f".key.{secrets.token_hex(8)}")
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                written.write(secrets.token_bytes(BYTES))
            os.link(aside, file)  # atomic: if two processes create the key, the first one wins
        except FileExistsError:
            pass
        finally:
            aside.unlink(missing_ok=True)
    with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
        about, key = os.fstat(opened.fileno()), opened.read(BYTES + 1)
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077):
        raise ValueError(
            f"{file} belongs to another user, or another user may read it; delete it, and the next "
            "training makes a new key"
        )
    if len(key) != BYTES:
        raise ValueError(
            f"{file} must hold a key of {BYTES} bytes; delete it, and the next training makes a new key"
        )
    return key
