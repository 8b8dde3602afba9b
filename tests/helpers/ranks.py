"""What learners do in the first updates of a run, to compare one process with several."""

import json

from safetensors.torch import save_file

from helpers.training import small_runs

SETTINGS = (
    "algorithm.optimizer=sgd",  # Adam's division makes much of rounding
    "algorithm.learning_rate=0.1",
    "training.updates=3",
)
TEXTS = ("model.dropout=0",)  # each process has masks of its own
REWARDS = ("rewards={length: {weight: 1.0, high: 0}}",)  # which differ by answer
GAMES = (*TEXTS, "task={kind: wordle, limit: 20, instruct: false}")  # as `trained.wordle_games`
CASES = {
    "supervised": TEXTS,
    "cloning": GAMES,
    "filtered_cloning": GAMES,
    "decision_transformer": GAMES,
    "ilql": GAMES,
    "ilql_utterance": GAMES,
    "cql": GAMES,
    "psi": GAMES,
    "monte_carlo": GAMES,
    "chai": (*GAMES, "algorithm.candidates=2"),
    "dpo": GAMES,
    "kto": GAMES,
    "orpo": GAMES,
    "ppo": (*TEXTS, *REWARDS, "algorithm.epochs=2", "algorithm.minibatch=3"),
    "nlpo": (
        *TEXTS,
        *REWARDS,
        "algorithm.epochs=2",
        "algorithm.minibatch=3",
        "algorithm.top_p=0.6",
        "algorithm.mu=2",
    ),
    "a2c": (*TEXTS, *REWARDS),
    "trpo": (*TEXTS, *REWARDS, "algorithm.conjugate_steps=2", "algorithm.critic_epochs=1"),
    "grpo": (*TEXTS, *REWARDS, "algorithm.minibatch=4"),
    "rloo": (*TEXTS, *REWARDS),
    "online_dpo": (*TEXTS, *REWARDS),
    "reinforced_self_training": (*TEXTS, *REWARDS),
    "turn_ppo": ("algorithm.epochs=2",),
    "turn_dqn": (),
    "turn_cloning": (),
}


def learn(folder, rank, names, recorded):
    """The first three updates of some learners; what each had is in files of its own."""
    for name in names:
        known, tensors = of(name, recorded)
        (folder / f"{name}-{rank}.json").write_text(json.dumps(known))
        save_file(tensors, folder / f"{name}-{rank}.safetensors")


def of(learner, recorded):
    """Rows and texts of the first update, its first gradient, and the parameters after three updates."""
    from loquent.pretrained.learning import gradient_step
    from loquent.training.trainer import Trainer

    trainer = Trainer(small_runs.recipe_of(learner, recorded, *SETTINGS, *CASES[learner]))
    experience, clip = trainer.experience, gradient_step.clip_gradients
    rows, texts, gradients, before = [], [], [], copies(trainer)
    draw = experience.sampler.draw
    experience.sampler.draw = lambda count: [rows.append(row.id) or row for row in draw(count)]
    if hasattr(experience, "add_rewards"):
        add = experience.add_rewards
        experience.add_rewards = lambda episodes: texts.append(written(episodes)) or add(episodes)

    def recorded_clip(parameters, limit):
        if not gradients:
            gradients.append({n: p.grad.clone() for n, p in parameters.items() if p.grad is not None})
        return clip(parameters, limit)

    gradient_step.clip_gradients = recorded_clip
    try:
        logs = [trainer.update() for _ in range(3)]
    finally:
        gradient_step.clip_gradients = clip
    parts = {"before": before, "after": copies(trainer), "gradient": gradients[0]}
    tensors = {f"{part} {name}": x.contiguous() for part, own in parts.items() for name, x in own.items()}
    return {"rows": rows, "texts": texts[:1], "logs": logs}, tensors


def copies(trainer):
    return {name: tensor.clone() for name, tensor in trainer.actor.state_dict().items()}


def written(episodes):
    return [[one.row, one.number, one.ended, *(turn.text for turn in one.turns)] for one in episodes]


def difference(ours, theirs, prefix):
    """The norm of the difference of all tensors under a prefix, as a share of their norm."""
    names = sorted(name for name in theirs if name.startswith(prefix))
    assert names
    assert names == sorted(name for name in ours if name.startswith(prefix))
    apart = sum(float((ours[name].double() - theirs[name].double()).square().sum()) for name in names)
    whole = sum(float(theirs[name].double().square().sum()) for name in names)
    return (apart / whole) ** 0.5


def movement(tensors):
    """How far learning moved the parameters, as a share of their norm."""
    before = {name.replace("before", "after"): x for name, x in tensors.items() if name.startswith("before ")}
    return difference(before, tensors, "after ")
