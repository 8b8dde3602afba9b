"""Section 5 of arXiv:2206.11871 in tables over Wordle: on sets that really branch, Q of the expert's word is
above the adversary's (spec A26).

How the first words of the expert's games and of a mediocre player's rank is reported by `loquent bench
ilql-wordle` and is no gate: with single draws the expectile also takes the best of luck, and the games of the
mediocre player cover their states more richly.
"""

import math

import pytest
import torch

from loquent.agents.baselines import Expert
from loquent.algorithms.value_learning import value_losses as losses
from loquent.core.rollout.forks import adversarial
from loquent.core.rollout.loop import games
from loquent.data.ranking import branch_pairs
from loquent.tasks.wordle.experts import Repeat, half
from loquent.tasks.wordle.task import Wordle

GAMMA = 0.99**6  # a guess is six tokens


@pytest.fixture(scope="module")
def episodes():
    """An adversarial set over one game of the expert for each of 200 secrets."""
    task = Wordle(Wordle.Options(limit=200))
    adversary = Repeat(task, Repeat.Options(first=2))
    return adversarial(task, games(task.rows("train")), Expert(task), adversary, half(task), seed=5)


def guesses(episode):
    """(what was told before, the word, its reward, what was told after, whether the game went on) of each
    guess.
    """
    told, found = (), []
    answers = [turn for turn in episode.turns if turn.seat == "agent"]
    marks = [turn.text for turn in episode.turns[2::2]]
    for turn, mark in zip(answers, marks, strict=True):
        after = (*told, (turn.text, mark))
        found.append((told, turn.text, turn.rewards["guess"], after, turn is not answers[-1]))
        told = after
    return found


def learned(episodes, tau, sign=1.0, steps=600):
    """Q by what was told and said, from the library's losses on tables."""
    seen = [one for episode in episodes for one in guesses(episode)]
    states = {one: i for i, one in enumerate(dict.fromkeys(told for told, *_ in seen))}
    pairs = {one: i for i, one in enumerate(dict.fromkeys((told, word) for told, word, *_ in seen))}
    here = torch.tensor([states[told] for told, *_ in seen])
    said = torch.tensor([pairs[told, word] for told, word, *_ in seen])
    reward = sign * torch.tensor([reward for _, _, reward, _, _ in seen])
    after = torch.tensor([states[after] if goes_on else 0 for *_, after, goes_on in seen])
    alive = torch.tensor([goes_on for *_, goes_on in seen])
    v, q = torch.zeros(len(states), requires_grad=True), torch.zeros(len(pairs), requires_grad=True)
    optimizer = torch.optim.Adam([v, q], lr=0.1)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 - step / steps)
        aim = losses.bellman_target(reward, v[after].detach(), alive, torch.full_like(reward, GAMMA))
        loss = losses.q_loss((q[said],), aim) + losses.expectile_loss(q[said].detach(), v[here], tau)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    return {pair: float(q[i].detach()) for pair, i in pairs.items()}


def share(episodes, q):
    """How often the expert's word has the higher Q, and among how many pairs."""
    above = []
    for pair in branch_pairs(episodes):
        place = sum(turn.seat == "agent" for turn in pair.better.turns[: pair.turn])
        (told, better, *_), (same, other, *_) = guesses(pair.better)[place], guesses(pair.other)[place]
        assert told == same
        above.append(q[told, better] > q[told, other])
    return sum(above) / len(above), len(above)


@pytest.mark.sweep("0.5", "0.99")
@pytest.mark.parametrize("tau", [0.5, 0.7, 0.9, 0.95, 0.99])
def test_the_expert_s_word_is_above_the_adversary_s_for_every_expectile(tau, episodes):
    found, n = share(episodes, learned(episodes, tau))
    assert n > 100
    assert found - 3 * math.sqrt(found * (1 - found) / n) > 0.9


def test_an_error_of_sign_is_seen(episodes):
    found, _ = share(episodes, learned(episodes, 0.7, sign=-1.0))
    assert found < 0.1
