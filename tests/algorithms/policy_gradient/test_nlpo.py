"""NLPO: N1 and N3 to N9 of the specification (N2, the nucleus rule, is tested with the support)."""

import copy
import gc
import math
from dataclasses import fields

import numpy as np
import pytest
import torch
from transformers import GPT2LMHeadModel

from helpers.algorithms.letters import (
    TASK,
    actor,
    episodes,
    mean_share,
    one_update,
    parameters,
    ratio_error,
    same,
    scored,
    through_json,
)
from loquent.algorithms.policy_gradient import nlpo
from loquent.algorithms.policy_gradient.nlpo import NLPO, Config, preset
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.algorithms.policy_gradient.ppo import Config as PPOConfig
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadSetting, UnknownName
from loquent.models.decode.loop import Decoding
from loquent.models.score.one_pass import Scores
from loquent.models.tokens.support import Support, entropy, filter_top_p, restricted_logprob

QUICK = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2, "beta": 0.1}
PROBS = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64)
KEPT = torch.tensor([[True, True, False, False]])
LONG = Decoding(max_new_tokens=6, min_new_tokens=2)


def three_updates(kind, config, seed):
    model = actor(seed)
    algorithm = kind(config, model, key=Key(seed))
    made = [one_update(algorithm, model, number, seed=seed) for number in range(3)]
    return made, parameters(model), algorithm


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "nothing", [{"top_p": 1.0}, {"top_p": 1.0, "top_k": 9}, {"top_p": 0.5, "min_keep": 9}]
)
def test_n1_without_a_mask_it_is_ppo_to_the_bit(seed, nothing):
    theirs, ppo_end, _ = three_updates(PPO, PPOConfig(**QUICK), seed)
    ours, nlpo_end, algorithm = three_updates(NLPO, Config(**QUICK, **nothing), seed)
    for (a, log_a), (b, log_b) in zip(theirs, ours):
        assert all(
            torch.equal(getattr(a, name), getattr(b, name))
            for name in ("tokens", "drawn_logprob", "policy_logprob", "advantage")
        )
        assert log_a == log_b
    assert same(ppo_end, nlpo_end)
    assert algorithm.masking_policy is None


@pytest.mark.parametrize("seed", [0, 1])
def test_n1_with_a_mask_it_is_not(seed):
    theirs, ppo_end, _ = three_updates(PPO, PPOConfig(**QUICK), seed)
    ours, nlpo_end, _ = three_updates(NLPO, Config(**QUICK, top_p=0.999), seed)
    assert not same(ppo_end, nlpo_end)
    assert theirs[-1][1]["policy/loss"] != ours[-1][1]["policy/loss"]


def test_n3_renormalised_over_what_is_kept():
    logprob = restricted_logprob(PROBS.log(), KEPT)
    # log(.5 / .8) and log(.3 / .8); H = -(5/8 log 5/8 + 3/8 log 3/8)
    assert logprob[0, :2].tolist() == pytest.approx([-0.4700036, -0.9808293], abs=1e-7)
    assert logprob[0, 2:].tolist() == [-math.inf, -math.inf]
    assert float(logprob.exp().sum()) == pytest.approx(1.0)
    assert float(entropy(logprob)) == pytest.approx(0.6615633, abs=1e-7)
    raw = restricted_logprob(PROBS.log(), None)
    assert float(raw[0, 0]) == pytest.approx(-0.6931472, abs=1e-7)
    assert float(raw[0, 0]) != pytest.approx(-0.4700036, abs=1e-2)


def test_n3_the_released_codes_entropy():
    restricted, raw = restricted_logprob(PROBS.log(), KEPT), restricted_logprob(PROBS.log(), None)
    model = actor()
    for drawn in (0, 1):  # - sum over kept of (π/Z) log π = H - log Z, whichever token was drawn
        scores = Scores(drawn=restricted[:, drawn], policy=raw[:, drawn], entropy=entropy(restricted))
        assert float(NLPO(Config(entropy="raw"), model).entropy(scores)) == pytest.approx(0.8847068, abs=1e-7)
        assert float(NLPO(Config(), model).entropy(scores)) == pytest.approx(0.6615633, abs=1e-7)


