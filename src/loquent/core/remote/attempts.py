"""How an address is reached (the options of all that asks over HTTP), and when it is asked again."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.errors import BrokenAgent, LoquentError

LONGEST_PAUSE = 60.0  # seconds between two attempts, even if the address asks for more


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The options that all agents and seats over HTTP have."""

    api_key_variable: str = setting(
        "",
        "the environment variable that holds the key, which is sent as a bearer token; empty: no key is "
        "sent. Never write a key in a setting",
        transport=True,
    )
    timeout: float = setting(
        60.0,
        "seconds for one attempt, from the connection to the last byte of the response",
        low=0.01,
        transport=True,
    )
    retries: int = setting(4, "further attempts after a failed one", low=0, high=100, transport=True)
    pause: float = setting(
        1.0,
        "seconds before the second attempt; doubled before each further attempt, to 60 at most, and "
        "shortened at random",
        low=0.0,
        transport=True,
    )
    concurrency: int = setting(8, "the most requests at the same time", low=1, high=1024, transport=True)
    max_bytes: int = setting(1 << 20, "the most bytes of a response", low=1024, transport=True)


class Failed(LoquentError):
    """One attempt failed.

    Args:
        why: the reason.
        again: whether another attempt may succeed.
        after: the seconds that the endpoint asks to wait, from its header Retry-After.
        status: the HTTP status; 0 without a response.
        context: whether the endpoint reports that the prompt is longer than its context.
    """

    def __init__(
        self, why: str, again: bool = True, after: str | None = None, status: int = 0, context: bool = False
    ) -> None:
        super().__init__(why)
        self.again, self.status, self.context = again, status, context
        self.after = float(after) if after and re.fullmatch(r"[0-9]{1,6}", after.strip()) else None


class TooLong(LoquentError):
    """The response is longer than the limit."""


class Attempts:
    """Counts the failed attempts of one request, and waits before the next one.

    Args:
        key: the stream that shortens the pauses.
        who: who asks and where, for the error.
    """

    def __init__(self, connection: Connection, key: Key, who: str) -> None:
        self.connection, self.key, self.who, self.failed = connection, key, who, 0

    async def after(self, error: Failed) -> None:
        """Wait before another attempt.

        Raises:
            BrokenAgent: no further attempt is left, or none could succeed; the error has the reason.
        """
        self.failed += 1
        if not error.again or self.failed > self.connection.retries:
            raise self.final_error(error) from None
        await asyncio.sleep(self.pause(error))

    def final_error(self, error: Failed) -> BrokenAgent:
        """The error after the last attempt."""
        times = f"{self.failed} times" if self.failed > 1 else "once"
        return BrokenAgent(f"{self.who} was asked {times} and failed: {error}")

    def pause(self, error: Failed) -> float:
        """Seconds before another attempt: the pause that the address asked for (Retry-After), if it did.

        Else pauses double. Each is shortened at random, so that not all requests are repeated at once.
        """
        if error.after is not None:
            return min(error.after, LONGEST_PAUSE)
        longest: float = min(self.connection.pause * 2 ** min(self.failed - 1, 30), LONGEST_PAUSE)
        return longest * (1 - 0.5 * float(self.key.child("attempt", self.failed).generator().random()))
