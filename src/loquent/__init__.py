"""Loquent: reinforcement learning meets language. Write a task once, play it with any agent."""

import os as _os

from loquent.adapters import register as _register
from loquent.core.actions import ActionSet, Slots, Texts
from loquent.core.agent import Agent, Answer
from loquent.core.algorithm import Algorithm
from loquent.core.episode import Episode, Turn
from loquent.core.metric import Context, Measured, Metric, Samples
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.face import check, compare, evaluate, load_run, play, task, train
from loquent.files.machine.version import __version__

__all__ = [
    "ActionSet",
    "Agent",
    "Algorithm",
    "Answer",
    "Context",
    "Episode",
    "Invalid",
    "Key",
    "Measured",
    "Metric",
    "Observation",
    "Opening",
    "Outcome",
    "Record",
    "Row",
    "Samples",
    "Slots",
    "Task",
    "TaskSpec",
    "Texts",
    "Turn",
    "__version__",
    "check",
    "compare",
    "evaluate",
    "load_run",
    "play",
    "setting",
    "task",
    "train",
]

# torch reads this variable when it is first imported; spinning threads would slow shared cores down
_os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
_register()
