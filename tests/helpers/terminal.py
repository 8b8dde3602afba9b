"""A `loquent` command at a real terminal of its own."""

import os
import pty
import re
import select
import sys
import time

from helpers import commands


class Terminal:
    """`loquent WORDS` in `folder`, and the other end of its terminal."""

    def __init__(self, folder, *words):
        self.mine, self.theirs = pty.openpty()
        environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
        place = os.ttyname(self.theirs)
        self.process = commands.process(
            _child, ["loquent", *words], str(folder), environment, commands.PATH, place
        )
        self.process.start()

    def until(self, pattern, seconds=120):
        """Read until a pattern comes; what was shown."""
        shown, end = "", time.monotonic() + seconds
        while not re.search(pattern, shown):
            assert time.monotonic() < end, f"{pattern!r} did not come; shown: {shown!r}"
            runs = self.process.is_alive()
            if select.select([self.mine], [], [], 0.2)[0]:
                shown += os.read(self.mine, 65_536).decode()
            elif not runs:
                break
        assert re.search(pattern, shown), shown
        return shown

    def type(self, text, pattern):
        """Type, and read until a pattern comes."""
        os.write(self.mine, text.encode())
        return self.until(pattern)

    def left(self, seconds=60):
        """Wait for the end; the exit code."""
        self.process.join(seconds)
        for end in (self.mine, self.theirs):
            os.close(end)
        return self.process.exitcode


def _child(words, folder, environment, path, place):
    os.setsid()
    terminal = os.open(place, os.O_RDWR)  # the first that the leader of a session opens is its terminal
    for number in range(3):
        os.dup2(terminal, number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    commands.run(words, folder, environment, path)
