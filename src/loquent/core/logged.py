"""The keys that a run logs, each with its unit and its meaning.

The documentation prints this table, and the report takes its axes from it. The keys of all runs are here; an
algorithm's own keys are in a table `LOGGED` in the module of its class. A key without a definition is logged
with the warning `UndefinedKey`, which is an error in the tests.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

SUCCESS_ERROR = "success_error"
EPISODES = ("rollout/", "evaluation/")  # the prefixes of keys of episodes in metrics.jsonl


class Logged(NamedTuple):
    """The unit and the meaning of a key; an empty unit means a plain number."""

    unit: str
    meaning: str
    least: float = -math.inf  # the least possible mean


class UndefinedKey(UserWarning):
    """A run logs a key that no table defines."""


LOGGED = {
    "update": Logged("updates", "the number of this update, from 1; 0: an evaluation before the first"),
    "episodes": Logged("episodes", "episodes collected so far, or rows drawn from recorded ones"),
    "data/return": Logged(
        "reward per row",
        "mean weighted return of the rows drawn from recorded episodes; a long episode may be split "
        "over several rows",
    ),
    "data/tokens": Logged("tokens per row", "mean action tokens of the rows drawn from recorded episodes"),
    "data/passes": Logged(
        "passes",
        "number of times that all recorded rows have been drawn so far",
    ),
    "rollout/success": Logged(
        "share of episodes", "share of all collected episodes whose ending the task declares a success"
    ),
    "rollout/success_unforced": Logged(
        "share of episodes",
        "share of all collected episodes that succeeded without a forced stop; absent where none was forced",
    ),
    "rollout/forced": Logged(
        "share of episodes",
        "share of all collected episodes with a forced stop; absent where none was forced",
    ),
    "rollout/success_error": Logged(
        "share of episodes",
        "standard error of rollout/success, clustered by row: episodes on one row are not independent; "
        "absent for a single row, and where all episodes agree",
    ),
    "rollout/ended/*": Logged(
        "share of episodes",
        "share of all collected episodes with this ending; cut: the answer ran into the horizon",
    ),
    "rollout/return": Logged(
        "reward per episode",
        "mean weighted return of the collected episodes, without the KL penalty",
    ),
    "rollout/tokens": Logged("tokens per episode", "mean action tokens of a collected episode"),
    "rollout/turns": Logged("answers per episode", "mean answers of a collected episode"),
    "policy/age": Logged(
        "updates",
        "mean over tokens of the updates since the policy that drew them; logged when a token was drawn by "
        "an older policy than the one that learns",
    ),
    "rollout/segments": Logged(
        "rows", "rows of the batch that begin anew because the chat template rewrites earlier turns"
    ),
    "rollout/dropped_turns": Logged(
        "turns",
        "turns omitted from the batch because the context was full",
    ),
    "rollout/cut_tokens": Logged(
        "tokens",
        "tokens omitted from observations that alone exceed the room for a prompt, and in supervised "
        "learning from answers that exceed a row",
    ),
    "rollout/cut_prompts": Logged(
        "share of rows",
        "share of the rows of the batch that lost turns or tokens because their prompt, or in supervised "
        "learning their answer, was too long",
    ),
    "rollout/words": Logged("words per answer", "mean length of the collected answers"),
    "rollout/repetition": Logged(
        "share of trigrams",
        "share of an answer's trigrams that occurred earlier in it, as a mean over the collected "
        "answers of at least three words",
    ),
    "rollout/distinct_2": Logged(
        "share of bigrams", "different bigrams of all collected answers, as a share of all their bigrams"
    ),
    "rollout/reward/*": Logged(
        "reward per episode",
        "mean, over all collected episodes, of the unweighted sum of one reward; an episode without "
        "this reward counts as 0; NAME/raw: the raw score of a reward that is normalised or shaped; "
        "NAME/PART: a part of a function's score",
    ),
    "rollout/reward_where_present/*": Logged(
        "reward per episode",
        "the same mean over only the episodes with this reward; logged when some episodes have it and "
        "others do not",
    ),
    "rollout/unjudged/*": Logged(
        "episodes",
        "collected episodes whose reward NAME could not be judged; logged with a judge as a reward. All "
        "other values of an update are of the episodes that are learned from",
    ),
    "rollout/left_out": Logged(
        "episodes",
        "collected episodes left out of learning: those that could not be judged and, for a learner that "
        "compares answers, those on a row with too few others; logged with a judge as a reward",
    ),
    "rollout/weighted/*": Logged(
        "reward per episode",
        "the contribution of one reward to the return: its weighted sum, as a mean over all collected "
        "episodes",
    ),
    "rollout/rows/best_return": Logged(
        "reward per episode",
        "mean over the rows of an update of the highest return among the episodes on the row; logged with "
        "training.answers above 1",
    ),
    "rollout/rows/deviation": Logged(
        "reward per episode",
        "mean over the rows of the standard deviation of the returns of the episodes on the row",
    ),
    "rollout/rows/equal": Logged(
        "share of rows",
        "share of rows whose episodes all have the same return; learners that compare answers learn nothing "
        "from them",
    ),
    "evaluation/success": Logged(
        "share of episodes", "share of all held-out episodes whose ending the task declares a success"
    ),
    "evaluation/success_error": Logged(
        "share of episodes",
        "standard error of evaluation/success, clustered by row: episodes on one row are not independent; "
        "absent for a single row, and where all episodes agree",
    ),
    "evaluation/ended/*": Logged(
        "share of episodes",
        "share of all held-out episodes with this ending; cut: the answer ran into the horizon",
    ),
    "evaluation/return": Logged(
        "reward per episode", "mean weighted return of held-out episodes, played after this update"
    ),
    "evaluation/reward/*": Logged(
        "reward per episode", "rollout/reward/* of held-out episodes, which are never normalised or shaped"
    ),
    "evaluation/reward_where_present/*": Logged(
        "reward per episode", "rollout/reward_where_present/* of held-out episodes"
    ),
    "evaluation/unjudged/*": Logged(
        "episodes",
        "held-out episodes that a judge, as a reward or a metric, could not judge; they are not in the mean "
        "of its scores, nor in the return",
    ),
    "evaluation/scored/*": Logged(
        "share of episodes",
        "share of the held-out episodes to which a metric applies; logged when it does not apply to all",
    ),
    "evaluation/answers": Logged("answers per episode", "mean number of answers in a held-out episode"),
    "evaluation/kl": Logged(
        "nats per episode",
        "KL divergence of a perturbed policy from the policy: the log-probability of its sampled tokens "
        "minus that of the policy",
        0.0,
    ),
    "evaluation/entropy": Logged(
        "nats per episode",
        "minus the log-probability of the tokens that a perturbed policy sampled",
    ),
    "evaluation/*": Logged(
        "",
        "a metric's value for the held-out episodes",
    ),
}


def table(algorithm: type) -> dict[str, Logged]:
    """All keys that a run with this algorithm may log.

    They are the keys of all runs and those in the modules of the algorithm's class and of its bases.
    """
    keys = dict(LOGGED)
    for cls in reversed(algorithm.__mro__):
        keys |= getattr(sys.modules.get(cls.__module__), "LOGGED", {})
    return keys


def definition(key: str, known: Mapping[str, Logged]) -> Logged | None:
    """The definition of a key, or of its family; None when there is neither.

    A key such as `evaluation/perplexity` belongs to the family `evaluation/*`.
    """
    parts = key.split("/")
    families = ("/".join((*parts[:n], "*")) for n in range(len(parts) - 1, 0, -1))
    return next((known[name] for name in (key, *families) if name in known), None)


def value(line: Mapping[str, Any], key: str) -> Any:
    """The value of a key in a line of metrics.jsonl or in the values of an evaluation; None when absent.

    Only endings that occurred are logged. An absent ending has the share 0 when the line has other endings.
    """
    if key in line:
        return line[key]
    head, separator, _ = key.partition("ended/")
    of_episodes = bool(separator) and head in ("", *EPISODES)
    return 0.0 if of_episodes and any(name.startswith(f"{head}ended/") for name in line) else None


def check(keys: Iterable[str], known: Mapping[str, Logged]) -> None:
    """Warn about keys that no table defines."""
    missing = [key for key in keys if definition(key, known) is None]
    if missing:
        warnings.warn(
            UndefinedKey(
                f"{missing[0]!r} is logged but not defined; add it to the table LOGGED of the algorithm's "
                "module"
            ),
            stacklevel=2,
        )
