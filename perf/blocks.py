"""Benchmarks of blocks: single environments against a step as lilGym's code makes it, and the vector
environment against single ones. Actions are random, legal and never `stop`, as in the notes on lilGym.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import measuring
import numpy as np
from references.redrawn_blocks import Environment

import loquent  # noqa: F401 - the environment is known once it is imported
from loquent.core.seeding import Key
from loquent.tasks.blocks import describe, views
from loquent.tasks.blocks.boards import legality
from loquent.tasks.blocks.pictures import tiles
from loquent.tasks.blocks.programs import program

ID = "loquent/Blocks-v0"
STEPS = {"quick": (60, 20), "tiny": (6000, 220)}  # of ours, of the reference
PLACES = 64


def single(rounds: int, appearance: str, view: str, size: str = "tiny") -> dict[str, Any]:
    """Steps a second of `gymnasium.make` with its wrappers, beginnings of episodes included.

    The caches of boards are empty in each round.
    """
    mine, theirs = STEPS[size]
    env = gymnasium.make(ID, appearance=appearance, view=view, rules="legacy")
    actions = recorded(env, mine)
    checked = agreement(
        gymnasium.make(ID, appearance=appearance, view="image", rules="legacy"), actions[:theirs]
    )
    sides = measuring.alternate(lambda: play(env, actions), lambda: redrawn(env, actions[:theirs]), rounds)
    scaled = measuring.Sides(
        sides.ours, [(wall * mine / theirs, own * mine / theirs) for wall, own in sides.reference]
    )
    more = {"timed_steps": mine, "timed_reference_steps": theirs}
    return {"checked": checked, **measuring.summary(scaled, mine, "steps"), **more}


def vector(rounds: int, appearance: str, size: str = "tiny") -> dict[str, Any]:
    """Steps a second of the vector environment of 64 against one single environment, with objects."""
    mine = STEPS[size][0]
    env = gymnasium.make(ID, appearance=appearance, view="objects")
    envs = gymnasium.make_vec(ID, num_envs=PLACES, appearance=appearance, view="objects")
    actions, many = recorded(env, mine), recorded_many(envs, max(mine // PLACES, 2))
    checked = same_steps(appearance, many[: 20 if size == "tiny" else 2])
    sides = measuring.alternate(lambda: play_many(envs, many), lambda: play(env, actions), rounds)
    share = len(many) * PLACES / mine
    scaled = measuring.Sides(sides.ours, [(wall * share, own * share) for wall, own in sides.reference])
    return {"checked": checked, **measuring.summary(scaled, len(many) * PLACES, "steps")}


def recorded(env: Any, steps: int) -> list[int]:
    """Random legal actions other than `stop`, played from the beginning that `play` has."""
    rng, actions = Key(0, ("actions", "blocks")).generator(), []
    _, info = env.reset(seed=0)
    for _ in range(steps):
        choices = np.flatnonzero(info["action_mask"])[1:]
        actions.append(int(choices[rng.integers(len(choices))]))
        *_, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            _, info = env.reset()
    return actions


def recorded_many(envs: Any, steps: int) -> list[np.ndarray]:
    """The same for all places of a vector environment."""
    rng, actions = Key(1, ("actions", "blocks")).generator(), []
    _, infos = envs.reset(seed=0)
    for _ in range(steps):
        weights = rng.random(infos["action_mask"].shape) * infos["action_mask"]
        weights[:, 0] = 0
        actions.append(weights.argmax(1))
        *_, infos = envs.step(actions[-1])
    return actions


def play(env: Any, actions: list[int]) -> None:
    """Step through all actions, with empty caches."""
    forget()
    env.reset(seed=0)
    for action in actions:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


def play_many(envs: Any, actions: list[np.ndarray]) -> None:
    """The same for a vector environment."""
    forget()
    envs.reset(seed=0)
    for chosen in actions:
        envs.step(chosen)


def forget() -> None:
    """Empty the caches whose keys are boards: a long training meets new boards at every step."""
    for cached in (legality.cells, tiles.box_tile, describe.line, program._truth, views._rows):
        cached.cache_clear()


def redrawn(env: Any, actions: list[int]) -> list[tuple[Any, ...]]:
    """The reference through the same actions, on the rows that `env` draws."""
    base = env.unwrapped
    other, number = Environment(base.task.actions, base.task.tower), 0
    results = [(other.reset(base.drawn_rows.draw("train", number, 0)),)]
    for action in actions:
        results.append(other.step(action))
        if results[-1][2] or results[-1][3]:
            number += 1
            results.append((other.reset(base.drawn_rows.draw("train", number, 0)),))
    return results


def agreement(env: Any, actions: list[int]) -> str:
    """That both sides give equal rewards, flags and pictures; AssertionError otherwise.

    A removal leaves marks in the reference's picture, so pictures are compared until the first one.
    """
    expected = redrawn(env, actions)
    ours: list[tuple[Any, ...]] = [(env.reset(seed=0)[0],)]
    marked, pictures, texts = False, 0, []
    for action in actions:
        seen, reward, terminated, truncated, info = env.step(action)
        ours.append((seen, reward, terminated, truncated))
        texts.append(info["text"])
        if terminated or truncated:
            ours.append((env.reset()[0],))
            texts.append("")
    assert [each[1:] for each in ours] == [each[1:] for each in expected], "rewards or flags differ"
    for text, mine, other in zip(["", *texts], ours, expected, strict=True):
        marked = len(mine) > 1 and (marked or text.startswith("remove"))
        if not marked:
            pictures += 1
            assert (mine[0]["image"] == other[0]["image"]).all(), "pictures differ"
    return f"rewards and flags equal in all {len(actions)} steps, {pictures} of {len(ours)} pictures compared"


def same_steps(appearance: str, actions: list[np.ndarray]) -> str:
    """That the vector environment equals single environments; AssertionError otherwise."""
    own = gymnasium.make_vec(ID, num_envs=PLACES, appearance=appearance, view="objects")
    other = gymnasium.make_vec(
        ID, num_envs=PLACES, vectorization_mode="sync", appearance=appearance, view="objects"
    )
    pairs = [(own.reset(seed=0)[0], other.reset(seed=0)[0])]
    for chosen in actions:
        mine, theirs = own.step(chosen), other.step(chosen)
        pairs.append((mine[0], theirs[0]))
        assert all((a == b).all() for a, b in zip(mine[1:4], theirs[1:4], strict=True)), (
            "rewards or flags differ"
        )
    for a, b in pairs:
        assert (a["objects"] == b["objects"]).all(), "objects differ"
        assert a["sentence"] == b["sentence"], "sentences differ"
    return f"objects, rewards and flags equal in {len(actions)} steps of {PLACES} environments"
