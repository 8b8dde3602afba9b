"""Folders of runs as `loquent train` leaves them, written here: so that texts and numbers are what a test
wants them to be.
"""

import json
import math

import yaml

from loquent.core import episode
from loquent.core.episode import TASK, Episode, Turn
from loquent.core.values import Record
from loquent.files import manifest
from loquent.files.machine.version import RUN_FORMAT
from loquent.training import recipes

HOSTILE = "</p><script>document.title='owned'</script><img src=http://198.51.100.7/x onerror=alert(1)>"
HOSTILE += " \x1b[31m \x00 \ud800 \u202eevil\u202c ]]> &amp; \"'"


def run(
    folder,
    name="reviews_ppo",
    *,
    seed=0,
    updates=6,
    shift=0.0,
    said="a fine film",
    finished=True,
    overrides=(),
    success=None,
):
    """A run's folder; curves are simple functions of the update, the seed and `shift`.

    `success`: the share of episodes, where a task has one.
    """
    whole = recipes.load(name, [f"training.seed={seed}", *overrides])
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(whole.resolve(), sort_keys=False))
    (folder / "machine.json").write_text(
        json.dumps({"run_format": RUN_FORMAT, "device": "cpu", "threads": 1})
    )
    share = {} if success is None else {"success": success, "success_error": 0.05, "ended/left": success}
    rollout = {f"rollout/{key}": value for key, value in share.items()}
    lines = [{**rollout, **line(update, seed, shift)} for update in range(1, updates + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (folder / "timings.jsonl").write_text(
        "".join(json.dumps({"update": one["update"], "collect": 1.5, "learn": 0.5}) + "\n" for one in lines)
    )
    (folder / "episodes").mkdir()
    for update in (3, 6):
        if update <= updates:
            episode.write(
                folder / "episodes" / f"update-{update}.jsonl",
                [game(i, f"{said} after {update}") for i in range(3)],
            )
    if finished:
        share = {} if success is None else {"success": success, "ended/left": success}
        values = {**share, "ended/cut": 0.0, "return": 0.5 + shift + seed / 10, "perplexity": 4.0 + seed}
        values |= {"diversity/distinct-2": 0.3, "diversity/entropy-1": 5.0}
        told = {
            "task": "generation-v1", "split": "test", "n": 3, "values": values,
            "errors": {"return": 0.02, "success": 0.05},
            "higher_is_better": {
                **{key: key == "success" or None for key in share}, "ended/cut": None, "return": True,
                "perplexity": False,
                "diversity/distinct-2": None, "diversity/entropy-1": None,
            },
            "rewarded": [],
        }  # fmt: skip
        (folder / "evaluation.json").write_text(json.dumps(manifest.add_seal(told)))
        episode.write(folder / "episodes.jsonl", [game(i, said) for i in range(3)])
    return folder


def line(update, seed, shift):
    """One update's log."""
    rise = 1 - math.exp(-update / 3) + shift + seed / 10
    held_out = (
        {
            "evaluation/ended/cut": 0.0,
            "evaluation/return": rise - 0.1,
            "evaluation/perplexity": 4 + update / 10,
        }
        if update % 3 == 0
        else {}
    )
    return {
        "update": update, "episodes": update * 8, "rollout/ended/cut": 0.0,
        "rollout/tokens": 10.0 + update,
        "rollout/return": rise, "rollout/reward/sentiment": rise, "rollout/weighted/sentiment": rise,
        "rollout/words": 20 + update, "rollout/repetition": 0.05 * update,
        "rollout/distinct_2": 0.6 - 0.02 * update, "kl/reference": 0.02 * update,
        "kl/coefficient": 0.1, "policy/entropy": 3.0, "critic/explained_variance": None, **held_out,
    }  # fmt: skip


def game(number, said):
    """One finished game."""
    turns = (
        Turn(TASK, f"row {number} begins", to="agent"),
        Turn("agent", said, rewards=Record(sentiment=0.25 * number)),
    )
    return Episode("generation-v1", f"r{number}", "test", 1, 0, turns, ended="end")
