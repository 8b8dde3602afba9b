"""The errors of an environment that Gymnasium has too: each is Loquent's error and Gymnasium's."""

from __future__ import annotations

import gymnasium as gym

from loquent import errors

NO_EPISODE = "there is no episode; call reset to start one"


class InvalidAction(errors.InvalidAction, gym.error.InvalidAction):
    """An action is not in the action space: both Loquent's error and Gymnasium's."""


class ResetNeeded(errors.EpisodeOver, gym.error.ResetNeeded):
    """There is no episode, or it has ended: both Loquent's error and Gymnasium's."""
