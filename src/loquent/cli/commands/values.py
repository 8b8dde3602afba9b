"""`loquent values`: applies a run's value functions to recorded episodes.

It prints the utterances with the highest and lowest advantages, or whether Q ranks the better answers higher.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.cli.grammar.options import Importing, Seeded, argument, option
from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.guards.terminal import line
from loquent.core.seeding import Key
from loquent.core.values import EMPTY
from loquent.errors import BadRow, BadSetting
from loquent.files import names
from loquent.statistics.tables import Table

if TYPE_CHECKING:
    from loquent.agents.language_model import LanguageModelAgent
    from loquent.models.inspect.ranking import PlaceRanking
    from loquent.models.inspect.top_advantages import TextAdvantage
    from loquent.models.values.perturb import Perturbation


@dataclass(frozen=True, kw_only=True)
class Options(Seeded, Importing):
    """Options of `loquent values`."""

    examples = (
        "loquent values runs/ilql data/wordle --ngram 2",
        "loquent values runs/ilql data/expert --against data/random --answer 1",
    )
    run: str = argument("RUN", "the folder of a run that has learned values")
    data: str = argument("DATA", "a file of episodes, or a folder that `loquent collect` wrote")
    number: int = option(10, "K", "texts to print of the best and of the worst", low=1)
    ngram: int | None = option(None, "N", "score sequences of N tokens instead of whole utterances", low=1)
    least: int = option(1, "N", "leave out texts that occur less often than N times", low=1)
    against: str | None = option(
        None,
        "DATA",
        "rank instead: the first DATA holds the better answers, this DATA the others, in shared states",
    )
    answer: int | None = option(
        None, "N", "with --against: only the N-th answer of an episode, from 1 (default: any)", low=1
    )
    draws: int = option(1000, "N", "with --against: pairs to draw", low=1)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Compute advantages or a ranking, print them and return them."""
    from loquent.agents.language_model import LanguageModelAgent
    from loquent.models.inspect.top_advantages import advantages_of_texts
    from loquent.models.tokens.batch import token_batch
    from loquent.pretrained import context
    from loquent.training.run import load_run

    finished = load_run(options.run, allow_imports=options.allow_imports)
    agent, identity = finished.agent(), finished.task().identity
    perturbation = agent.perturbation if isinstance(agent, LanguageModelAgent) else None
    if not isinstance(agent, LanguageModelAgent) or perturbation is None:
        raise BadSetting(
            f"{options.run} has learned no values of tokens that it acts by; give a run of ilql, cql, "
            "psi or monte_carlo"
        )
    episodes = _episodes(options.data, identity)
    if options.against:
        places = _ranked(agent, perturbation, episodes, _episodes(options.against, identity), options)
        return 0, {"run": options.run, "ranking": [place.as_json() for place in places]}
    batch = token_batch(episodes, agent.format, EMPTY, max_length=context(agent.module))
    texts = advantages_of_texts(
        agent.module, perturbation.values, batch, agent.format, n=options.ngram, min_count=options.least
    )
    number = min(options.number, len(texts))
    best, worst = texts[:number], texts[len(texts) - number :][::-1]
    for name, part in (("best", best), ("worst", worst)):
        print(f"{name} of {len(texts)}")
        for text in part:
            print(f"  {text.advantage:+.4f}  {text.count:>6} x  {line(text.text)}")
    return 0, {
        "run": options.run,
        "texts": len(texts),
        "best": [_json(text) for text in best],
        "worst": [_json(text) for text in worst],
    }


def _ranked(
    agent: LanguageModelAgent,
    perturbation: Perturbation,
    episodes: list[Episode],
    against: list[Episode],
    options: Options,
) -> tuple[PlaceRanking, ...]:
    """Print and return, for each token from the end, how often Q ranks the better answer higher."""
    from loquent.models.inspect.ranking import pair_batches, q_ranking, shared_states
    from loquent.pretrained import context

    answer = None if options.answer is None else options.answer - 1
    key = Key(options.seed, ("values",))
    pairs = shared_states(episodes, against, key, draws=options.draws, answer=answer)
    if not pairs:
        which = f" for time {options.answer}" if options.answer else ""
        raise BadSetting(f"{options.data} and {options.against} hold no state in which both answered{which}")
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