def test_n4_the_gradient_is_that_of_a_softmax_over_the_kept_set():
    logits = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    kept = torch.tensor([[True, False, True, True, False, False]] * 3)
    restricted_logprob(logits, kept)[:, 2].sum().backward()
    small = logits.detach()[:, kept[0]].requires_grad_()
    small.log_softmax(-1)[:, 1].sum().backward()
    assert torch.allclose(logits.grad[:, kept[0]], small.grad, atol=1e-12)
    assert not logits.grad[:, ~kept[0]].any()  # exactly
    whole = logits.detach().requires_grad_()
    whole.log_softmax(-1)[:, 2].sum().backward()
    assert whole.grad[:, ~kept[0]].any()  # as it would be without the mask


def test_n5_the_masking_policy_follows_every_mu_updates():
    model = actor()
    algorithm = NLPO(Config(**QUICK, top_p=0.8, mu=3), model)
    held = algorithm.masking_policy  # the object a generation under way would hold
    assert same(parameters(held), parameters(model.policy))  # π_ψ0 is π_θ0
    ages = []
    for number in range(1, 8):
        _, logs = one_update(algorithm, model, number)
        assert same(parameters(held), parameters(model.policy)) == (number % 3 == 0)
        ages.append(logs["nlpo/age"])
    assert ages == [1, 2, 0, 1, 2, 0, 1]
    assert algorithm.masking_policy is held
    assert not any(p.requires_grad for p in held.parameters())
    assert not any(name.startswith("mask") for name in algorithm.parameters)


def test_n5_generation_uses_the_synchronised_object():
    model = actor(decoding=LONG)
    algorithm = NLPO(Config(**QUICK, top_p=0.6, mu=2), model)
    agent = algorithm.agent(model, False)
    before = supports(agent)
    with torch.no_grad():
        model.policy.transformer.wte.weight.copy_(model.policy.transformer.wte.weight.flip(0))
    assert set(supports(agent).items()) & set(before.items())  # the same histories still have the same sets
    assert all(before[history] == kept for history, kept in supports(agent).items() if history in before)
    algorithm.updates = 2
    algorithm.after_update(model)
    changed = supports(agent)
    assert any(before[history] != kept for history, kept in changed.items() if history in before)


def supports(agent):
    """What an agent may say after each history: (prompt, ids so far) -> the kept ids."""
    found = {}
    for episode in episodes(agent):
        for turn in episode.answers():
            kept = turn.tokens.support.dense_mask()
            ids = turn.tokens.ids.tolist()
            found |= {
                (episode.turns[0].text, *ids[:i]): tuple(np.flatnonzero(kept[i]).tolist())
                for i in range(len(ids))
            }
    return found


def test_n5_the_number_of_language_models_is_constant():
    model = actor()
    algorithm = NLPO(Config(**{**QUICK, "epochs": 1}, top_p=0.8, mu=1), model)
    assert algorithm.masking_policy is None  # with mu = 1 the masking policy is the policy: no copy at all
    algorithm = NLPO(Config(**{**QUICK, "epochs": 1}, top_p=0.8, mu=2), model)

    def alive():
        gc.collect()
        return sum(type(thing) is GPT2LMHeadModel for thing in gc.get_objects())

    before = alive()
    for number in range(20):  # ten synchronisations
        one_update(algorithm, model, number, count=4)
    assert alive() == before
    held = nlpo.frozen_copy(model.policy)
    assert alive() == before + 1  # a leaked copy would be counted
    del held


def test_mu_one_is_a_copy_synchronised_after_every_update():
    runs = []
    for copied in (False, True):
        model = actor()
        algorithm = NLPO(Config(**QUICK, top_p=0.8, mu=1), model)
        if copied:
            algorithm.masking_policy = nlpo.frozen_copy(model.policy)
        for number in range(3):
            one_update(algorithm, model, number)
        runs.append(parameters(model))
    assert all(torch.allclose(runs[0][name], runs[1][name], atol=1e-6) for name in runs[0])


