"""`loquent values`: what a run's values hold of recorded episodes: the best and worst utterances, and whether
Q ranks the better of two.
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
from loquent.training.run import load_run


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Read what values say, print it and return it."""
    made = load_run(arguments.run, allow_imports=arguments.allow_imports)
    agent, identity = made.agent(), made.task().identity
    perturbation = agent.perturbation if isinstance(agent, LanguageModelAgent) else None
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        raise BadSetting(
            f"{arguments.run} has learned no values of tokens that it acts by; a run of ilql, cql, "
            "psi or monte_carlo has"
        )
    episodes = _episodes(arguments.data, identity)
    if arguments.against:
        found = _ranked(agent, perturbation, episodes, _episodes(arguments.against, identity), arguments)
        return 0, {"run": arguments.run, "ranking": [one.as_json() for one in found]}
    batch = token_batch(episodes, agent.format, EMPTY, max_length=context(agent.module))
    texts = advantages_of_texts(
        agent.module, perturbation.values, batch, agent.format, n=arguments.ngram, min_count=arguments.least
    )
    number = min(arguments.number, len(texts))
    best, worst = texts[:number], texts[len(texts) - number :][::-1]
    for name, some in (("best", best), ("worst", worst)):
        print(f"{name} of {len(texts)}")
        for one in some:
            print(f"  {one.advantage:+.4f}  {one.count:>6} x  {line(one.text)}")
    return 0, {
        "run": arguments.run,
        "texts": len(texts),
        "best": [_json(one) for one in best],
        "worst": [_json(one) for one in worst],
    }


def _ranked(
    agent: LanguageModelAgent,
    perturbation: Perturbation,
    episodes: list[Episode],
    against: list[Episode],
    arguments: Namespace,
) -> tuple[PlaceRanking, ...]:
    answer = None if arguments.answer is None else arguments.answer - 1
    key = Key(arguments.seed, ("values",))
    pairs = shared_states(episodes, against, key, draws=arguments.draws, answer=answer)
    if not pairs:
        which = f" for time {arguments.answer}" if arguments.answer else ""
        raise BadSetting(
            f"{arguments.data} and {arguments.against} hold no state in which both answered{which}"
        )
    found = q_ranking(
        agent.module,
        perturbation.values,
        *pair_batches(pairs, agent.format, max_length=context(agent.module)),
    )
    print("token from the end   pairs   Q above   target Q above")
    for one in found:
        shares = (
            f"{share:.3f} ± {one.error(share, one.n):.3f}" if share is not None else "none"
            for share in (one.online, one.target)
        )
        print(f"{one.place:>18}  {one.n:>6}   " + "   ".join(shares))
    return found


def _episodes(path: str, identity: str) -> list[Episode]:
    file = Path(path) / names.EPISODES if Path(path).is_dir() else Path(path)
    found = list(episode.read(file))
    if not found:
        raise BadSetting(f"{file} holds no episode")
    for number, one in enumerate(found, 1):
        if one.task != identity:
            raise BadRow(
                f"an episode of {one.task}; the run's task is {identity}, with the options it was made with",
                file=file,
                line=number,
            )
    return found


def _json(one: TextAdvantage) -> dict[str, Any]:
    return {"text": one.text, "advantage": one.advantage, "count": one.count}
