"""Episodes that the processes of a run play together: each plays some, and all have all of them.

A process gives the others the answers of its episodes, with their tokens. The others replay these, so that
they have the same observations and rewards of the task. Random streams are keyed by row and episode, so an
episode does not depend on the process that plays it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from loquent.core.agent import Agent, Answer
from loquent.core.episode import TASK, Episode, Tokens
from loquent.core.guards import json_files
from loquent.core.live import Live
from loquent.core.rollout import loop
from loquent.core.rollout.loop import Game
from loquent.core.task import Task
from loquent.core.values import Record, plain
from loquent.files.machine import parallel
from loquent.models.tokens.support import Support

RECORDS = "records"  # the array of the JSON text; the others are those of tokens


def play(
    task: Task,
    queue: Sequence[Game],
    agents: Agent | Mapping[str, Agent],
    *,
    seed: int,
    split: str = "train",
    learning: str = "agent",
    live: int = 256,
) -> list[Episode]:
    """`rollout.loop.play` by all processes, each of which calls this with the same arguments.

    The episodes on a row are played by one process, so that they share its prompt.
    """
    places = {row: place for place, row in enumerate(dict.fromkeys(game.row.id for game in queue))}
    owners = [places[game.row.id] % parallel.size() for game in queue]
    own = [game for game, owner in zip(queue, owners, strict=True) if owner == parallel.rank()]
    played = loop.play(task, own, agents, seed=seed, split=split, learning=learning, live=live)
    if parallel.size() == 1:
        return played
    shares: list[Iterator[Any]] = [iter(unpack(content)) for content in parallel.gather(pack(played))]
    shares[parallel.rank()] = iter(played)

    def episode(game: Game, owner: int) -> Episode:
        share = next(shares[owner])
        if isinstance(share, Episode):
            return share
        answers, names = share
        again = Live(task, game.row, game.number, seed, split, learning, meta=game.meta)
        for answer in answers:
            again.act(answer)
        return again.episode(Record(names))

    return [episode(game, owner) for game, owner in zip(queue, owners, strict=True)]


def pack(episodes: Sequence[Episode]) -> bytes:
    """The answers of episodes, with their tokens, and the names of their agents, as safetensors."""
    arrays: dict[str, NDArray[Any]] = {}
    records = []
    for episode in episodes:
        answers = []
        for turn in (turn for turn in episode.turns if turn.seat != TASK):
            answer: dict[str, Any] = {"text": turn.text, "stopped": turn.stopped}
            if turn.tokens is not None:
                answer["tokens"] = str(len(arrays))
                answer["version"] = turn.tokens.version
                arrays |= {f"{answer['tokens']}.{name}": x for name, x in _arrays(turn.tokens).items()}
                if turn.tokens.support is not None:
                    answer["vocabulary"] = turn.tokens.support.vocabulary
            answers.append(answer)
        records.append({"answers": answers, "agents": plain(episode.agents)})
    text = np.frombuffer(json.dumps(records).encode(), np.uint8)
    return save({RECORDS: text, **{name: np.ascontiguousarray(x) for name, x in arrays.items()}})


def unpack(content: bytes) -> list[tuple[list[Answer], dict[str, str]]]:
    """The answers of each episode that `pack` wrote, and the names of its agents."""
    arrays = load(content)
    records = json_files.loads(arrays[RECORDS].tobytes())
    return [([_answer(each, arrays) for each in record["answers"]], record["agents"]) for record in records]


def _arrays(tokens: Tokens) -> dict[str, NDArray[Any]]:
    """The arrays of tokens and of their support."""
    parts = {name: getattr(tokens, name) for name in ("ids", "drawn_logprob", "policy_logprob")}
    if tokens.support is not None:
        parts |= {name: getattr(tokens.support, name) for name in _SUPPORT}
    return {name: array for name, array in parts.items() if array is not None}


_SUPPORT = [field.name for field in fields(Support) if field.name != "vocabulary"]


def _answer(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Answer:
    if "tokens" not in record:
        return Answer(record["text"], record["stopped"])
    prefix = record["tokens"]
    support = None
    if "vocabulary" in record:
        support = Support(record["vocabulary"], *(arrays[f"{prefix}.{name}"] for name in _SUPPORT))
    tokens = Tokens(
        arrays[f"{prefix}.ids"],
        arrays[f"{prefix}.drawn_logprob"],
        arrays.get(f"{prefix}.policy_logprob"),
        support,
        record["version"],
    )
    return Answer(record["text"], record["stopped"], tokens)
