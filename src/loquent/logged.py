"""Every key a run logs, with its unit and its meaning: one table, which the docs print and the report takes its axes from.

What every run logs stands here; an algorithm's own keys stand in a table `LOGGED` beside its class. A key that is in neither is
logged all the same, with the warning `UndefinedKey`; in the tests that warning is an error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Logged(NamedTuple):
    """What one key means. An empty unit: a bare number."""

    unit: str
    meaning: str


class UndefinedKey(UserWarning):
    """A run logs a key that no table defines."""


LOGGED = {
    "update": Logged("updates", "the number of this update, from 1"),
    "episodes": Logged("episodes", "episodes collected so far, or rows drawn from recorded ones"),
    "data/return": Logged("reward per row", "mean weighted return of the rows drawn from recorded episodes; a long game may be in several rows"),
    "data/tokens": Logged("tokens per row", "mean action tokens of the rows drawn from recorded episodes"),
    "data/passes": Logged("passes", "how often all recorded rows have been drawn so far"),
    "rollout/return": Logged("reward per episode", "mean weighted return of the collected episodes, KL left out"),
    "rollout/tokens": Logged("tokens per episode", "mean action tokens of a collected episode"),
    "rollout/turns": Logged("answers per episode", "mean answers of a collected episode"),
    "rollout/cut": Logged("share of episodes", "share of collected episodes that ran into the horizon"),
    "rollout/dropped_turns": Logged("turns", "turns left out of the batch because the context was full"),
    "rollout/cut_tokens": Logged("tokens", "tokens left out of observations that alone are longer than the room for a prompt"),
    "rollout/words": Logged("words per answer", "mean length of the collected answers"),
    "rollout/repetition": Logged("share of trigrams", "mean over the collected answers of the share of their trigrams that they have said before"),
    "rollout/distinct_2": Logged("share of bigrams", "different bigrams of all collected answers, as a share of all their bigrams"),
    "rollout/reward/*": Logged(
        "reward per episode",
        "mean of one named reward where there is one, not weighted; NAME/raw: its score, where that may not be what counts",
    ),
    "rollout/weighted/*": Logged("reward per episode", "what one named reward adds to the return: times its weight, a mean over all episodes"),
    "evaluation/return": Logged("reward per episode", "mean weighted return of held-out episodes, played after this update"),
    "evaluation/reward/*": Logged("reward per episode", "the same of held-out episodes, which are never normalised or shaped"),
    "evaluation/answers": Logged("answers per episode", "mean number of answers in a held-out episode"),
    "evaluation/kl": Logged("nats per episode", "how far a perturbed policy acts from the policy: log-probability drawn with less the policy's"),
    "evaluation/entropy": Logged("nats per episode", "minus the log-probability that the tokens of a perturbed policy were drawn with"),
    "evaluation/*": Logged("", "what a metric gives for the held-out episodes"),
}


def table(algorithm: type) -> dict[str, Logged]:
    """All keys that a run with this algorithm may log: every run's, and those of the tables beside the algorithm's classes."""
    found = dict(LOGGED)
    for cls in reversed(algorithm.__mro__):
        found |= getattr(sys.modules.get(cls.__module__), "LOGGED", {})
    return found


def definition(key: str, known: Mapping[str, Logged]) -> Logged | None:
    """What a key means; one that ends in a name of its own (`evaluation/perplexity`) is defined by its family (`evaluation/*`)."""
    parts = key.split("/")
    families = ("/".join((*parts[:n], "*")) for n in range(len(parts) - 1, 0, -1))
    return next((known[name] for name in (key, *families) if name in known), None)


def check(keys: Iterable[str], known: Mapping[str, Logged]) -> None:
    """Warn of keys that no table defines."""
    missing = [key for key in keys if definition(key, known) is None]
    if missing:
        warnings.warn(
            UndefinedKey(f"{missing[0]!r} is logged and defined nowhere: give it a line in the table LOGGED of the algorithm's module"), stacklevel=2
        )
