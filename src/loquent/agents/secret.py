"""A key that must stand in no error, file or episode: it is replaced in whatever an endpoint says."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

from loquent.errors import BadSetting

PRINTABLE = re.compile(r"[\x21-\x7e]+")
SHORTEST = 6  # characters: servers without a key are given words such as "x" or "none", which are no secrets
HIDDEN = "***"


class Secret:
    """A key, or "" for none. A key of less than 6 characters is a placeholder and is not looked for."""

    def __init__(self, key: str = "") -> None:
        self._key = key
        forms = {*_forms(key), *_forms(json.dumps(key)[1:-1])} if len(key) >= SHORTEST else set()
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._found = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def __repr__(self) -> str:
        return "Secret()"

    @property
    def headers(self) -> dict[str, str]:
        """The header that proves who asks; none without a key."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def hidden(self, text: str) -> str:
        """The text with *** for the key as it is, as addresses write it, in base64 and in hexadecimal."""
        return text if self._found is None else self._found.sub(HIDDEN, text)


def from_environment(variable: str) -> Secret:
    """The key that an environment variable holds; none for "".

    Raises:
        BadSetting: the variable is not set, or holds something that is no key.
    """
    if not variable:
        return Secret()
    key = os.environ.get(variable, "").strip()
    if not PRINTABLE.fullmatch(key):
        raise BadSetting(
            f"api_key_variable = {variable!r}: this environment variable "
            f"{'holds something that is no key' if key else 'is not set'}"
        )
    return Secret(key)


def bare(url: str) -> str:
    """An address as it may be shown: without user, password, query and fragment."""
    return re.sub(r"[?#].*", "", without_user(url), flags=re.DOTALL)


def without_user(text: str) -> str:
    """A text without the user and password of the addresses in it, such as a proxy's."""
    return re.sub(r"//[^/?#\s]*@", f"//{HIDDEN}@", text)


def _forms(key: str) -> set[str]:
    raw = key.encode()
    return {key, quote(key), quote(key, safe=""), quote_plus(key), raw.hex(), *_base64(raw)}


def _base64(raw: bytes) -> set[str]:
    """The digits that are the key's alone when it stands in base64 behind 0, 1 or 2 further bytes."""
    found = set()
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        for encode in (b64encode, urlsafe_b64encode):
            digits = encode(b"\0" * before + raw).decode().rstrip("=")
            found.add(digits[mixed : len(digits) - ((before + len(raw)) % 3 != 0)])
    return found
