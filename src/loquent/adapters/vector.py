"""A task as a Gymnasium vector environment without single environments: `gymnasium.make_vec` uses it.

It serves tasks that name a class of `core.live.Many`. Every place gives the observations, rewards and flags
of an `Environment` in the index form with the same seed and actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from loquent.adapters.arguments import build_task, check_lengths, check_names, check_players, reset_options
from loquent.adapters.drawn_rows import DrawnRows
from loquent.adapters.gymnasium_errors import NO_EPISODE, InvalidAction, ResetNeeded
from loquent.core import registry
from loquent.core.live import Many
from loquent.core.seeding import Key
from loquent.core.task import CUT, Row, Task
from loquent.core.values import Record
from loquent.errors import BadSetting


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """`num_envs` episodes of a task, stepped together.

    A place whose episode ended begins the next one at the next step, and ignores that action. Place i is
    seeded with seed + i. `infos` has the keys of `Environment` as arrays over the places, each with a mask
    whose name begins with "_", except `observation`, `legal` and `instruction`: `task.actions.text` and
    `action_mask` give the legal texts, and `task.spec` has the instruction.

    `rows` holds the rows of the running episodes, and `many` the episodes themselves, for a wrapper that
    knows the task.

    Example:
        >>> import gymnasium, loquent
        >>> envs = gymnasium.make_vec("loquent/Blocks-v0", num_envs=64, view="objects")
        >>> observations, infos = envs.reset(seed=0)

    Args:
        task: a task with `many`, or its registered name, built with `options`.
        num_envs: the number of places.
        form: must be "index".
        split: the split of the rows.
        view: a view that the task's class of many episodes has; default: its first.
        priority_scale, weights: as for `Environment`.

    Raises:
        BadSetting: an argument or option has an unknown name or an invalid value, or the task has no class of
            many episodes.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's own shape
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: Task | str | None = None,
        *,
        num_envs: int = 1,
        form: str = "index",
        split: str = "train",
        view: str | None = None,
        priority_scale: float = 0.0,
        weights: Mapping[str, float] | None = None,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        self.task = build_task(task, options)
        check_names(split=split)
        check_lengths(num_envs=num_envs)
        check_players((), None, weights)
        self.num_envs, self.split = num_envs, split
        self.many = self._build(form, view, render_mode)
        self.weights = Record(self.task.spec.rewards if weights is None else weights)
        assert self.task.actions is not None
        self._size = len(self.task.actions)
        self.single_action_space = spaces.Discrete(self._size)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._drawn = [DrawnRows(self.task, priority_scale) for _ in range(num_envs)]
        self._seeds: list[int] | None = None
        self._counts = [0] * num_envs
        self.rows: list[Row | None] = [None] * num_envs  # the row of each place's episode
        self._turns = np.zeros(num_envs, dtype=np.int64)
        self._row, self._split = (np.full(num_envs, None, dtype=object) for _ in range(2))
        self._number = np.zeros(num_envs, dtype=np.int64)
        self._seat = np.full(num_envs, "agent", dtype=object)
        self._every = np.ones(num_envs, dtype=np.bool_)
        self._texts = np.array([self.task.actions.text(i) for i in range(self._size)], dtype=object)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def _build(self, form: str, view: str | None, render_mode: None) -> Many:
        other = 'use gymnasium.make_vec(id, vectorization_mode="sync") for all other environments'
        if not self.task.many:
            raise BadSetting(f"{self.task.identity} has no class of many episodes; {other}")
        kind: type[Many] = registry.import_name(self.task.many)
        view = kind.views[0] if view is None else view
        for name, value, allowed in (
            ("form", form, ("index",)),
            ("view", view, kind.views),
            ("render_mode", render_mode, (None,)),
        ):
            if value not in allowed:
                raise BadSetting(
                    f"{name} = {value!r:.80}: must be one of {', '.join(map(repr, allowed))}; {other}"
                )
        self.single_observation_space = registry.import_name(self.task.views[view])(self.task)[0]
        return kind(self.task, self.num_envs, view)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every place.

        Args:
            seed: place i gets seed + i; or a list with one seed per place.
            options: as for `Environment.reset`, for all places.

        Raises:
            BadSetting, UnknownName: as for `Environment.reset`.
        """
        self._seed(seed)
        chosen = reset_options(options)
        for place in range(self.num_envs):
            self._begin(place, chosen)
        return self.many.observation(), self._infos()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take one action in every place; in a place whose episode ended, begin the next one instead.

        Raises:
            InvalidAction: the actions are not n numbers of the action space.
            ResetNeeded: there are no episodes.
        """
        if self._seeds is None:
            raise ResetNeeded(NO_EPISODE)
        actions = self._checked(actions)
        begins, active = np.flatnonzero(self._over), ~self._over
        named, ended = self.many.step(actions, active)
        self._turns += active
        rewards = np.zeros(self.num_envs)
        for name, values in named.items():
            rewards += self.weights.get(name, 0.0) * values
        flags = {rule: self.task.flags(rule) for rule in set(ended)}
        terminated = np.fromiter((flags[rule][0] for rule in ended), np.bool_, self.num_envs)
        truncated = np.fromiter((flags[rule][1] for rule in ended), np.bool_, self.num_envs)
        self._over = terminated | truncated
        infos = self._ends(named, ended, actions, active)
        for place in begins.tolist():
            self._begin(place, {})
        return self.many.observation(), rewards, terminated, truncated, {**self._infos(), **infos}

    def _seed(self, seed: int | list[int | None] | None) -> None:
        """Set the seeds of the places, and number their episodes from 0 where a seed is new."""
        if isinstance(seed, list):
            if len(seed) != self.num_envs:
                raise BadSetting(f"seed has {len(seed)} numbers; it must have one per place, {self.num_envs}")
            seeds = seed
        else:
            first = None if seed is None else Key(seed).seed
            super().reset(seed=first)
            seeds = [None if first is None else first + i for i in range(self.num_envs)]
        before: list[int | None] = list(self._seeds or []) or [None] * self.num_envs
        drawn = [Key(each).seed if each is not None else old for each, old in zip(seeds, before, strict=True)]
        self._counts = [
            0 if each is not None else count for each, count in zip(seeds, self._counts, strict=True)
        ]
        self._seeds = [int(self.np_random.integers(2**31)) if each is None else each for each in drawn]

    def _begin(self, place: int, options: Mapping[str, Any]) -> None:
        assert self._seeds is not None
        split, number = options.get("split", self.split), options.get("number", self._counts[place])
        drawn = self._drawn[place]
        row = drawn.find_row(split, options) if options else None
        if "sample" not in options:
            self._counts[place] += 1
        row = row or drawn.draw(split, number, self._seeds[place])
        self.many.start(place, row)
        self.rows[place], self._turns[place], self._over[place] = row, 0, False
        self._row[place], self._split[place], self._number[place] = row.id, split, number

    def _checked(self, actions: Any) -> NDArray[np.int64]:
        array = np.asarray(actions)
        size = self._size
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            what = f"actions = {actions!r:.80}"
            raise InvalidAction(
                f"{what}: must be {self.num_envs} integers from 0 to {size - 1}, one per place"
            )
        if array.min() < 0 or array.max() >= size:
            raise InvalidAction(
                f"{array.tolist()!r:.80}: every action must be an integer from 0 to {size - 1}"
            )
        return array.astype(np.int64)

    def _infos(self) -> dict[str, Any]:
        """What every step has."""
        infos: dict[str, Any] = {
            "ended": np.full(self.num_envs, None, dtype=object),
            "bootstrap": np.ones(self.num_envs, dtype=np.bool_),
            "rewards": {},
            "turn": self._turns.copy(),
            "row": self._row.copy(),
            "split": self._split.copy(),
            "number": self._number.copy(),
            "seat": self._seat.copy(),
            "action_mask": self.many.masks(),
        }
        return infos | {f"_{name}": self._every.copy() for name in infos}

    def _ends(
        self,
        named: Mapping[str, NDArray[np.float64]],
        ended: Sequence[str | None],
        actions: NDArray[np.int64],
        active: NDArray[np.bool_],
    ) -> dict[str, Any]:
        """What the actions gave: texts, rewards, and the ends of episodes with the task's own keys."""
        infos: dict[str, Any] = {"rewards": {}}
        if active.any():
            texts = self._texts[actions]
            texts[~active] = None
            infos |= {"text": texts, "_text": active}
        for name, values in named.items():
            earned = values != 0
            if earned.any():
                infos["rewards"] |= {name: values, f"_{name}": earned}
        if not self._over.any():
            return infos
        over = self._over.copy()
        infos["ended"] = np.array(ended, dtype=object)
        infos["bootstrap"] = np.array([rule is None or rule == CUT for rule in ended])
        if self.task.spec.success:
            infos["is_success"] = np.array([rule in self.task.spec.success for rule in ended])
            infos["_is_success"] = over
        for place in np.flatnonzero(over).tolist():
            for name, value in self.many.info(place, ended[place] or "").items():
                kind = type(value) if type(value) in (bool, int, float) else object
                if name not in infos:
                    infos[name] = np.full(self.num_envs, None if kind is object else kind(), dtype=kind)
                    infos[f"_{name}"] = np.zeros(self.num_envs, dtype=np.bool_)
                infos[name][place], infos[f"_{name}"][place] = value, True
        return infos
