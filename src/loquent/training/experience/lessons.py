"""Episodes of a learner and its teacher, as turns with the teacher's actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from loquent.agents.mixture import Mixture
from loquent.core.actions import ActionSet
from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.errors import BadSetting
from loquent.files.machine import parallel
from loquent.models.tokens.turns import TurnBatch
from loquent.training.estimates import turns
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience.source import player_of
from loquent.training.experience.turns import PlayedTurns
from loquent.training.recipes import Recipe


class TaughtEpisodes(PlayedTurns):
    """Episodes of a mixture of learner and teacher, in which the teacher names its action at every turn.

    The algorithm says with `teacher_share` how often the teacher plays.
    """

    @classmethod
    def estimate(cls, recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
        """The estimate from two updates of a few episodes; later updates learn from all turns before."""
        return turns.of_played(recipe, build, rounds=True)

    @cached_property
    def teacher(self) -> Any:
        """The agent that names the actions."""
        return player_of(self.parts)

    @cached_property
    def player(self) -> str:
        """The name of the teacher, beside whom the policy plays."""
        return f"policy and teacher {self.teacher.name}"

    def make_player(self) -> Mixture:
        """The learner with the teacher, whose notes are those of the coming episodes."""
        learner = self.algorithm.agent(self.actor, False)
        self.mixture = Mixture(self.teacher, learner, self.algorithm.teacher_share)
        return self.mixture

    def batch(self, episodes: Sequence[Episode]) -> TurnBatch:
        """The turns of the episodes, each with the teacher's action, also where another process asked it."""
        notes = self.mixture.notes
        own = json.dumps([[*name, texts] for name, texts in notes.items()])
        for content in parallel.gather(own.encode()):
            notes |= {(game, seat): texts for game, seat, texts in json_files.loads(content)}
        return label_turns(super().batch(episodes), episodes, self.mixture, self.actor.actions)


def label_turns(
    batch: TurnBatch, episodes: Sequence[Episode], mixture: Mixture, actions: ActionSet
) -> TurnBatch:
    """The turns with the actions that the teacher noted.

    Raises:
        BadSetting: an answer of the teacher is not a legal action of the task.
    """
    notes = [_by_turn(episode, mixture.notes) for episode in episodes]
    choice = []
    for episode, turn, legal in zip(batch.episode.tolist(), batch.turn.tolist(), batch.legal, strict=True):
        text = notes[episode][turn]
        number = actions.index(text, legal)
        if number is None or not actions.contains(legal, number):
            what = (
                f"the teacher {mixture.teacher.name} answers {text!r:.80} in episode {episodes[episode].row}"
            )
            raise BadSetting(
                f"{what}, which is not a legal action; choose a teacher that takes legal actions"
            )
        choice.append(number)
    return replace(batch, choice=np.array(choice, dtype=np.int64))


def _by_turn(episode: Episode, notes: Mapping[tuple[str, str], Sequence[str]]) -> dict[int, str]:
    """The teacher's answers by the number of the turn."""
    own = [number for number, turn in enumerate(episode.turns) if turn.seat == episode.learning]
    return dict(zip(own, notes[f"{episode.row}#{episode.number}", episode.learning], strict=True))