@pytest.mark.parametrize("mask", [{"top_p": 0.7}, {"top_p": 1.0, "top_k": 3}, {"top_p": 0.7, "min_keep": 4}])
def test_n6_the_mask_that_was_drawn_with_is_stored_and_replayed(mask):
    model = actor()
    algorithm = NLPO(Config(**QUICK, **mask, mu=2), model)
    for number in range(2):  # after the second collection the masking policy is not the policy
        batch = algorithm.prepare(scored(algorithm, model, 24, number))
        chosen = batch.is_action
        kept = batch.support.dense_mask()
        assert kept.gather(1, batch.tokens[chosen][:, None]).all()
        with torch.no_grad():
            logits = algorithm.masking_policy(batch.tokens, attention_mask=batch.real.long()).logits[:, :-1][
                chosen[:, 1:]
            ]
        rank = logits.argsort(dim=1, descending=True).argsort(dim=1)
        expected = filter_top_p(logits, mask["top_p"], mask.get("min_keep", 1)) & (
            rank < mask.get("top_k", 9)
        )
        expected[:, 0] = True  # the end token is never masked
        assert torch.equal(kept, expected)
        assert not kept.all()
        assert ratio_error(algorithm, model, batch) < 1e-4
        algorithm.update(model, batch)
        algorithm.after_update(model)
    assert ratio_error(algorithm, model, batch) > 1e-3


def test_n6_raw_ratio_is_one_too_and_another_objective():
    model = actor()
    masked, raw = (NLPO(Config(**QUICK, top_p=0.7, ratio=ratio), model) for ratio in ("support", "raw"))
    batch = masked.prepare(scored(masked, model, 24))
    assert ratio_error(raw, model, batch) < 1e-6
    grads = []
    for algorithm in (masked, raw):
        model.zero_grad()
        algorithm.loss(model, batch)["total"].mean().backward()
        grads.append(model.policy.transformer.wte.weight.grad.clone())
    assert float((grads[0] - grads[1]).abs().max()) > 1e-4
    old = raw.logprobs(Scores(batch.drawn_logprob, batch.policy_logprob, batch.value), batch)
    assert torch.equal(old[1], batch.policy_logprob[batch.is_action])


def test_n7_the_end_is_never_masked_unless_the_answer_is_too_short():
    model = actor(decoding=LONG)
    with torch.no_grad():
        # tied: the end token is unlikely, and outside every small nucleus
        model.policy.lm_head.weight[0] = 0.0
    algorithm = NLPO(Config(**QUICK, top_p=0.3), model)
    seen = {True: 0, False: 0}
    for history, kept in supports(algorithm.agent(model, False)).items():
        early = len(history) - 1 < 2
        assert (0 in kept) == (not early)
        seen[early] += 1
    assert min(seen.values()) > 10


def test_n7_without_special_tokens_the_mask_is_the_nucleus_alone():
    """arXiv:2210.01241 eq. 6: the end may be masked too."""
    model = actor(decoding=LONG)
    with torch.no_grad():
        model.policy.lm_head.weight[0] = 0.0
    algorithm = NLPO(Config(**QUICK, top_p=0.3, keep_special=False), model)
    assert algorithm.agent(model, False).nucleus.always == ()
    assert not any(0 in kept for kept in supports(algorithm.agent(model, False)).values())


def test_n7_a_formats_end_is_as_special_as_the_tokenizers():
    model = actor()
    model.format = copy.copy(model.format)
    model.format.end = frozenset({0, 4})
    assert NLPO(Config(**QUICK), model).agent(model, False).nucleus.always == (0, 4)


def test_n8_the_mask_in_evaluation_is_a_switch():
    model = actor(evaluation=LONG)
    off, on = (
        NLPO(Config(**QUICK, top_p=0.01, mask_in_evaluation=switch), model) for switch in (False, True)
    )
    plain = PPO(PPOConfig(**QUICK), model)

    def said(agent):
        return [turn.text for episode in episodes(agent, 32) for turn in episode.answers()]

    assert said(off.agent(model, True)) == said(plain.agent(model, True))
    assert said(on.agent(model, True)) != said(plain.agent(model, True))
    sizes = {len(kept) for history, kept in supports(on.agent(model, True)).items() if len(history) - 1 < 2}
    assert sizes == {1}  # the single likeliest letter
    assert {len(kept) for kept in supports(on.agent(model, False)).values()} <= {1, 2}


def test_n9_a_mask_is_stored_in_a_bit_a_word():
    rng = torch.Generator().manual_seed(0)
    parts = []
    for share in (0.001, 0.01, 0.1, 0.5, 0.9):
        parts.append(Support.pack(torch.rand(1024, 32128, generator=rng) < share))
    whole = Support.cat(parts)
    assert len(whole) == 5120
    assert whole.nbytes <= 21e6  # 1,316 MB as float64
    # few words are listed
    assert Support.pack(torch.rand(64, 32128, generator=rng) < 0.001).nbytes < 64 * 32128 / 8 / 10


