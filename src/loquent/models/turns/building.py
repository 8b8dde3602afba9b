"""The network that the settings of a learner of turns name, newly initialised."""

from __future__ import annotations

from dataclasses import replace

from loquent.core.seeding import Key
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.models.turns.action_values import ValueActor
from loquent.models.turns.actor import TurnActor
from loquent.models.turns.settings import NetworkSettings, PolicySettings
from loquent.pretrained.learning.turn_network import Head, TurnNetwork
from loquent.pretrained.pytorch import devices


def build(name: str, task: Task, settings: NetworkSettings, key: Key, head: Head) -> TurnNetwork:
    """The network over features, or the one that a task brings.

    Args:
        name: the learner's name in error messages.

    Raises:
        BadSetting: the task has no actions, or the settings do not fit it.
    """
    if task.actions is None:
        raise BadSetting(
            f"algorithm.kind = {name!r} chooses among actions, but {task.identity} takes free text; use "
            "a task with actions"
        )
    cls, head = settings.task_network, replace(head, stop=settings.stop_head)
    network: TurnNetwork
    if cls is not None:
        network = cls(task, cls.fill_settings(settings.network_settings), key, head)
    elif isinstance(settings, PolicySettings):
        network = TurnActor(task, settings, key)
    else:
        network = ValueActor(task, settings, key, head)
    network.head = head
    if settings.stop_head:
        network.decide_stops()
    network.policy.to(devices.device(settings.device))
    return network
