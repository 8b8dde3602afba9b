"""The smallest recipe of each learner, and what a run of it gives."""

import math

from loquent.core import registry
from loquent.core.algorithm import BatchAlgorithm, Playing, TurnAlgorithm
from loquent.training import recipes
from loquent.training.run import load_run

MODEL = (
    "model={layers: 1, width: 16, heads: 2, context: 512, vocabulary: 260, tokenizer_texts: 50, dropout: 0.1}"
)
SMALL = (
    "decoding={max_new_tokens: 4}",
    "training={updates: 1, episodes: 6, evaluate_every: 1, evaluate_episodes: 3, final_episodes: 3}",
)
CONSTANT = {
    "sb3/double_dqn": ("algorithm.explore_first=0.1", "algorithm.explore_last=0.1"),
    "sb3/maskable_double_dqn": ("algorithm.explore_first=0.1", "algorithm.explore_last=0.1"),
    "filtered_cloning": ("algorithm.top=0.5",),
}


def recipe_of(learner, recorded, *more):
    """A small recipe of a learner, of one update."""
    algorithm = registry.find("algorithm", learner)
    groups = issubclass(algorithm, BatchAlgorithm) and algorithm.least_answers > 1
    if groups and "data" in algorithm.reads:
        answers = ("model.reference=copy",) * algorithm.scored
    else:
        answers = ("training.answers=2",) * groups
    own = (f"algorithm={{kind: {learner}}}", *answers, *CONSTANT.get(learner, ()), *more)
    if issubclass(algorithm, Playing | TurnAlgorithm):
        return recipes.load("labels_dqn_masked", [*own, *algorithm.smoke, *SMALL[1:]], profile="smoke")
    reads = registry.find("algorithm", learner).reads
    if reads[0] == "data":
        return recipes.load(
            "wordle_clone", ["task={kind: wordle}", MODEL, *SMALL, *own, f"training.data={recorded}"]
        )
    name = "reviews_ppo" if reads[0] == "play" else "reviews_supervised"
    plain = (
        "task.limit=60",
        "metrics={diversity: {}}",
        *(["rewards={lexicon: 1.0}"] * (name == "reviews_ppo")),
    )
    return recipes.load(name, [MODEL, *SMALL, *plain, *own], profile="smoke")


def results(folder):
    run = load_run(folder)
    return run.fingerprint, run.metrics, run.evaluation["values"], run.files.episodes.read_bytes()


def gains(before, error, after, other):
    """Whether one mean is above another by more than three standard errors of their difference."""
    return after - before > 3 * math.hypot(error, other)
