"""Rewards of long answers of encoder-decoders: per sentence with GAE, and of a potential."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.models.tokenizers_for_tests import byte_level, sentence_piece
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.metrics.function import FunctionMetric
from loquent.models.actor import Actor
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import token_batch
from loquent.models.tokens.rewards import ends_by, learner_rewards
from loquent.pretrained import build
from loquent.rewards import Counting, Learner, Term

MODELS = {"t5": sentence_piece, "bart": byte_level}
SENTENCES = ["a b.", " c d a!", " b", " a a c.", " d"]  # the third has no end: it joins the fourth
TEXT = "".join(SENTENCES * 4)


def count(samples):
    """How often the letter a stands in a text."""
    return [float(text.count("a")) for text in samples.predictions]


def actor_of(shape):
    sizes = {"layers": 1, "width": 16, "heads": 2, "context": 256}
    language = build(MODELS[shape](), shape=shape, **sizes, key=Key(0), device="cpu")
    return Actor.build(language, key=Key(1))


def scored(actor, counting, gamma):
    ids = np.array(actor.format.answer(TEXT))
    nothing = np.zeros(len(ids))
    turns = Turn("task", "d c", to="agent"), Turn("agent", TEXT, tokens=Tokens(ids, nothing, nothing))
    terms = [Term("x", FunctionMetric(count), "", counting)]
    learner = Learner(terms, gamma=gamma, discount="token", ends=ends_by(actor.format))
    episode = Episode("toy-v1", "r", "train", 0, 0, turns, "end")
    episodes = learner_rewards(terms, [episode], {"r": Row("r")}, learner, actor.format)
    batch = token_batch(episodes, actor.format, Record(x=1.0), max_length=actor.context)
    assert actor.format.text(ids.tolist()) == TEXT
    assert len(ids) > 30
    return ids.tolist(), score(actor, batch)


@pytest.mark.parametrize("shape", MODELS)
def test_the_reward_of_each_sentence_stands_on_its_last_token_and_gae_carries_it_back(shape):
    actor, gamma, lam = actor_of(shape), 0.5, 0.25
    ids, batch = scored(actor, Counting(place="sentence"), gamma)
    reward = batch.reward[0][batch.is_action[0]]
    assert float(reward.sum()) == TEXT.count("a")
    ends = [n for n, gain in enumerate(reward.tolist()) if gain]
    read = [actor.format.text(ids[: n + 1]) for n in ends]
    # of five sentences in a round, three end with a stop and hold the letter; the last round ends the text
    wanted = [TEXT[: n + 1] for n, character in enumerate(TEXT) if character in ".!"]
    assert read == wanted
    assert reward[ends].tolist() == [1.0, 1.0, 2.0] * 4
    config = PPO.Config(gamma=gamma, lam=lam, beta=0.0, normalize_advantages=False, epochs=1)
    # the answer counts as drawn from the policy itself, so the ratio is 1
    prepared = PPO(config, actor).prepare(replace(batch, drawn_logprob=batch.policy_logprob))
    value = batch.value[0][batch.is_action[0]].tolist()
    advantage, following, by_hand = 0.0, 0.0, []
    for r, v in zip(reversed(reward.tolist()), reversed(value), strict=True):
        advantage = r + gamma * following - v + gamma * lam * advantage
        following = v
        by_hand.append(advantage)
    ours, by_hand = prepared.advantage[0][batch.is_action[0]], torch.tensor(by_hand[::-1])
    torch.testing.assert_close(ours, by_hand, rtol=0, atol=1e-5)
    before = {name: weight.detach().clone() for name, weight in actor.named_parameters()}
    logs = PPO(config, actor).update(actor, prepared)
    assert logs["policy/ratio_error"] < 1e-5
    assert logs["policy/loss"] == pytest.approx(-float(by_hand.mean()), rel=1e-4)
    assert logs["critic/loss"] == pytest.approx(float(by_hand.square().mean()), rel=1e-4)
    assert not all(
        torch.equal(before[name], weight) for name, weight in actor.policy.named_parameters(prefix="policy")
    )


@pytest.mark.parametrize("place", ["sentence", "token"])
@pytest.mark.parametrize("shape", MODELS)
def test_the_discounted_rewards_of_a_potential_telescope(shape, place):
    gamma = 0.9
    _, batch = scored(actor_of(shape), Counting(potential=True, place=place), gamma)
    reward = batch.reward[0][batch.is_action[0]]
    assert int((reward != 0).sum()) > 12
    total = sum(gamma**t * float(r) for t, r in enumerate(reward))
    # the potential of the prompt alone is 0, and 0 after the end by a rule
    assert total == pytest.approx(0.0, abs=1e-4)
