"""Golden rows of tokens from spec/ilql.md 3.2, and episodes to make batches of."""

from dataclasses import fields, replace

import torch

from helpers.models.format_cases import said, told
from loquent.core.episode import Episode
from loquent.core.values import Record

GUESS = Record(guess=1.0)
WORDLE, PLAIN = "ilql, 35 characters", "plain"


def episode(*turns, ended=None, instruction="", number=0):
    return Episode("toy-v1", "row", "train", 0, number, turns, ended, instruction=instruction)


def earns(turn, **rewards):
    return replace(turn, rewards=Record(rewards))


# the golden rows of spec/ilql.md 3.2: raw strings, L, state_idxs, action_idxs, rewards, terminals
# A wordle begins with nothing told; "<b><b><g><b><g>" are the marks of one guess; "ab" is no word and gets no
# marks, so answers touch.
MARKS, WON = "<b><b><g><b><g>", "<g><g><g><g><g>"
ROWS = {
    # <a>crane</a>MARKS</s>: 1 + 6 + 6 = 13
    "crane": (
        episode(told(""), earns(said("crane"), guess=-1), told(MARKS)),
        (13, [*range(6), 12], [*range(6)], [0] * 5 + [-1], [0] * 7),
    ),
    # <a>crane</a>MARKS</s>slate</a>WON</s></eod>: 13 + 6 + 6 + 1 = 26
    "crane, slate": (
        episode(
            told(""),
            earns(said("crane"), guess=-1),
            told(MARKS),
            earns(said("slate"), guess=0),
            told(WON),
            ended="solved",
        ),
        (
            26,
            [*range(6), *range(12, 18), 25],
            [*range(6), *range(12, 18)],
            [0] * 5 + [-1] + [0] * 6,
            [0] * 12 + [1],
        ),
    ),
    # <a>ab</a>slate</a>WON</s></eod>: 1 + 3 + 6 + 6 + 1 = 17
    "ab, slate": (
        episode(
            told(""),
            earns(said("ab"), guess=-1),
            told(""),
            earns(said("slate"), guess=0),
            told(WON),
            ended="solved",
        ),
        (17, [*range(9), 16], [*range(9)], [0, 0, -1] + [0] * 6, [0] * 9 + [1]),
    ),
    # <a>crane</a>MARKS</s>ab</a>: 13 + 3 = 16
    "crane, ab": (
        episode(told(""), earns(said("crane"), guess=-1), told(MARKS), earns(said("ab"), guess=-1), told("")),
        (16, [*range(6), *range(12, 16)], [*range(6), 12, 13, 14], [0] * 5 + [-1, 0, 0, -1], [0] * 10),
    ),
}


def padded(batch, more):
    """The same batch, padded by some columns more."""
    fill = {"tokens": 0, "turn": -1}
    wider = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, torch.Tensor) and value.ndim == 2:
            wider[field.name] = torch.cat(
                [value, value.new_full((len(value), more), fill.get(field.name, 0))], 1
            )
    return replace(batch, **wider)
