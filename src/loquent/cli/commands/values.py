"""`loquent values`: applies a run's value functions to recorded episodes.

It prints the utterances with the highest and lowest advantages, or whether Q ranks the better answers higher.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.agents.language_model import LanguageModelAgent
from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.guards.terminal import line
from loquent.core.seeding import Key
from loquent.core.values import EMPTY
from loquent.errors import BadRow, BadSetting
from loquent.files import names
from loquent.models.inspect.ranking import PlaceRanking, pair_batches, q_ranking, shared_states
from loquent.models.inspect.top_advantages import TextAdvantage, advantages_of_texts
from loquent.models.tokens.batch import token_batch
from loquent.models.values.perturb import Perturbation
from loquent.pretrained import context
from loquent.statistics.tables import Table
from loquent.training.run import load_run


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Compute advantages or a ranking, print them and return them."""
    finished = load_run(arguments.run, allow_imports=arguments.allow_imports)
    agent, identity = finished.agent(), finished.task().identity
    perturbation = agent.perturbation if isinstance(agent, LanguageModelAgent) else None
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        raise BadSetting(
            f"{arguments.run} has learned no values of tokens that it acts by; give a run of ilql, cql, "
            "psi or monte_carlo"
        )
    episodes = _episodes(arguments.data, identity)
    if arguments.against:
        places = _ranked(agent, perturbation, episodes, _episodes(arguments.against, identity), arguments)
        return 0, {"run": arguments.run, "ranking": [place.as_json() for place in places]}
    batch = token_batch(episodes, agent.format, EMPTY, max_length=context(agent.module))
    texts = advantages_of_texts(
        agent.module, perturbation.values, batch, agent.format, n=arguments.ngram, min_count=arguments.least
    )
    number = min(arguments.number, len(texts))
    best, worst = texts[:number], texts[len(texts) - number :][::-1]
    for name, part in (("best", best), ("worst", worst)):
        print(f"{name} of {len(texts)}")
        for text in part:
            print(f"  {text.advantage:+.4f}  {text.count:>6} x  {line(text.text)}")
    return 0, {
        "run": arguments.run,
        "texts": len(texts),
        "best": [_json(text) for text in best],
        "worst": [_json(text) for text in worst],
    }


def _ranked(
    agent: LanguageModelAgent,
    perturbation: Perturbation,
    episodes: list[Episode],
    against: list[Episode],
    arguments: Namespace,
) -> tuple[PlaceRanking, ...]:
    """Print and return, for each token from the end, how often Q ranks the better answer higher."""
    answer = None if arguments.answer is None else arguments.answer - 1
    key = Key(arguments.seed, ("values",))
    pairs = shared_states(episodes, against, key, draws=arguments.draws, answer=answer)
    if not pairs:
        which = f" for time {arguments.answer}" if arguments.answer else ""
        raise BadSetting(
            f"{arguments.data} and {arguments.against} hold no state in which both answered{which}"
        )
    places = q_ranking(
        agent.module,
        perturbation.values,
        *pair_batches(pairs, agent.format, max_length=context(agent.module)),
    )
    rows = [
        [
            *(place.place, place.n, place.rows),
            *(_share(place.online, place.online_error), _share(place.target, place.target_error)),
        ]
        for place in places
    ]
    print(Table(["token from the end", "pairs", "rows", "Q above", "target Q above"], rows).terminal())
    print("± is the standard error, clustered by the rows of both episodes")
    return places


def _share(share: float | None, error: float | None) -> str:
    return "none" if share is None else f"{share:.3f}" + ("" if error is None else f" ± {error:.3f}")


def _episodes(path: str, identity: str) -> list[Episode]:
    file = Path(path) / names.EPISODES if Path(path).is_dir() else Path(path)
    episodes = list(episode.read(file))
    if not episodes:
        raise BadSetting(f"{file} holds no episode")
    for number, recorded in enumerate(episodes, 1):
        if recorded.task != identity:
            raise BadRow(
                f"an episode of {recorded.task}; the run's task is {identity}, with the run's options",
                file=file,
                line=number,
            )
    return episodes


def _json(text: TextAdvantage) -> dict[str, Any]:
    return {"text": text.text, "advantage": text.advantage, "count": text.count}
