"""What may reach a terminal: texts of others with their control characters spelled out, and colours of our
own.

The command line writes through a `Guard`, so no print, warning, log, bar or traceback in it can forget to
escape.
"""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

JOINERS = "\u200c\u200d"  # Persian words and composed emoji need them, and they move nothing
UNUSUAL = re.compile(r"[^\n\t -~]")
COLOUR = re.compile("(\x1b\\[[0-9;]*m)")


def escaped(text: str) -> str:
    """The text as it may be shown at a terminal: line breaks and tabs stay, control, format and surrogate
    characters are spelled out.
    """
    return UNUSUAL.sub(_spelled, text)


def line(text: object) -> str:
    """A name or another text that stands within one line: line breaks and tabs are spelled out too."""
    return escaped(str(text)).replace("\n", "\\n").replace("\t", "\\t")


def write_own(stream: Any, text: str) -> None:
    """Write a text that may hold colours of ours (`ESC [ ... m`, and no other sequence), and flush."""
    safe = "".join(part if i % 2 else escaped(part) for i, part in enumerate(COLOUR.split(text)))
    (stream.put if isinstance(stream, Guard) else stream.write)(_writable(stream, safe))
    stream.flush()


class Guard:
    """A text stream that writes what it is given escaped; all else is the stream's own.

    A carriage return at the beginning of a write, as progress bars make them, counts where nothing but a bar
    stands in the line.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._line = ""  # what stands in the last line: "", "bar" or "text"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write it escaped; returns its length, as streams do."""
        bar = text.startswith("\r") and self._line != "text"
        back = "\r" if bar and self._line == "bar" else ""
        self.put(back + _writable(self.stream, escaped(text[1:] if bar else text)), bar)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them escaped."""
        for text in lines:
            self.write(text)

    def put(self, safe: str, bar: bool = False) -> None:
        """Write what has been made safe."""
        if safe:
            self.stream.write(safe)
            self._line = "" if safe.endswith("\n") else "bar" if bar and "\n" not in safe else "text"


def guard() -> None:
    """Guard stdout and stderr for the life of this process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Guard):
            setattr(sys, name, Guard(stream))


@contextmanager
def guarded() -> Iterator[None]:
    """Guard stdout and stderr.

    After an error that nobody expected they stay guarded: the interpreter shows its traceback through them.
    """
    streams = sys.stdout, sys.stderr
    guard()
    try:
        yield
    except Exception:
        raise
    except BaseException:  # SystemExit, which argparse raises when it has said why
        sys.stdout, sys.stderr = streams
        raise
    sys.stdout, sys.stderr = streams


def read_line(prompt: str) -> str | None:
    """The next line that is typed, without its end; None at the end of the input.

    Bytes that are no text are spelled out.

    At a terminal the line can be edited, and earlier ones come back (arrow keys), where Python has
    `readline`.
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
    except ImportError:  # Windows; its terminal edits by itself
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


def _spelled(found: re.Match[str]) -> str:
    char = found.group()
    harmless = char in JOINERS or not (unicodedata.category(char).startswith("C") or char in "\u2028\u2029")
    return char if harmless else char.encode("unicode_escape").decode("ascii")


def _writable(stream: Any, text: str) -> str:
    """The text with what the stream's encoding cannot write spelled out."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
