"""Steps a second through `gymnasium.make` with its default wrappers, against CartPole: both are stepped with
uniformly random actions.

The environments show vectors of hashed n-grams, which are in the featurizer's cache after the first round,
and all of `info`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import measuring

import loquent  # noqa: F401 - the environments are known once it is imported
from loquent.core.seeding import Key

REFERENCE = "CartPole-v1"
ROWS = 200
STEPS = {"quick": 300, "tiny": 20_000, "small": 100_000}


def against_cartpole(rounds: int, id: str, size: str = "tiny") -> dict[str, Any]:
    """Steps a second of ours and of CartPole; first, that equal seeds and actions give equal steps."""
    steps = STEPS[size]
    ours = gymnasium.make(id, view="vector", limit=ROWS)
    reference = gymnasium.make(REFERENCE)
    mine, other = (
        Key(0, ("actions", env.spec.id)).generator().integers(int(env.action_space.n), size=steps).tolist()
        for env in (ours, reference)
    )
    checked = agreement(ours, gymnasium.make(id, view="vector", limit=ROWS), mine[:200])
    sides = measuring.alternate(lambda: play(ours, mine), lambda: play(reference, other), rounds)
    episodes = play(ours, mine)
    return {
        **measuring.summary(sides, steps, "steps"),
        "steps_per_episode": round(steps / episodes, 2),
        "checked": checked,
    }


def play(env: Any, actions: list[int]) -> int:
    """Step through all actions from the same beginning; the number of games begun."""
    env.reset(seed=0)
    begun = 1
    for action in actions:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
            begun += 1
    return begun


def agreement(env: Any, twin: Any, actions: list[int]) -> str:
    """That two environments, one of them stepped before, give equal observations, rewards, ends and infos.

    AssertionError otherwise.
    """
    play(env, actions)
    assert _seen(env.reset(seed=1)) == _seen(twin.reset(seed=1)), "the first observations differ"
    for number, action in enumerate(actions):
        results = env.step(action), twin.step(action)
        assert _seen(results[0]) == _seen(results[1]), f"step {number} differs"
        if results[0][2] or results[0][3]:
            assert _seen(env.reset()) == _seen(twin.reset()), f"the game after step {number} differs"
    return (
        f"observations, rewards, ends and infos equal those of another environment in {len(actions)} of "
        f"{len(actions)} steps"
    )


def _seen(result: tuple[Any, ...]) -> tuple[Any, ...]:
    observation, *rest, info = result
    return (observation.tolist(), *rest, repr(info))