def test_resumed_with_its_mask_is_the_same_run():
    settings = Config(**QUICK, top_p=0.8, mu=3)
    straight, again = actor(3), actor(3)
    algorithm = NLPO(settings, straight)
    for number in range(2):
        one_update(algorithm, straight, number)
    again.load_state_dict(straight.state_dict())
    resumed, forgetful = NLPO(settings, again), NLPO(settings, again)
    state = through_json(algorithm.state_dict())
    resumed.load_state_dict(state)
    assert same(parameters(resumed.masking_policy), parameters(algorithm.masking_policy))
    assert not same(parameters(forgetful.masking_policy), parameters(algorithm.masking_policy))
    logs = [one_update(a, m, 2)[1] for a, m in ((algorithm, straight), (resumed, again))]
    assert logs[0] == logs[1]
    assert same(parameters(straight), parameters(again))
    with pytest.raises(BadCheckpoint, match="masking policy"):
        resumed.load_state_dict({**state, "masking_policy": {}})


def test_the_presets():
    paper, released = preset("paper"), preset("rl4lms", learning_rate=1e-4)
    assert (paper.keep_special, released.keep_special) == (False, True)
    assert (paper.mu, paper.min_keep, paper.ratio, paper.mask_in_evaluation, paper.kl_gain) == (
        5,
        1,
        "support",
        False,
        0.2,
    )
    assert (
        released.mu,
        released.min_keep,
        released.ratio,
        released.mask_in_evaluation,
        released.entropy,
    ) == (0, 100, "raw", True, "raw")
    assert released.learning_rate == 1e-4
    with pytest.raises(UnknownName, match="rl4lms"):
        preset("rl4lm")


def test_the_released_codes_mask_stays_the_initial_policy():
    model = actor()
    algorithm = NLPO(preset("rl4lms", **QUICK, min_keep=2), model)
    start = parameters(algorithm.masking_policy)
    for number in range(3):
        _, logs = one_update(algorithm, model, number)
    assert same(start, parameters(algorithm.masking_policy))
    assert not same(start, parameters(model.policy))
    assert logs["nlpo/age"] == 3
    small = NLPO(preset("rl4lms"), model)  # 100 kept of 9 words: nothing is masked
    assert small.masking_policy is None


def test_every_logged_key_is_defined():
    model = actor()
    algorithm = NLPO(Config(**QUICK, top_p=0.8), model)
    _, logs = one_update(algorithm, model, 0)
    assert set(logs) == set(nlpo.LOGGED)


def test_settings_are_checked():
    assert all(field.metadata["why"] for field in fields(Config))
    for wrong in ({"top_p": 1.5}, {"mu": -1}, {"min_keep": 0}, {"entropy": "none"}, {"clip": -1.0}):
        with pytest.raises(BadSetting, match=next(iter(wrong))):
            Config(**wrong)


def test_what_cannot_be_measured_or_drawn_is_refused_when_built():
    warm, beam = Decoding(max_new_tokens=6, temperature=0.7), Decoding(max_new_tokens=6, method="beam")
    with pytest.raises(BadSetting, match=r"entropy = 'raw' with decoding\.temperature = 0\.7"):
        NLPO(Config(entropy="raw"), actor(decoding=warm))
    assert NLPO(Config(), actor(decoding=warm)).masks
    assert NLPO(Config(entropy="raw"), actor(evaluation=warm)).masks
    with pytest.raises(BadSetting, match=r"mask_in_evaluation with evaluation\.method = 'beam'"):
        NLPO(Config(mask_in_evaluation=True), actor(evaluation=beam))
    assert NLPO(Config(), actor(evaluation=beam)).masks
    assert not NLPO(Config(mask_in_evaluation=True, top_p=1.0), actor(evaluation=beam)).masks


def test_it_learns_a_letter():
    model = actor(1, spread=0.05)
    algorithm = NLPO(
        Config(learning_rate=3e-3, minibatch=16, epochs=3, beta=0.0, gamma=1.0, top_p=0.9, mu=2), model
    )
    before, error = mean_share(algorithm.agent(model, True))
    for number in range(12):
        one_update(algorithm, model, number, count=48)
    after, now = mean_share(algorithm.agent(model, True))
    assert after - before > 3 * math.hypot(error, now)
    assert after > 0.5 > before
    assert TASK.spec.id == "letters"
