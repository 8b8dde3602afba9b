"""Safe output to a terminal: control characters are escaped, and only our own colours pass.

The command line writes through a `Guard`, which escapes every print, warning, log, bar and traceback.
"""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

JOINERS = "\u200c\u200d"  # Persian words and composed emoji need them; they do not move the cursor
UNUSUAL = re.compile(r"[^\n\t -~]")
COLOUR = re.compile("(\x1b\\[[0-9;]*m)")


def escape_text(text: str) -> str:
    """The text with all control, format and surrogate characters escaped, except line breaks and tabs."""
    return UNUSUAL.sub(_escape_character, text)


def line(text: object) -> str:
    """A text that must stay within one line: line breaks and tabs are escaped too."""
    return escape_text(str(text)).replace("\n", "\\n").replace("\t", "\\t")


def write_own(stream: Any, text: str) -> None:
    """Write and flush a text whose colours (`ESC [ ... m`) are kept; all other sequences are escaped."""
    safe = "".join(part if i % 2 else escape_text(part) for i, part in enumerate(COLOUR.split(text)))
    (stream.put if isinstance(stream, Guard) else stream.write)(_writable(stream, safe))
    stream.flush()


class Guard:
    """A text stream that escapes what it writes; everything else is delegated to the wrapped stream.

    A carriage return at the beginning of a write, as progress bars write it, is kept only when the current
    line holds nothing but a progress bar.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._line = ""  # the content of the current line: "", "bar" or "text"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write the escaped text; returns the length of `text`, like other streams."""
        bar = text.startswith("\r") and self._line != "text"
        back = "\r" if bar and self._line == "bar" else ""
        self.put(back + _writable(self.stream, escape_text(text[1:] if bar else text)), bar)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the escaped lines."""
        for text in lines:
            self.write(text)

    def put(self, safe: str, bar: bool = False) -> None:
        """Write a text that is already safe, without escaping it."""
        if safe:
            self.stream.write(safe)
            self._line = "" if safe.endswith("\n") else "bar" if bar and "\n" not in safe else "text"


def guard() -> None:
    """Guard stdout and stderr until the process ends."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Guard):
            setattr(sys, name, Guard(stream))


@contextmanager
def guard_streams() -> Iterator[None]:
    """Guard stdout and stderr within the context.

    After an unexpected error they stay guarded, because the interpreter prints the traceback through them.
    """
    streams = sys.stdout, sys.stderr
    guard()
    try:
        yield
    except Exception:
        raise
    except BaseException:  # SystemExit, which argparse raises after its message
        sys.stdout, sys.stderr = streams
        raise
    sys.stdout, sys.stderr = streams


def read_line(prompt: str) -> str | None:
    """The next line that a person types, without its newline; None at the end of the input.

    Bytes that are not valid text are escaped. At a terminal the line can be edited, and the arrow keys bring
    earlier lines back, if Python has `readline`.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _edited(line(prompt))
    print(prompt, end="", flush=True)
    buffer = getattr(sys.stdin, "buffer", None)
    raw = (
        sys.stdin.readline()
        if buffer is None
        else buffer.readline().decode(sys.stdin.encoding or "utf-8", "backslashreplace")
    )
    return raw.removesuffix("\n").removesuffix("\r") if raw else None


def _edited(prompt: str) -> str | None:
    try:
        import readline
    except ImportError:  # Windows, whose terminal can edit lines
        pass
    else:
        readline.parse_and_bind("set enable-bracketed-paste off")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")
    try:
        return input(prompt)
    except EOFError:
        print()
        return None


def _escape_character(match: re.Match[str]) -> str:
    char = match.group()
    harmless = char in JOINERS or not (unicodedata.category(char).startswith("C") or char in "\u2028\u2029")
    return char if harmless else char.encode("unicode_escape").decode("ascii")


def _writable(stream: Any, text: str) -> str:
    """The text with all characters escaped that the stream's encoding cannot write."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
