"""What policies that do not read the guest's replies reach on the orders, beside one that does.

Usage: python -m tools.studies.orders_study
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product

from loquent.core.agent import Agent, Answer, Question, make
from loquent.core.metric import Context
from loquent.core.rollout.loop import games, play
from loquent.rewards import compose
from loquent.tasks.generation.orders import ASK_DRINK, ASK_EXTRA, DRINKS, EXTRAS, serve
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation

ASKED = (ASK_DRINK, ASK_EXTRA)
TASK = Generation(Options(dataset="orders", turns=3, user="generation/guest", end_text="here is"))


class Careful:
    """Asks both questions and serves what it heard."""

    name = "careful"

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        heard = [[turn.text.split()[0] for turn in one.turns if turn.seat == "task"][1:] for one in asked]
        return [Answer(serve(*own) if len(own) == 2 else ASKED[len(own)]) for own in heard]


def share(agent: Agent, split: str) -> float:
    """The share of right last answers on all rows of a split."""
    rows = TASK.rows(split)
    terms, weights = compose.build({"exact_match": 1.0}, Context(task=TASK))
    played = play(TASK, games(rows), agent, seed=0)
    scored = compose.apply(terms, played, {row.id: row for row in rows})
    return sum(episode.total(weights) for episode in scored) / len(rows)


def main() -> None:
    """Print the shares as JSON."""
    fixed = {
        text: make({"kind": "script", "texts": [*ASKED, text]}, TASK)
        for text in (serve(*pair) for pair in product(DRINKS, EXTRAS))
    }
    on_train = {text: share(agent, "train") for text, agent in fixed.items()}
    best = max(on_train, key=lambda text: on_train[text])
    found = {
        "chosen on train": {"text": best, "train": on_train[best], "test": share(fixed[best], "test")},
        "best on test": max(share(agent, "test") for agent in fixed.values()),
        "waiter": share(make("generation/waiter", TASK), "test"),
        "careful": share(Careful(), "test"),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
