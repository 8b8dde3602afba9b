"""PPO over the actions of turns: losses by hand, gradients, entropy, and what it does on tracer tasks."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from loquent.agents.turns import StopForcing, TurnAgent
from loquent.algorithms.policy_gradient.turn_ppo import Config, TurnPPO, advantages, by_episode
from loquent.core import episode
from loquent.core.actions import Texts, bitset
from loquent.core.algorithm import step_size
from loquent.core.options import dump
from loquent.core.rollout.loop import games, play, replay
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.models.tokens.turns import turn_batch
from loquent.models.turns.turn_scores import Legality, ScoredTurns, distribution, score
from loquent.pretrained.learning.turn_network import TurnNetwork
from loquent.training import recipes
from loquent.training.experience import summary as rollout_summary
from loquent.training.trainer import Trainer

FEATURES = {"kind": "hashed", "dimension": 16}


class Climb(Task):
    """Reach the third step, then stop. Left is illegal at the bottom; five turns at most."""

    spec = TaskSpec(
        id="climb",
        rewards=Record(goal=1.0),
        invalid=("illegal",),
        turn_limit=5,
        success=("reached",),
        return_range=(0.0, 1.0),
    )
    actions = Texts(("stop", "left", "right"))
    views = {"objects": f"{__name__}:objects", "image": f"{__name__}:image"}

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(start=i % 2)) for i in range(4))

    def first(self, row, rng):
        return Opening(row["start"], self.seen(row["start"]))

    def seen(self, place):
        legal = bitset([0, 2] if place == 0 else [0, 1, 2], 3)
        return Observation(f"step {place}", Record(place=place, up=place > 1), legal)

    def read(self, state, text):
        i = self.actions.index(text)
        return i if i in (0, 1, 2) and not (state == 0 and i == 1) else Invalid("illegal", text)

    def play(self, state, move):
        if isinstance(move, Invalid):
            return Outcome(state, self.seen(state), Record(), "illegal")
        if move == 0:
            return Outcome(
                state, self.seen(state), Record(goal=float(state == 3)), "reached" if state == 3 else "missed"
            )
        place = min(3, state + (1 if move == 2 else -1))
        return Outcome(place, self.seen(place))


class Goal(Climb):
    """The same task, which says when to stop."""

    def finishing(self, state):
        return "stop" if state == 3 else None


def objects(task):
    from gymnasium import spaces

    space = spaces.Box(np.zeros((4, 3), np.int16), np.tile(np.int16([1, 3, 200]), (4, 1)))
    return space, lambda seen: np.int16(
        [[1, i, 50 * i] for i in range(seen.fields["place"])] + [[0, 0, 0]] * (4 - seen.fields["place"])
    )


def image(task):
    from gymnasium import spaces

    def see(seen):
        picture = np.zeros((50, 60, 3), np.uint8)
        picture[:, : 15 * seen.fields["place"]] = 255
        return picture

    return spaces.Box(0, 255, (50, 60, 3), np.uint8), see


class Logits(TurnNetwork):
    """A model with given logits and values, in place of a network."""

    def __init__(self, logits, value):
        self.logits, self.value = logits, value

    def distribution(self, features, legality):
        return distribution((self.logits,), legality, None), self.value


def scored(**columns):
    n = len(columns["choice"])
    defaults = {
        "features": {},
        "reward": torch.zeros(n),
        "ended": torch.ones(n, dtype=torch.bool),
        "episode": torch.arange(n),
        "legality": Legality(torch.ones((n, 2), dtype=torch.bool)),
        "logprob": torch.full((n,), 0.5).log(),
        "value": torch.zeros(n),
        "bootstrap": torch.zeros(n),
    }
    return ScoredTurns(**{**defaults, **columns})


def test_the_loss_by_hand():
    # p_new(0) = 3/4 in both turns, p_old = 1/2, so r = 3/2, clipped to 5/4 with ε = 1/4.
    # A = 1: -min(3/2, 5/4) = -5/4. A = -1: -min(-3/2, -5/4) = 3/2.
    # Value 1/2 and 1, targets 0 and 1/2: errors 1/4 and 1/4. H(3/4, 1/4) = ln 4 - (3/4) ln 3.
    logits = torch.tensor([[3.0, 1.0]] * 2, dtype=torch.float64).log()
    batch = scored(
        choice=torch.tensor([0, 0]),
        advantage=torch.tensor([1.0, -1.0]),
        target=torch.tensor([0.0, 0.5]),
        logprob=torch.tensor([0.5, 0.5], dtype=torch.float64).log(),
    )
    config = Config(clip=0.25, value_coefficient=0.5, entropy_coefficient=0.5)
    learner = object.__new__(TurnPPO)
    learner.config = config
    parts = learner.loss(Logits(logits, torch.tensor([0.5, 1.0])), batch)
    entropy = math.log(4) - 0.75 * math.log(3)
    assert parts["policy/loss"].tolist() == pytest.approx([-1.25, 1.5])
    assert parts["policy/ratio"].tolist() == pytest.approx([1.5, 1.5])
    assert parts["policy/clip_fraction"].tolist() == [True, True]
    assert parts["critic/loss"].tolist() == [0.25, 0.25]
    assert parts["policy/entropy"].tolist() == pytest.approx([entropy] * 2)
    assert parts["total"].tolist() == pytest.approx([-1.25 + 0.125 - entropy / 2, 1.5 + 0.125 - entropy / 2])
    # k3 = (r - 1) - ln r
    assert parts["policy/kl_old"].tolist() == pytest.approx([0.5 - math.log(1.5)] * 2)


def test_the_gradient_of_the_loss_is_that_of_finite_differences():
    torch.manual_seed(0)
    n, legal = 6, torch.tensor([[True, True, False, True]] * 3 + [[True] * 4] * 3)
    batch = scored(
        choice=torch.tensor([0, 1, 3, 2, 0, 1]),
        legality=Legality(legal),
        advantage=torch.randn(n, dtype=torch.float64),
        target=torch.randn(n, dtype=torch.float64),
        logprob=torch.full((n,), -1.2, dtype=torch.float64),
        value=torch.zeros(n, dtype=torch.float64),
    )
    learner = object.__new__(TurnPPO)
    learner.config = Config(clip=0.2, entropy_coefficient=0.3, value_clip=0.5)

    def total(logits, value):
        return learner.loss(Logits(logits, value), batch)["total"].mean()

    logits = torch.randn(n, 4, dtype=torch.float64, requires_grad=True)
    value = torch.randn(n, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(total, (logits, value))
    total(logits, value).backward()
    assert (logits.grad[~legal] == 0).all()
    assert (logits.grad[legal] != 0).all()


def test_advantages_by_hand():
    # Episode 0: r = (0, 1), V = (1/2, 1/2), ended by a rule; γ = 1, λ = 1/2.
    #   δ_1 = 1 - 1/2 = 1/2 = A_1; δ_0 = 0 + 1/2 - 1/2 = 0, A_0 = 0 + 1/2 * 1/2 = 1/4.
    # Episode 1: r = (1), V = (1/4), not ended, V(s_1) = 1/2: A = 1 + 1/2 - 1/4 = 5/4.
    batch = scored(
        choice=torch.tensor([0, 0, 0]),
        reward=torch.tensor([0.0, 1.0, 1.0]),
        value=torch.tensor([0.5, 0.5, 0.25]),
        episode=torch.tensor([0, 0, 1]),
        ended=torch.tensor([False, True, False]),
        bootstrap=torch.tensor([0.0, 0.0, 0.5]),
    )
    advantage, target = advantages(batch, 1.0, 0.5)
    assert advantage.tolist() == [0.25, 0.5, 1.25]
    assert target.tolist() == [0.75, 1.0, 1.5]
    ended = replace(batch, ended=torch.tensor([False, True, True]), bootstrap=torch.zeros(3))
    assert advantages(ended, 1.0, 0.5)[0].tolist() == [0.25, 0.5, 0.75]


def test_turns_are_laid_out_by_episode():
    at, real = by_episode(torch.tensor([3, 3, 3, 5, 8, 8]))
    assert at.tolist() == [[0, 1, 2], [3, 0, 0], [4, 5, 0]]
    assert real.tolist() == [[True] * 3, [True, False, False], [True, True, False]]


def test_learning_rates_by_hand():
    config = Config(learning_rate=1.0, schedule="linear", total_steps=6, warmup=2)
    assert [step_size(i, config) for i in range(8)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    cosine = Config(learning_rate=1.0, schedule="cosine", total_steps=2)
    assert [step_size(i, cosine) for i in range(3)] == pytest.approx([1.0, 0.5, 0.0])
    with pytest.raises(BadSetting, match="total_steps"):
        Config(schedule="linear")


def recipe(folder, task, *, training=None, **config):
    whole = {
        "task": task,
        "training": {
            "updates": 2,
            "episodes": 8,
            "evaluate_every": 0,
            "final_episodes": 4,
            **(training or {}),
        },
        "algorithm": {"kind": "turn_ppo", "width": 16, "layers": 1, "heads": 2, "minibatch": 64, **config},
    }
    (folder / "recipe.yaml").write_text(dump(whole))
    return recipes.load(folder / "recipe.yaml", (), imports="all")


TASKS = {
    "climb": (f"{__name__}:Climb", {"features": FEATURES}),
    "climb, parts": (f"{__name__}:Climb", {"features": FEATURES, "choose": "parts"}),
    "climb, objects": (f"{__name__}:Climb", {"network": "objects", "numbers": ["up"]}),
    "climb, cnn": (f"{__name__}:Climb", {"network": "cnn", "numbers": ["up"], "critic": "network"}),
    "climb, patches": (f"{__name__}:Climb", {"network": "patches", "text": ["place"]}),
    "climb, frozen sentences": (f"{__name__}:Climb", {"network": "objects", "features": FEATURES}),
    "board": ("helpers.tracers.board:Board", {"features": FEATURES}),
    "labels": ("helpers.tracers.labels:Labels", {"features": FEATURES}),
    "wordle": ("wordle", {"features": FEATURES}),
}


@pytest.mark.parametrize("name", TASKS)
def test_updates_on_many_tasks(name, tmp_path):
    """Legal actions only, a ratio of exactly 1 before the first step, and moving parameters."""
    task, config = TASKS[name]
    trainer = Trainer(recipe(tmp_path, task, **config))
    before = trainer.actor.state_dict()
    batch, _ = trainer.experience.next()
    for turn, (choice, legal) in enumerate(zip(batch.choice.tolist(), batch_legal(trainer, batch))):
        assert trainer.actor.actions.contains(legal, choice), turn
    logs = trainer.algorithm.update(trainer.actor, batch)
    assert logs["policy/ratio_error"] <= 1e-6
    assert logs["gradient/norm"] > 0
    assert logs["policy/entropy"] > 0
    after = trainer.actor.state_dict()
    assert any(not torch.equal(before[part], after[part]) for part in before)
    evaluation = trainer.evaluate("test", 3)
    assert all(not turn.invalid for episode in evaluation.episodes for turn in episode.turns)


def batch_legal(trainer, batch):
    """The legal values of the turns of a batch, from the episodes played again."""
    trainer.experience.games -= trainer.settings.episodes
    trainer.experience.sampler.place = 0
    trainer.experience.sampler.epoch = 0
    trainer.experience.sampler._order = None
    episodes = trainer.experience.collect()
    turns = turn_batch(episodes, trainer.actor.inputs, trainer.actor.actions, trainer.weights)
    assert turns.choice.tolist() == batch.choice.tolist()
    return turns.legal


def test_without_legality_illegal_actions_are_taken(tmp_path):
    trainer = Trainer(recipe(tmp_path, f"{__name__}:Climb", features=FEATURES, legal=False))
    endings = {episode.ended for _ in range(4) for episode in trainer.experience.collect()}
    assert "illegal" in endings
    legal = Trainer(recipe(tmp_path, f"{__name__}:Climb", features=FEATURES))
    assert "illegal" not in {episode.ended for _ in range(4) for episode in legal.experience.collect()}


@pytest.mark.sweep("vector")
@pytest.mark.parametrize("network", ["vector", "objects"])
def test_it_learns(tmp_path, network):
    more = {"features": FEATURES, "learning_rate": 0.01} if network == "vector" else {"network": network}
    settings = {"updates": 40, "episodes": 32}
    trainer = Trainer(
        recipe(tmp_path, f"{__name__}:Climb", training=settings, **{"learning_rate": 0.003, **more})
    )
    first = trainer.update()["rollout/success"]
    for _ in range(39):
        trainer.update()
    assert first < 0.5
    assert trainer.evaluate("test", 4).values["success"] == 1


def test_the_entropy_bonus_has_a_gradient(tmp_path):
    """Without advantages and value loss only the bonus moves the policy, towards equal probabilities."""

    def entropy_after(coefficient):
        made = recipe(
            tmp_path,
            f"{__name__}:Climb",
            features=FEATURES,
            entropy_coefficient=coefficient,
            value_coefficient=0.0,
            normalize_advantages="none",
            learning_rate=0.05,
        )
        trainer = Trainer(made)
        with torch.no_grad():
            trainer.actor.policy.policy.bias[0] += 3.0
        batch, _ = trainer.experience.next()
        still = replace(batch, advantage=torch.zeros(len(batch)))
        first = trainer.algorithm.update(trainer.actor, still)["policy/entropy"]
        return first, trainer.algorithm.update(trainer.actor, still)["policy/entropy"]

    first, second = entropy_after(0.1)
    assert second > first + 0.01
    first, second = entropy_after(0.0)
    assert second == first  # the published code: a bonus without a gradient


def test_forced_stops_have_the_log_probability_of_the_policy(tmp_path):
    trainer = Trainer(recipe(tmp_path, f"{__name__}:Goal", features=FEATURES, stop_forcing=True))
    player = trainer.algorithm.agent(trainer.actor, False)
    queue = games(trainer.task.rows("train"), each=40)
    episodes = play(trainer.task, queue, player, seed=0)
    plain = play(trainer.task, queue, player.agent, seed=0)
    at_goal = [
        (turn, answer)
        for each in episodes
        for turn, answer in zip(each.turns, each.turns[1:])
        if turn.observation is not None and turn.observation.fields["place"] == 3
    ]
    assert at_goal
    asked = [answer for _, answer in at_goal if answer.seat == "agent"]
    assert {answer.text for answer in asked} == {"stop"}
    assert {answer.stopped for answer in asked} == {"end", "forced"}  # the policy itself stops at times
    assert {turn.stopped for each in plain for turn in each.turns} == {"end"}
    logged = rollout_summary.turns(episodes, trainer.weights, trainer.task.spec)
    forced = [any(turn.stopped == "forced" for turn in each.turns) for each in episodes]
    own = [e.ended == "reached" and not own for e, own in zip(episodes, forced, strict=True)]
    assert logged["rollout/forced"] == pytest.approx(np.mean(forced))
    assert logged["rollout/success_unforced"] == pytest.approx(np.mean(own))
    assert logged["rollout/success"] == pytest.approx(np.mean(forced) + np.mean(own))
    assert "rollout/forced" not in rollout_summary.turns(plain, trainer.weights, trainer.task.spec)
    kept = tmp_path / "episodes.jsonl"
    episode.write(kept, episodes)
    assert list(episode.read(kept)) == episodes  # the mark is on disk too
    first = episodes[forced.index(True)]
    row = next(row for row in trainer.task.rows("train") if row.id == first.row)
    assert replay(trainer.task, first, row) == first
    assert sum(e.ended == "reached" for e in episodes) > sum(e.ended == "reached" for e in plain)
    batch = turn_batch(episodes, trainer.actor.inputs, trainer.task.actions, trainer.weights)
    turns = score(trainer.actor, batch)
    last = [i for i in range(len(batch)) if batch.ended[i] and batch.reward[i] > 0]
    assert all(0.1 < math.exp(turns.logprob[i]) < 0.7 for i in last)  # of an untrained policy, not 1
    logs = trainer.algorithm.update(trainer.actor, trainer.algorithm.prepare(turns))
    assert logs["policy/ratio_error"] <= 1e-6


def test_evaluation_never_forces_a_stop(tmp_path):
    trainer = Trainer(recipe(tmp_path, f"{__name__}:Goal", features=FEATURES, stop_forcing=True))
    assert isinstance(trainer.algorithm.agent(trainer.actor, False), StopForcing)
    assert type(trainer.algorithm.agent(trainer.actor, True)) is TurnAgent


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(BadSetting, match="stop forcing needs a task that defines"):
        Trainer(recipe(tmp_path, f"{__name__}:Climb", features=FEATURES, stop_forcing=True))
    with pytest.raises(BadSetting, match="larger set than 100,000 needs choose = 'parts'"):
        Trainer(recipe(tmp_path, "helpers.tracers.board:Board", features=FEATURES, choose="actions"))
    with pytest.raises(BadSetting, match="takes free text"):
        Trainer(recipe(tmp_path, "generation"))
    with pytest.raises(BadSetting, match="its views: objects, image"):
        Trainer(recipe(tmp_path, f"{__name__}:Climb", network="objects", view="picture"))
    with pytest.raises(BadSetting, match=r"needs one image \[H, W, 3\]"):
        Trainer(recipe(tmp_path, f"{__name__}:Climb", network="cnn", view="objects"))
    with pytest.raises(BadSetting, match="no field 'sentence'; its fields: place, up"):
        Trainer(recipe(tmp_path, f"{__name__}:Climb", network="objects", text=["sentence"]))
    trainer = Trainer(recipe(tmp_path, f"{__name__}:Climb", features=FEATURES))
    other = Trainer(recipe(tmp_path, f"{__name__}:Climb", network="objects"))
    with pytest.raises(BadCheckpoint, match="of the saved network was"):
        other.algorithm.load_state_dict(trainer.algorithm.state_dict())
    episode = play(trainer.task, games(trainer.task.rows("train")[:1]), Jump(), seed=0)
    batch = turn_batch(episode, trainer.actor.inputs, trainer.task.actions, trainer.weights)
    with pytest.raises(LoquentError, match="1 of 1 answers are not actions"):
        score(trainer.actor, batch)


class Jump:
    name = "jump"

    def answer(self, questions):
        from loquent.core.agent import Answer

        return [Answer("jump")] * len(questions)


def test_a_hidden_sentence_is_not_read(tmp_path):
    """Two tasks that differ in their sentences alone look the same to a blind network."""
    seen, blind = (
        Trainer(recipe(tmp_path, f"{__name__}:Climb", network="objects", blind=hidden)).actor.inputs
        for hidden in (False, True)
    )
    here, there = (
        Observation(text, Record(place=1, up=False), bitset([0], 3)) for text in ("step 1", "step 3")
    )
    assert not np.array_equal(seen(here)["words"], seen(there)["words"])
    assert np.array_equal(blind(here)["words"], blind(there)["words"])


def test_the_order_of_rows_does_not_matter(tmp_path):
    actor = Trainer(recipe(tmp_path, f"{__name__}:Climb", network="objects")).actor
    with torch.no_grad():
        for parameter in actor.policy.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    arrays = actor.inputs(actor.task.seen(3))
    features = {name: torch.tensor(array)[None] for name, array in arrays.items()}
    turned = {**features, "rows": features["rows"][:, [2, 3, 0, 1]]}
    other = {**features, "rows": features["rows"] + torch.tensor([0, 0, 10])}
    with torch.no_grad():
        first, same, changed = (actor.policy(each)[0][0] for each in (features, turned, other))
    assert torch.allclose(first, same, atol=1e-6)
    assert not torch.allclose(first, changed, atol=1e-4)


def test_draws_follow_the_policy(tmp_path):
    actor = Trainer(recipe(tmp_path, f"{__name__}:Climb", features=FEATURES)).actor
    with torch.no_grad():
        actor.policy.policy.bias.copy_(torch.tensor([0.0, math.log(2.0), math.log(5.0)]))
        actor.policy.policy.weight.zero_()
    uniform = Key(0).generator().random((4000, 1))
    for place, shares in ((0, [1 / 6, 0, 5 / 6]), (1, [1 / 8, 2 / 8, 5 / 8])):
        drawn = actor.choose([actor.task.seen(place)] * 4000, uniform)
        assert np.bincount(drawn, minlength=3) / 4000 == pytest.approx(shares, abs=0.02)
        assert set(actor.choose([actor.task.seen(place)], None)) == {2}
