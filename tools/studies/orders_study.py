"""What policies that do not read the guest's replies reach on the orders, beside policies that do.

Usage: python -m tools.studies.orders_study
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product

from loquent.core.agent import Agent, Answer, Question, make
from loquent.core.metric import Context
from loquent.core.rollout.loop import games, play
from loquent.core.task import Row
from loquent.rewards import compose
from loquent.tasks.generation.orders import ASK_DRINK, ASK_EXTRA, DRINKS, EXTRAS, serve
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation

ASKED = (ASK_DRINK, ASK_EXTRA)
ORDERS = tuple(serve(*pair) for pair in product(DRINKS, EXTRAS))
TASK = Generation(Options(dataset="orders", turns=3, user="generation/guest", end_text="here is"))


class Blind:
    """Asks both questions, then serves what a rule says for the prompt, whatever the guest replied."""

    name = "blind"

    def __init__(self, rule: Callable[[str], str]) -> None:
        self.rule = rule

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer([*ASKED, self.rule(one.turns[0].text)][len(one.turns) // 2]) for one in asked]


class Careful:
    """Asks questions and serves what it heard; what it does not ask for is always the first of its kind."""

    name = "careful"

    def __init__(self, *asked: str) -> None:
        self.asked = asked

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._text(one)) for one in asked]

    def _text(self, question: Question) -> str:
        heard = [turn.text.split()[0] for turn in question.turns if turn.seat == "task"][1:]
        if len(heard) < len(self.asked):
            return self.asked[len(heard)]
        known = dict(zip(self.asked, heard, strict=True))
        return serve(known.get(ASK_DRINK, DRINKS[0]), known.get(ASK_EXTRA, EXTRAS[0]))


def share(agent: Agent, split: str) -> float:
    """The share of right last answers on all rows of a split."""
    rows = TASK.rows(split)
    terms, weights = compose.build({"exact_match": 1.0}, Context(task=TASK))
    played = play(TASK, games(rows), agent, seed=0)
    scored = compose.apply(terms, played, {row.id: row for row in rows})
    return round(sum(episode.total(weights) for episode in scored) / len(rows), 4)


def most_frequent(rows: Sequence[Row], key: Callable[[str], str] = lambda prompt: prompt) -> dict[str, str]:
    """For each key of a prompt the order that is right for most of the rows with this key."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(key(row["prompt"]), Counter())[row["references"][0]] += 1
    return {name: max(ORDERS, key=lambda order: own[order]) for name, own in counts.items()}


def unseen(rows: Sequence[Row]) -> Callable[[str], str]:
    """The rule that serves an order which no row shows for the prompt, if there is one."""
    right = {(row["prompt"], row["references"][0]) for row in rows}

    def rule(prompt: str) -> str:
        return next((order for order in ORDERS if (prompt, order) not in right), ORDERS[0])

    return rule


def lookup(orders: Mapping[str, str], key: Callable[[str], str] = lambda prompt: prompt) -> Blind:
    """A blind policy that serves the order of the prompt's key, or the first order for another key."""
    return Blind(lambda prompt: orders.get(key(prompt), ORDERS[0]))


def main() -> None:
    """Print the shares on test rows as JSON."""
    train, test = TASK.rows("train"), TASK.rows("test")
    constants = [share(Blind(lambda _, order=order: order), "test") for order in ORDERS]
    parts = {"greeting": lambda prompt: prompt.split(" , ")[0], "table": lambda prompt: prompt.split()[-2]}
    found = {
        "prompts of train and test in common": len(
            {row["prompt"] for row in train} & {row["prompt"] for row in test}
        ),
        "constants": [min(constants), max(constants)],
        "best of the prompt on train": share(lookup(most_frequent(train)), "test"),
        **{
            f"best of the {name} on train": share(lookup(most_frequent(train, key), key), "test")
            for name, key in parts.items()
        },
        "not in train": share(Blind(unseen(train)), "test"),
        "best of the prompt in hindsight": share(lookup(most_frequent(test)), "test"),
        "reads the drink alone": share(Careful(ASK_DRINK), "test"),
        "reads the extra alone": share(Careful(ASK_EXTRA), "test"),
        "reads both": share(Careful(*ASKED), "test"),
        "waiter": share(make("generation/waiter", TASK), "test"),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
