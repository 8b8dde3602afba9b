"""How often a finished run's Q is higher for the better of two answers (arXiv:2206.11871 sec. 5).

The shares are stored beside the run's evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.agents.language_model import LanguageModelAgent
from loquent.core import episode
from loquent.core.values import Record, digest
from loquent.data.outcomes import RANKING
from loquent.data.ranking import Pair, branch_pairs, initial_pairs
from loquent.errors import BadCheckpoint
from loquent.files import atomic, manifest
from loquent.files.final_evaluation import RANGES
from loquent.models.inspect.ranking import pair_batches, q_ranking
from loquent.pretrained import context
from loquent.training.run import load_run

FILE = "ranking.json"  # in the run's folder
VERSION = 3  # of this file; version 1 did not cluster errors by row, version 2 had half of Wilson's interval
PAIRS: dict[str, Callable[..., list[Pair]]] = {"branch": branch_pairs, "initial": initial_pairs}


@dataclass(frozen=True)
class Rank:
    """Pairs of answers to rank: the kind of pairs, and the key and the file of their set."""

    name: str
    pairs: str
    key: str
    file: Path


def make(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any]:
    """Rank the pairs by the run's Q, and write and return the shares.

    A run without values per token has no shares.
    """
    content = {"key": _key(ranks), "found": _shares(folder, ranks)}
    atomic.write_json(folder / FILE, manifest.add_seal(content))
    return content


def load(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any] | None:
    """The shares that an earlier call has written; None if it ranked other pairs.

    Shares of an earlier version count as other pairs.
    """
    try:
        content = manifest.load(folder / FILE, "delete it")
        return content if content["key"] == _key(ranks) else None
    except (BadCheckpoint, KeyError):
        return None


def with_shares(evaluation: dict[str, Any], ranking: dict[str, Any]) -> dict[str, Any]:
    """The evaluation with the shares, and their errors clustered by row, under `ranking/NAME`."""
    shares = {f"{RANKING}{name}": share for name, share in ranking["found"].items()}
    values = {name: share["online"] for name, share in shares.items() if share["online"] is not None}
    errors = {
        name: share["online_error"] for name, share in shares.items() if share["online_error"] is not None
    }
    return {
        **evaluation,
        "values": {**evaluation["values"], **values},
        "errors": {**evaluation.get("errors", {}), **errors},
        RANGES: {**evaluation.get(RANGES, {}), **{name: [0.0, 1.0] for name in values}},
    }


def _shares(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any]:
    agent = load_run(folder, allow_imports=True).agent()  # the suite's recipe has been checked for trust
    perturbation = agent.perturbation if isinstance(agent, LanguageModelAgent) else None
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        return {}
    shares = {}
    for rank in ranks:
        pairs = [(pair.better, pair.other, pair.turn) for pair in PAIRS[rank.pairs](episode.read(rank.file))]
        if pairs:  # the Q of an answer's last token is the Q of the whole answer
            batches = pair_batches(pairs, agent.format, max_length=context(agent.module))
            shares[rank.name] = q_ranking(agent.module, perturbation.values, *batches, last=1)[0].as_json()
    return shares


def _key(ranks: Sequence[Rank]) -> str:
    return digest(Record({rank.name: (rank.pairs, rank.key, VERSION) for rank in ranks}), 16)
