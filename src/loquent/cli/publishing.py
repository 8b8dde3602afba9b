"""Sends a model's folder to a model hub with `huggingface_hub`, after saying what leaves the machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from loquent.errors import BadSetting, LoquentError, in_words

LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
NAME = re.compile(r"([\w-][\w.-]*/)?[\w-][\w.-]*")
RIGHT = "give --license with an id of the hub, such as apache-2.0 or cc-by-4.0, that the model's data allow"


def check(name: str, licence: str | None) -> str:
    """The licence, checked before any work.

    Raises:
        BadSetting: there is no licence, or the licence or the name has another form than the hub's.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise BadSetting(f"--push {name!r:.100} is no name of a model; write MODEL or OWNER/MODEL")
    if licence is None:
        raise BadSetting(f"--push {name}: a model is not published without a licence; {RIGHT}")
    if not LICENCE.fullmatch(licence):
        raise BadSetting(f"--license {licence!r:.100} is no id of a licence; {RIGHT}")
    return licence


def publish(folder: Path, name: str, *, public: bool, say: Callable[[str], None]) -> str:
    """Upload all files of a folder as a model, and return its address.

    Raises:
        LoquentError: the hub refused or cannot be reached; the message has the reason.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    say(
        f"to {api.endpoint}, as the model {name} (if it is new: {'public' if public else 'private'}), with "
        f"the account of this machine's hub token, these {len(files)} files are sent:"
    )
    for path in files:
        say(f"  {path.relative_to(folder)} ({in_words(path.stat().st_size)})")
    try:
        made = api.create_repo(name, private=not public, exist_ok=True)
        api.upload_folder(repo_id=made.repo_id, folder_path=folder, commit_message="Export from Loquent")
    except Exception as error:  # of the network, of HTTP or of the hub, each in classes of its own
        text = " ".join(str(error).split())
        raise LoquentError(
            f"the model was not published to {api.endpoint} ({type(error).__name__}: {text:.300}); the "
            f"export is complete in {folder}; log in with `hf auth login`, or check the name and the network"
        ) from error
    return f"{api.endpoint}/{made.repo_id}"
