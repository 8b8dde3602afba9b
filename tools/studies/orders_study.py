"""What policies that do not read the guest's replies reach on the orders, beside policies that do.

Usage: python -m tools.studies.orders_study
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

from loquent.core.agent import Agent, Answer, Question, make
from loquent.core.metric import Context
from loquent.core.rollout.loop import games, play
from loquent.core.task import Row
from loquent.rewards import compose
from loquent.tasks.generation.orders import ASK_DRINK, ASK_EXTRA, DRINKS, EXTRAS, serve
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation

Rule = Callable[[str], str]  # what is served for a prompt
ASKED = (ASK_DRINK, ASK_EXTRA)
ORDERS = tuple(serve(*pair) for pair in product(DRINKS, EXTRAS))
TASK = Generation(Options(dataset="orders", turns=3, user="generation/guest", end_text="here is"))


class Blind:
    """Asks both questions, then serves what a rule says for the prompt, whatever the guest replied."""

    name = "blind"

    def __init__(self, rule: Rule) -> None:
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


def most_frequent(rows: Sequence[Row], key: Rule = str) -> Rule:
    """The rule that serves what is right for most rows with the key of the prompt, else the first order."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(key(row["prompt"]), Counter())[row["references"][0]] += 1
    return lambda prompt: max(ORDERS, key=lambda order: counts.get(key(prompt), Counter())[order])


def unseen(rows: Sequence[Row]) -> Rule:
    """The rule that serves an order which no row shows for the prompt, if there is one."""
    right = {(row["prompt"], row["references"][0]) for row in rows}
    return lambda prompt: next((order for order in ORDERS if (prompt, order) not in right), ORDERS[0])


def constant(order: str) -> Rule:
    """The rule that serves an order for every prompt."""
    return lambda _: order


def main() -> None:
    """Print the shares on test rows as JSON."""
    train, test = TASK.rows("train"), TASK.rows("test")
    constants = [share(Blind(constant(order)), "test") for order in ORDERS]
    blind = {
        "best of the prompt on train": most_frequent(train),
        "best of the greeting on train": most_frequent(train, lambda prompt: prompt.split(" , ")[0]),
        "best of the table on train": most_frequent(train, lambda prompt: prompt.split()[-2]),
        "not in train": unseen(train),
        "best of the prompt in hindsight": most_frequent(test),
    }
    agents: dict[str, Agent] = {name: Blind(rule) for name, rule in blind.items()} | {
        "reads the drink alone": Careful(ASK_DRINK),
        "reads the extra alone": Careful(ASK_EXTRA),
        "reads both": Careful(*ASKED),
        "waiter": make("generation/waiter", TASK),
    }
    shares = {name: share(agent, "test") for name, agent in agents.items()}
    print(json.dumps({"constants": [min(constants), max(constants)], **shares}))


if __name__ == "__main__":
    main()
