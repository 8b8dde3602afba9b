"""Whether the Hugging Face hub can be reached, so that a name without a network fails at once."""

from __future__ import annotations

import os
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SECONDS = 5.0


def hub_address() -> str:
    """The address of the hub: HF_ENDPOINT, or huggingface.co."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


@contextmanager
def hub_or_cache() -> Iterator[str]:
    """Inside, the hub's libraries use their cache alone if the hub cannot be reached.

    They would try again for a minute otherwise. Yields why it cannot be reached, as a phrase for errors; ""
    if it can. With HF_HUB_OFFLINE, or with a proxy for the hub's address, nothing is tried.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or _proxy(hub_address()) or _reached(hub_address()):
        yield ""
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield f"{hub_address()} cannot be reached, and the cache on this machine does not have it"
    finally:
        constants.HF_HUB_OFFLINE = before


def may_have(name: str) -> bool:
    """Whether the cache on this machine has a model or a data set of the hub, or the hub can be reached."""
    from huggingface_hub import constants

    folder = name.replace("/", "--")
    places = (Path(constants.HF_HUB_CACHE) / f"{kind}--{folder}" for kind in ("models", "datasets"))
    if any(path.is_dir() for path in places):
        return True
    if constants.HF_HUB_OFFLINE:
        return False
    with hub_or_cache() as why:
        return not why


def _proxy(address: str) -> str | None:
    """The proxy for the scheme of an address, or for all schemes; NO_PROXY alone names none."""
    proxies = urllib.request.getproxies()
    return proxies.get(urlsplit(address).scheme) or proxies.get("all")


def _reached(address: str) -> bool:
    """Whether a connection is made within SECONDS.

    A thread tries it, because looking up a name has no limit of its own.
    """
    place = urlsplit(address)
    found: list[bool] = []

    def connect() -> None:
        try:
            port = place.port or (80 if place.scheme == "http" else 443)
            socket.create_connection((place.hostname or "", port), SECONDS).close()
        except Exception:  # whatever forbids it, such as a firewall or a test
            return
        found.append(True)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(found)
