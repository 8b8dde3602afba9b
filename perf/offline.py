"""Benchmarks of a gradient step of ILQL: ours against a plain reading of its loss with full heads, or against
the way of the released code, on equal networks and games.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import measuring
import torch
import workloads
from memory import memory, rises
from references.plain_ilql import PlainILQL
from references.released_ilql import ReleasedILQL
from safetensors.torch import save_file

from loquent.algorithms.value_learning.ilql import ILQL
from loquent.core.seeding import Key, borrow_generators
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch

GAMES, TURNS, TURN = 16, 6, 12  # Wordle's: a turn has 12 tokens, an answer 6
SETTINGS = {"gamma": 0.99, "tau": 0.7, "cql_weight": 0.01, "target_rate": 0.005, "learning_rate": 1e-5}
SIDES = ("ours", "plain")
WAYS = {"plain": PlainILQL, "released": ReleasedILQL}


def training(rounds: int, *, size: str = "wide vocabulary", way: str = "plain") -> dict[str, Any]:
    """Tokens a second of a gradient step on 16 games of 72 tokens, half of them actions.

    Three networks, two Q-heads.
    """
    batch, (ours, plain) = games(size), sides(size, way)
    checked = agreement(ours, plain, batch)
    times = measuring.alternate(ours.step, plain.step, rounds)
    return {"checked": checked, **measuring.summary(times, int(batch.real.sum()), "tokens")}


def training_memory(rounds: int, *, size: str = "wide vocabulary") -> dict[str, Any]:
    """How many times our rise of memory in that step the plain reading's is.

    Each side in a process of its own.
    """
    return rises(__file__, SIDES, rounds, size, most=1e-4)


class Ours:
    """An actor, ILQL over it, and the games."""

    def __init__(self, size: str) -> None:
        language = workloads.language(size)
        self.actor = Actor.build(
            language,
            critic="none",
            reference="none",
            format=workloads.Endless(language.tokenizer),
            key=Key(0),
        )
        self.ilql = ILQL(ILQL.Config(minibatch=GAMES, max_grad_norm=None, **SETTINGS), self.actor, key=Key(0))
        self.batch = games(size)

    def step(self) -> None:
        """One gradient step."""
        self.ilql.update(self.actor, self.batch)

    def gradient(self) -> torch.Tensor:
        """That of the value trunk, the Q-heads, V and the policy, in this order; no step is made."""
        values = self.actor.values
        assert values is not None
        self.ilql.loss(self.actor, self.batch, self.batch)[0].backward()
        return flat([self.actor.policy, values.value_trunk, values.q_heads, values.v_head])


class Plain:
    """The reference on copies of the same weights."""

    def __init__(self, actor: Actor, size: str, way: str = "plain") -> None:
        values, rates = (
            actor.values,
            {"follow": SETTINGS["target_rate"], "learning_rate": SETTINGS["learning_rate"]},
        )
        assert values is not None
        trunks = copy.deepcopy((actor.policy, values.value_trunk, values.target_trunk))
        heads = copy.deepcopy((values.q_heads, values.target_heads, values.v_head))
        self.plain = WAYS[way](
            trunks, heads, gamma=SETTINGS["gamma"], tau=SETTINGS["tau"], cql=SETTINGS["cql_weight"], **rates
        )
        batch = games(size)
        self.batch = batch.tokens, batch.real, batch.is_action, batch.reward, batch.ended

    def step(self) -> None:
        """One gradient step, with the dropout that ours has too."""
        learned = self.plain.policy, self.plain.value
        for network in learned:
            network.train()
        with borrow_generators(Key(0, ("dropout",))):
            self.plain.step(*self.batch)
        for network in learned:
            network.eval()

    def gradient(self) -> torch.Tensor:
        """As ours."""
        self.plain.loss(*self.batch).backward()
        return flat([self.plain.policy, self.plain.value, self.plain.q, self.plain.v])


def sides(size: str, way: str) -> tuple[Ours, Plain]:
    """Both sides on equal weights."""
    ours = Ours(size)
    return ours, Plain(ours.actor, size, way)


def games(size: str) -> TokenBatch:
    """Games in which tasks and players take turns, with made-up rewards; a third of them was cut."""
    rows, turns = (3, 2) if size == "quick" else (GAMES, TURNS)
    wide = turns * TURN
    tokens = torch.tensor(workloads.prompts(size, rows, wide))
    place = torch.arange(wide).expand(rows, -1)
    said = place % TURN >= TURN // 2
    reward = torch.from_numpy(Key(0, ("reward",)).generator().standard_normal((rows, wide))).float()
    return TokenBatch(
        tokens=tokens,
        real=torch.ones_like(said),
        is_action=said,
        turn=place // (TURN // 2),
        reward=torch.where(said & (place % TURN == TURN - 1), reward, 0.0),
        ended=torch.arange(rows) % 3 > 0,
        episode=torch.arange(rows),
    )


def flat(modules: list[Any]) -> torch.Tensor:
    """All gradients of some modules, one after the other."""
    return torch.cat(
        [p.grad.flatten() for module in modules for p in module.parameters() if p.grad is not None]
    )


def agreement(ours: Ours, plain: Plain, batch: TokenBatch) -> str:
    """That both losses and gradients are equal.

    Raises:
        AssertionError: they are not.
    """
    with torch.no_grad():
        mine, other = (
            float(loss)
            for loss in (ours.ilql.loss(ours.actor, batch, batch)[0], plain.plain.loss(*plain.batch))
        )
    assert abs(mine - other) < 1e-4 * abs(other), f"the losses are {mine} and {other}"
    one, two = ours.gradient(), plain.gradient()
    apart = float((one - two).abs().max() / two.abs().max())
    assert apart < 1e-4, f"the gradients differ by {apart} of the largest"
    return f"losses {mine:.5f} and {other:.5f}; gradients equal within {apart:.0e} of the largest"


def side(name: str, size: str, file: str) -> None:
    """One side, in this process: prints how far memory rose and how long a step took, writes the gradient to
    a file.
    """
    ours = Ours(size)
    one: Any = ours if name == "ours" else Plain(ours.actor, size)
    if name == "plain":
        del ours
    before = one.gradient()
    for parameter in one.ilql.parameters.values() if name == "ours" else one.plain.learned:
        parameter.grad = None
    one.step()  # buffers and the optimizer's state come before the measurement
    start = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    taken = measuring.timed(one.step)
    print(json.dumps({"bytes": memory("VmHWM") - start, "seconds": taken}))
    save_file({"gradient": before}, file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    side(*sys.argv[1:])
