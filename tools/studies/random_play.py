"""Success of a uniform random policy on the published files, without and with stop forcing.

Run: python -m tools.studies.random_play FOLDER
"""

import json
import sys

import numpy as np

from loquent.agents.turns import StopForcing
from loquent.core.agent import Answer
from loquent.core.rollout.loop import games, play
from loquent.tasks.blocks.task import Blocks, BlocksOptions

# shares of success that the released code has, without and with stop forcing, in per cent
RELEASED = {
    ("tower", "scratch", "train"): (7.4, 23.7),
    ("tower", "flip_it", "dev"): (5.1, 29.1),
    ("scatter", "scratch", "train"): (0.0, 14.6),
    ("scatter", "flip_it", "dev"): (0.0, 5.0),
}


class Uniform:
    """Draws from all actions, legal or not, as the released code's action space does."""

    name = "uniform"

    def __init__(self, actions):
        self.actions = actions

    def answer(self, questions):
        draws = [q.key.child("uniform").generator().integers(len(self.actions)) for q in questions]
        return [Answer(self.actions.text(int(i))) for i in draws]


def shares(folder, configuration, least):
    """The shares of success without and with stop forcing, in per cent, over at least `least` episodes.

    The published training statements are the splits train and validation here.
    """
    appearance, start, split = configuration
    options = BlocksOptions(source="path", path=str(folder), appearance=appearance, start=start)
    task = Blocks(options)
    rows = [*task.rows(split), *(task.rows("validation") if split == "train" else ())]
    queue = games(rows, each=-(-least // len(rows)))
    agents = Uniform(task.actions), StopForcing(Uniform(task.actions), task)
    played = [play(task, queue, agent, seed=0, split=split) for agent in agents]
    return [100 * float(np.mean([bool(task.is_success(e.ended)) for e in episodes])) for episodes in played]


if __name__ == "__main__":
    for configuration in RELEASED:
        without, forced = shares(sys.argv[1], configuration, 3000)
        names = dict(zip(("appearance", "start", "split"), configuration))
        print(json.dumps({**names, "without": round(without, 1), "forced": round(forced, 1)}), flush=True)
