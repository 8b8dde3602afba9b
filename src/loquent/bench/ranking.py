"""Whether a finished run's Q ranks the better of two answers higher (arXiv:2206.11871 sec. 5), kept beside its evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent import checkpoint, episode
from loquent.agents.language_model import LanguageModelAgent
from loquent.data.ranking import Pair, branch_pairs, initial_pairs
from loquent.models.q_ranking import pair_batches, q_ranking
from loquent.pretrained import context
from loquent.run import load_run
from loquent.values import Record, digest

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
    """Rank with the run's values, keep and return what is found; nothing where it learned no values per token."""
    found = {"key": _key(ranks), "found": _ranked(folder, ranks)}
    checkpoint.write_json(folder / FILE, found)
    return found


def known(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any] | None:
    """What an earlier call has found; None where that were other pairs."""
    try:
        found: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return found if found["key"] == _key(ranks) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def joined(evaluation: dict[str, Any], ranking: dict[str, Any]) -> dict[str, Any]:
    """The evaluation with the shares, and their binomial errors, under `ranking/NAME`."""
    found = {f"{PREFIX}{name}": one for name, one in ranking["found"].items()}
    values = {name: one["online"] for name, one in found.items() if one["online"] is not None}
    errors = {name: one["online_error"] for name, one in found.items() if one["online_error"] is not None}
    return {**evaluation, "values": {**evaluation["values"], **values}, "errors": {**evaluation.get("errors", {}), **errors}}


def _ranked(folder: Path, ranks: Sequence[Rank]) -> dict[str, Any]:
    agent = load_run(folder).agent()
    perturbation = getattr(agent, "perturbation", None)
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        return {}
    found = {}
    for rank in ranks:
        pairs = [(pair.better, pair.other, pair.turn) for pair in PAIRS[rank.pairs](episode.read(rank.file))]
        if pairs:  # Q of the answer's last token: there all of its letters are known, so whole answers are compared
            batches = pair_batches(pairs, agent.format, max_length=context(agent.module))
            found[rank.name] = q_ranking(agent.module, perturbation.values, *batches, last=1)[0].as_json()
    return found


def _key(ranks: Sequence[Rank]) -> str:
    return digest(Record({rank.name: (rank.pairs, rank.key) for rank in ranks}), 16)
