"""Exact values of the recorded questioner in a small model of the built-in world, by dynamic programming.

Four properties of four values are unknown. An open question makes one known, a check says yes or no, and a
question about nothing says nothing. A game ends when at most a tenth of the 256 scenes fits, or after ten
questions. V is the expectile of Q over the questions of `dialogue/casual`, as in ILQL (arXiv:2206.11871).

Run as a script, it prints how much better a question about something new is than one about something known.
"""

import json
import math
from functools import cache

import numpy as np

GAMMA, TURNS, NEAR = 0.99, 10, 0.1
OFF_TOPIC, CHECKED, PROPERTIES, VALUES = 0.25, 0.6, 5, 4
START = (VALUES,) * (PROPERTIES - 1)  # the values left of each property; the caption states the fifth


def questions(left):
    """Of each question: its probability, whether it is a check, and the probabilities of what is left."""
    found = [(OFF_TOPIC, False, {left: 1.0})]
    for number in range(PROPERTIES):
        open_question, check = ((1 - OFF_TOPIC) * share / PROPERTIES for share in (1 - CHECKED, CHECKED))
        count = left[number] if number < len(left) else 1
        if count == 1:
            found += [(open_question, False, {left: 1.0}), (check, True, {left: 1.0})]
            continue
        one, fewer = ((*left[:number], value, *left[number + 1 :]) for value in (1, count - 1))
        found.append((open_question, False, {one: 1.0}))
        outcomes = {}  # a quarter asks each value; those that are excluded already change nothing
        shares = ((one, 1 / VALUES), (fewer, (count - 1) / VALUES), (left, 1 - count / VALUES))
        for after, probability in shares:
            outcomes[after] = outcomes.get(after, 0.0) + probability
        found.append((check, True, outcomes))
    return found


def expectile(values, weights, tau):
    """The root m of sum w |tau - [q < m]| (q - m), by bisection."""
    low, high = values.min(), values.max()
    for _ in range(60):
        middle = (low + high) / 2
        pull = (np.where(values >= middle, tau, 1 - tau) * weights * (values - middle)).sum()
        low, high = (middle, high) if pull > 0 else (low, middle)
    return float(middle)


def goes_on_after(left, turn):
    """Whether the game goes on."""
    return turn + 1 < TURNS and math.prod(left) > NEAR * VALUES ** len(left)


def action_values(penalty, tau):
    """A function from what is left and the turn to Q of each question."""

    @cache
    def q(left, turn):
        found = []
        for _, check, outcomes in questions(left):
            goes_on = [(after, p) for after, p in outcomes.items() if goes_on_after(after, turn)]
            future = sum(p * (-1 + GAMMA * v(after, turn + 1)) for after, p in goes_on)
            found.append(future - penalty * check)
        return np.array(found)

    @cache
    def v(left, turn):
        return expectile(q(left, turn), np.array([p for p, _, _ in questions(left)]), tau)

    return q


def advantage(penalty, tau=0.8):
    """How much better an open question about something new is at the start than one about what is known."""
    q = action_values(penalty, tau)(START, 0)
    return float(q[1] - q[-2])


if __name__ == "__main__":
    print(json.dumps({"standard": round(advantage(0.0), 2), "penalty": round(advantage(2.0), 2)}))
