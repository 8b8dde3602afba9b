"""A key that no error, file or episode may show: it is replaced in all texts of an endpoint."""

from __future__ import annotations

import os
import re
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import urlsplit

from loquent.core.guards.escapes import Span, spans, unescape
from loquent.errors import BadSetting

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PRINTABLE = re.compile(r"[\x21-\x7e]+")
SHORTEST = 6  # characters: for servers without a key people set words such as "x", which are no secrets
HIDDEN = "***"
LONGEST_LETTER = 64  # characters: more than the longest form of a letter in base64 or as escapes


class Secret:
    """A key, or "" for none. A key of less than 6 characters counts as a placeholder and is not hidden."""

    def __init__(self, key: str = "") -> None:
        self._key = key
        is_secret = len(key) >= SHORTEST
        self._plain = {form for form in unescape(key) if len(form) >= SHORTEST} if is_secret else set()
        self._packed = {*_digits(key.encode())} if is_secret else set()
        self.longest = LONGEST_LETTER * len(key) if is_secret else 0  # characters of a form of the key

    def __repr__(self) -> str:
        return "Secret()"

    @property
    def headers(self) -> dict[str, str]:
        """The authorization header; none without a key."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def hide(self, value: Any) -> Any:
        """A text or a JSON value with *** for the key, also in names; a number with its digits becomes ***.

        The key is found in any case, as it is, in base64 and in hexadecimal, also as an address, JSON, a
        program or HTML writes its letters.
        """
        if not self._plain or value is None or isinstance(value, bool):
            return value
        if isinstance(value, dict):
            return {self.hide(name): self.hide(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.hide(item) for item in value]
        if not isinstance(value, str):
            return HIDDEN if self._spans(f"{value} {str(value).replace('.', '')}") else value
        parts, last = [], 0
        for start, end in self._spans(value):
            parts += [value[last:start], HIDDEN]
            last = end
        return "".join([*parts, value[last:]])

    def _spans(self, text: str) -> list[Span]:
        return spans(text, self._plain, self._packed)


def from_environment(variable: str) -> Secret:
    """The key in an environment variable; no key if `variable` is "".

    Raises:
        BadSetting: the variable is not set, or its text cannot be a key.
    """
    if not variable:
        return Secret()
    if not VARIABLE.fullmatch(variable):
        raise BadSetting(
            "api_key_variable must be the name of an environment variable (letters, digits and _); its value "
            "is not shown, because it could be the key itself"
        )
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


def _digits(raw: bytes) -> set[str]:
    """The bytes of a key in hexadecimal and decimal, and the base64 digits that depend on the key alone.

    These differ by how many other bytes precede it: 0, 1 or 2.
    """
    forms = {raw.hex(), ",".join(map(str, raw))}
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        for encode in (b64encode, urlsafe_b64encode):
            digits = encode(b"\0" * before + raw).decode().rstrip("=")
            forms.add(digits.lower()[mixed : len(digits) - ((before + len(raw)) % 3 != 0)])
    return forms
