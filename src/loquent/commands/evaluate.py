"""`loquent evaluate`: a run on its own task and metrics, or any agent on any task."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

from loquent import named
from loquent.commands.printed import scores
from loquent.errors import BadSetting


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Play held-out rows, print the scores and return them."""
    played = {"split": arguments.split, "episodes": arguments.episodes, "seed": arguments.seed}
    if arguments.task is None:
        if arguments.option:
            raise BadSetting(f"--option {arguments.option[0]} needs --task; a run is evaluated on the task it was trained on")
        from loquent.checkpoint import policy_folder
        from loquent.run import load_run  # a run needs torch, a script playing a task does not

        named.search_here()  # rewards may be functions of one's own
        one = load_run(arguments.who)
        finished = (one.folder / "evaluation.json").is_file()
        print(f"with {policy_folder(one.folder).parent}" + ("" if finished else "; the run has not come to its end"))
        found = one.evaluate(**played)
    else:
        from loquent.evaluate import evaluate_agent

        mine, agents = named.split(arguments.option)
        task = named.task(arguments.task, mine)
        found = evaluate_agent(task, named.agent(arguments.who, task, agents), **played)
    result = found.as_json()
    result["values"] = {name: None if math.isnan(value) else value for name, value in found.values.items()}
    scores(result)
    return 0, {"who": arguments.who, **result}
