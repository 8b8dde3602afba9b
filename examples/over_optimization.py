"""Over-optimisation of a learned reward, as in arXiv:2210.10760: a gold reward labels pairs, a proxy learns
from them, PPO learns from the proxy, and the watch for reward hacking looks at the gold reward.

python examples/over_optimization.py out               trains the base model first
python examples/over_optimization.py out runs/base     starts from a run of reviews_base
"""

import json
import sys
from itertools import pairwise
from pathlib import Path

import loquent
from loquent.bench.preferences import over_optimization, training
from loquent.core.metric import Context
from loquent.core.rollout.loop import games, play
from loquent.data.preferences import pairs
from loquent.metrics.judges.reward_models.settings import RewardModelSettings
from loquent.metrics.shared_parts import with_means

PROMPTS, UPDATES, EPISODES, EVALUATED = 400, 40, 128, 512
RUNS = {"beta 0": 0.0, "beta 0.05": 0.05}


def gold(text):
    """What the raters want: one or two sentences in the first person, and no pair of words twice."""
    words = text.split()
    couples = list(pairwise(words))
    return min(words.count("i"), 2) - (len(couples) - len(set(couples))) / 2


class Gold:
    """The gold reward as a metric."""

    name, version, higher_is_better, keys = "gold", 1, True, ("gold",)

    def __init__(self, context: Context):
        pass

    def __call__(self, samples):
        return with_means({"gold": [gold(text) for text in samples.predictions]})


def recipe(base, proxy, beta):
    """PPO on the proxy alone; the gold reward is evaluated after each update."""
    return f"""
task: {{kind: generation, source: builtin, prompt_words: 24}}
model: {{path: {base}, critic: network, reference: copy}}
rewards: {{preference_model: {{path: {proxy}}}}}
metrics: {{gold: {{of: "over_optimization:Gold"}}}}
decoding: {{max_new_tokens: 32, live: 128}}
algorithm: {{kind: ppo, learning_rate: 5.0e-5, epochs: 2, minibatch: 32, gamma: 1.0, lam: 1.0, beta: {beta}}}
training: {{updates: {UPDATES}, episodes: {EPISODES}, evaluate_every: 1, evaluate_first: true,
  evaluate_episodes: {EVALUATED}, final_episodes: {EVALUATED}, checkpoint_every: 1000}}
"""


def learned_proxy(out, base):
    """The folder of a reward model that learns from the base model's answers, ranked by the gold reward."""
    run = loquent.load_run(base)
    task = run.task()
    episodes = play(task, games(task.rows("train")[:PROMPTS], each=2), run.agent(), seed=1)
    judged = over_optimization.preferences(zip(episodes[::2], episodes[1::2], strict=True), gold)
    (out / "preferences.jsonl").write_text("".join(json.dumps(line) + "\n" for line in judged))
    settings = RewardModelSettings(path=str(base), epochs=3)
    return training.train(pairs.read([out / "preferences.jsonl"]), settings, out / "proxy").folder


def optimized(out, base, name):
    """The folder of a run of PPO on the proxy."""
    file = out / f"{name.replace(' ', '-')}.yaml"
    file.write_text(recipe(base, out / "proxy", RUNS[name]))
    return loquent.train(file, out / file.stem, allow_imports=True).folder


def main(out, base=None):
    """Write preferences, proxy, runs, the figure and `results.json` to a new folder."""
    out.mkdir(parents=True)
    base = base or loquent.train("reviews_base", out / "base").folder
    proxy = learned_proxy(out, base)
    quality = json.loads((proxy / "card.json").read_text())["quality"]
    show(out, quality, [optimized(out, base, name) for name in RUNS])


def show(out, quality, folders):
    """Print what the watch says of each run, and write the figure and the results."""
    courses = {n: over_optimization.course(f, "gold/gold") for n, f in zip(RUNS, folders, strict=True)}
    found = {n: over_optimization.first_warning(f, "gold/gold") for n, f in zip(RUNS, folders, strict=True)}
    for name, points in courses.items():
        print(f"{name}: {points[0]} to {points[-1]}; the watch: {found[name]}")
    (out / "over_optimization.svg").write_text(over_optimization.figure(courses, found))
    runs = {name: over_optimization.as_json(courses[name], found[name]) for name in RUNS}
    (out / "results.json").write_text(json.dumps({"proxy": quality, "runs": runs}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
