"""Commands as text: previous, next, ctrl+f QUERY, stop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

PREVIOUS, NEXT, SEARCH, STOP = "previous", "next", "ctrl+f", "stop"
EASY, HARD = "easy", "hard"
# the commands of each mode, in the order of the paper's code: the numbers of the action head
COMMANDS = {EASY: (PREVIOUS, NEXT, STOP, SEARCH), HARD: (STOP, SEARCH)}
NOT_A_COMMAND, NO_QUERY = "not a command", "no query"
NOT_IN_HARD_MODE, NOT_ALLOWED = "not in hard mode", "query not allowed"
INVALID = (NOT_A_COMMAND, NO_QUERY, NOT_IN_HARD_MODE, NOT_ALLOWED)
ALIASES = {
    "previous": PREVIOUS,
    "prev": PREVIOUS,
    "p": PREVIOUS,
    "next": NEXT,
    "n": NEXT,
    "stop": STOP,
    "s": STOP,
}
SEARCHES = ("ctrl+f", "ctrl-f", "cf")
QUOTES = "\"'`"
SHORT = 200  # longer texts are not cached


@dataclass(frozen=True)
class Command:
    """A command: its verb, and the query of a search or the answer after "stop:" ("" for none)."""

    verb: str
    text: str = ""


def parse(text: str) -> Command | str:
    """The command that a text gives, or the reason of `INVALID` why it gives none.

    The last line that is not empty counts, without quotes around it. Verbs are read in any case, and by the
    shortcuts p, n, s and cf. A query is read in lower case, without spaces around it. "stop: ANSWER" answers
    too.
    """
    return _parse(text) if len(text) < SHORT else _parse.__wrapped__(text)


@lru_cache(maxsize=1 << 15)
def _parse(text: str) -> Command | str:
    line = next((line for line in reversed(text.splitlines()) if line.strip()), "").strip()
    if len(line) > 1 and line[0] == line[-1] and line[0] in QUOTES:
        line = line[1:-1].strip()
    lowered = line.lower()
    if lowered in ALIASES:
        return _PLAIN[ALIASES[lowered]]
    verb, _, rest = lowered.partition(" ")
    if verb in SEARCHES:
        query = rest.strip()
        return Command(SEARCH, query) if query else NO_QUERY
    if lowered.startswith("stop:"):
        return Command(STOP, line[len("stop:") :].strip())
    return NOT_A_COMMAND


def text_of(verb: str, query: str = "") -> str:
    """The text of a command."""
    return f"{verb} {query}" if verb == SEARCH else verb


_PLAIN = {verb: Command(verb) for verb in (PREVIOUS, NEXT, STOP)}
