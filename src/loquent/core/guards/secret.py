"""A key that no error, file or episode may show: it is replaced in all texts of an endpoint."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus, urlsplit

from loquent.errors import BadSetting

PRINTABLE = re.compile(r"[\x21-\x7e]+")
SHORTEST = 6  # characters: for servers without a key people set words such as "x", which are no secrets
HIDDEN = "***"


class Secret:
    """A key, or "" for none. A key of less than 6 characters counts as a placeholder and is not hidden."""

    def __init__(self, key: str = "") -> None:
        self._key = key
        forms = {*_forms(key), *_forms(json.dumps(key)[1:-1])} if len(key) >= SHORTEST else set()
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def __repr__(self) -> str:
        return "Secret()"

    @property
    def headers(self) -> dict[str, str]:
        """The authorization header; none without a key."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def hidden(self, text: str) -> str:
        """The text with *** for the key: as it is, URL-encoded, in base64 and in hexadecimal."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)


def from_environment(variable: str) -> Secret:
    """The key in an environment variable; no key if `variable` is "".

    Raises:
        BadSetting: the variable is not set, or its text cannot be a key.
    """
    if not variable:
        return Secret()
    key = os.environ.get(variable, "").strip()
    if not PRINTABLE.fullmatch(key):
        problem = (
            "holds something that is no key; a key has only printable ASCII characters and no spaces"
            if key
            else "is not set; set it to the key, or leave api_key_variable empty"
        )
        raise BadSetting(f"api_key_variable = {variable!r}: this environment variable {problem}")
    return Secret(key)


def check_address(name: str, url: str, example: str) -> None:
    """Check the address of a server, which errors, recipes and episodes may show.

    Args:
        name: the setting.
        example: an address that is allowed.

    Raises:
        BadSetting: it is no HTTP address, or has a user, a password, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        valid = valid and not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:  # brackets that do not close, a port that is no number
        valid = False
    if not valid or not PRINTABLE.fullmatch(url):
        shown = bare(url) if "//" in url or "@" not in url else HIDDEN
        raise BadSetting(
            f"{name} = {shown!r} must be an address such as {example}, without spaces, user, password, query "
            "and fragment; name the variable of a key in api_key_variable"
        )


def bare(url: str) -> str:
    """An address without user, password, query and fragment, so that it may be shown."""
    return re.sub(r"[?#].*", "", without_user(url), flags=re.DOTALL)


def without_user(text: str) -> str:
    """A text without the users and passwords of the addresses in it, such as those of a proxy."""
    return re.sub(r"//[^/?#\s]*@", f"//{HIDDEN}@", text)


def _forms(key: str) -> set[str]:
    raw = key.encode()
    return {key, quote(key), quote(key, safe=""), quote_plus(key), raw.hex(), *_base64(raw)}


def _base64(raw: bytes) -> set[str]:
    """The base64 digits that depend on the key alone when 0, 1 or 2 other bytes precede it."""
    forms = set()
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        for encode in (b64encode, urlsafe_b64encode):
            digits = encode(b"\0" * before + raw).decode().rstrip("=")
            forms.add(digits[mixed : len(digits) - ((before + len(raw)) % 3 != 0)])
    return forms
