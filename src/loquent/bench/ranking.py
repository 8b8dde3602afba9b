"""Whether a finished run's Q ranks the better of two answers higher (arXiv:2206.11871 sec. 5), kept beside
its evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.agents.language_model import LanguageModelAgent
from loquent.core import episode
from loquent.core.values import Record, digest
from loquent.data.ranking import Pair, branch_pairs, initial_pairs
from loquent.errors import BadCheckpoint
from loquent.files import atomic, manifest
from loquent.models.inspect.ranking import pair_batches, q_ranking
from loquent.pretrained import context
from loquent.training.run import load_run

FILE, PREFIX = "ranking.json", "ranking/"
PAIRS: dict[str, Callable[..., list[Pair]]] = {"branch": branch_pairs, "initial": initial_pairs}


@dataclass(frozen=True)
class Rank:
    """What is ranked: the pairs of a set, by the key of the set and the file it lies in."""

    name: str
    pairs: str
    key: str
    file: Path


def made(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any]:
    """Rank with the run's values, keep and return what is found.

    Nothing where it learned no values per token.
    """
    found = {"key": _key(ranks), "found": _ranked(folder, ranks)}
    atomic.write_json(folder / FILE, manifest.sealed(found))
    return found


def known(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any] | None:
    """What an earlier call has found; None where that were other pairs."""
    try:
        found = manifest.load(folder / FILE, "delete it")
        return found if found["key"] == _key(ranks) else None
    except (BadCheckpoint, KeyError):
        return None


def joined(evaluation: dict[str, Any], ranking: dict[str, Any]) -> dict[str, Any]:
    """The evaluation with the shares, and their binomial errors, under `ranking/NAME`."""
    found = {f"{PREFIX}{name}": one for name, one in ranking["found"].items()}
    values = {name: one["online"] for name, one in found.items() if one["online"] is not None}
    errors = {name: one["online_error"] for name, one in found.items() if one["online_error"] is not None}
    return {
        **evaluation,
        "values": {**evaluation["values"], **values},
        "errors": {**evaluation.get("errors", {}), **errors},
    }


def _ranked(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any]:
    agent = load_run(folder, allow_imports=True).agent()  # the suite's recipe, which is trusted already
    perturbation = agent.perturbation if isinstance(agent, LanguageModelAgent) else None
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        return {}
    found = {}
    for rank in ranks:
        pairs = [(pair.better, pair.other, pair.turn) for pair in PAIRS[rank.pairs](episode.read(rank.file))]
        if (
            pairs
        ):  # Q of the answer's last token: there all of its letters are known, so whole answers are compared
            batches = pair_batches(pairs, agent.format, max_length=context(agent.module))
            found[rank.name] = q_ranking(agent.module, perturbation.values, *batches, last=1)[0].as_json()
    return found


def _key(ranks: Sequence[Rank]) -> str:
    return digest(Record({rank.name: (rank.pairs, rank.key) for rank in ranks}), 16)
