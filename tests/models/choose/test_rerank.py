"""Best of n: a score of whole utterances chooses; what stands behind an answer's end counts for nothing."""

import math

import numpy as np
import pytest

import loquent
from helpers.models.small_models import END, drawn, gpt2, llama, prompts_of
from helpers.models.small_values import ids_of, plainly, values_of
from loquent.agents.language_model import LanguageModelAgent
from loquent.core.agent import Question
from loquent.core.episode import TASK, Turn
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadModel, BadSetting
from loquent.models.choose.best_of import AdvantageScore, BestOf, log_probability
from loquent.models.decode.loop import Decoding
from loquent.models.engine import Drawn
from loquent.models.format.names import Plain
from loquent.models.values.perturb import Perturbation
from loquent.training.evaluate import evaluate_agent


def advantage_by_hand(module, values, prompt, said):
    """The sum of T - V over an answer's tokens, each state read on its own."""
    total = 0.0
    for i, token in enumerate(said):
        _, q, v = plainly(module, values, [*prompt, *said[:i]])
        total += float(q[token] - v)
    return total


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora"])
@pytest.mark.parametrize("make", [gpt2, llama])
def test_the_advantage_of_an_answer_by_hand(make, backbones):
    module, prompts = make(), prompts_of(10)
    values = values_of(module, backbones, value_min=-2.0, value_max=2.0)
    answers = drawn(
        module, prompts, {}, {"end": (END, 5, 17)}, perturbation=Perturbation(values, adv_beta=0.5)
    )
    # finished rows have other lengths, and their padding counts for nothing
    assert len({len(answer.tokens.ids) for answer in answers}) > 2
    score = AdvantageScore(module, values, END, advantage_weight=2.0, logprob_weight=0.5)
    wanted = [
        2.0 * advantage_by_hand(module, values, prompt, said) + 0.5 * float(answer.tokens.drawn_logprob.sum())
        for prompt, said, answer in zip(prompts, ids_of(answers), answers, strict=True)
    ]
    assert np.abs(np.array(score(prompts, answers)) - wanted).max() < 1e-6
    alone = [score([prompt], [answer])[0] for prompt, answer in zip(prompts, answers, strict=True)]
    assert np.abs(np.array(alone) - wanted).max() < 1e-6
    small = AdvantageScore(module, values, END, 2.0, 0.5, token_budget=20)
    assert np.abs(np.array(small(prompts, answers)) - wanted).max() < 1e-6
    assert np.abs(np.array(AdvantageScore(module, values, END, 2.0)(prompts, answers)) - wanted).max() > 0.1
    only = AdvantageScore(module, values, END, advantage_weight=0.0, logprob_weight=1.0)
    assert only(prompts, answers) == log_probability(prompts, answers)


def test_the_best_is_taken_and_of_equal_ones_the_first():
    prompts = prompts_of(3)
    answers = drawn(gpt2(), prompts * 4, {})
    candidates = [answers[i::3] for i in range(3)]
    seen = []

    def longest(given, some):
        seen.append((given, some))
        return [len(one.tokens.ids) for one in some]

    best = BestOf(4, longest).choose(prompts, candidates)
    assert [len(one.tokens.ids) for one in best] == [
        max(len(one.tokens.ids) for one in some) for some in candidates
    ]
    assert len(seen) == 1  # all are scored in one call
    assert [list(prompt) for prompt in seen[0][0]] == [prompt for prompt in prompts for _ in range(4)]
    assert BestOf(4, lambda given, some: [0.0] * len(some)).choose(prompts, candidates) == [
        some[0] for some in candidates
    ]
    assert BestOf(4, longest).choose([], []) == []
    assert BestOf(1, longest).choose(prompts, [[one] for one in answers[:3]]) == answers[:3]
    assert len(seen) == 1


def test_bad_numbers_and_scores():
    with pytest.raises(BadSetting, match="number = 0"):
        BestOf(0, log_probability)
    answers = drawn(gpt2(), prompts_of(2), {})
    with pytest.raises(BadModel, match="no number"):
        BestOf(2, lambda given, some: [math.nan] * len(some)).choose([[1]], [answers])


def asked(n, seed=0):
    return [
        Question(
            str(i), (Turn(TASK, text := f"game {i}", to="agent"),), Observation(text), Key(seed, ("row", i))
        )
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def player():
    """A function that makes agents on one small model and its values."""
    from helpers.models.tokenizers_for_tests import byte_level

    tokenizer = byte_level()
    module = gpt2("float32", vocabulary=len(tokenizer), context=128)
    values = values_of(module)

    def make(method="sample", **options):
        return LanguageModelAgent(
            module, Plain(tokenizer), Decoding(method=method, max_new_tokens=8), **options
        )

    return make, module, values


def test_an_agent_gives_the_best_of_its_answers(player):
    make, module, values = player
    score = AdvantageScore(module, values, END)
    plain, four = make().answer(asked(6)), make(best_of=BestOf(4, score)).answer(asked(6))
    one = make(best_of=BestOf(1, score)).answer(asked(6))
    assert [answer.text for answer in one] == [answer.text for answer in plain]
    prompts = [make().format.prompt("", question.turns, "agent", 100)[0] for question in asked(6)]
    first, best = (
        np.array(score(prompts, [Drawn(answer.tokens, answer.stopped) for answer in answers]))
        for answers in (plain, four)
    )
    assert (best >= first).all()
    assert (best > first + 1e-3).any()
    again = make(best_of=BestOf(4, score)).answer(asked(6)[:2])  # an answer depends on its own question alone
    assert [answer.text for answer in again] == [answer.text for answer in four[:2]]


def test_perturbed_agents_act_otherwise_and_neutral_ones_do_not(player):
    make, _, values = player
    texts = {
        beta: [
            answer.text for answer in make(perturbation=Perturbation(values, adv_beta=beta)).answer(asked(6))
        ]
        for beta in (0.0, 4.0)
    }
    assert texts[0.0] == [answer.text for answer in make().answer(asked(6))]
    assert texts[4.0] != texts[0.0]
    assert make(perturbation=Perturbation(values)).answer([]) == []


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_several_equal_answers_are_refused(player, method):
    make, _, _ = player
    with pytest.raises(BadSetting, match="all are the same"):
        make(method, best_of=BestOf(2, log_probability))
    make(method, best_of=BestOf(1, log_probability))


# ---- what evaluation says of agents that depart from their policy


def test_evaluation_reports_divergence_and_entropy(player):
    make, _, values = player
    task = loquent.task("generation", prompt_words=3, text_words=12)
    found = evaluate_agent(task, make(perturbation=Perturbation(values, adv_beta=2.0)), episodes=4)
    tokens = [[turn.tokens for turn in episode.answers()] for episode in found.episodes]
    apart = [sum(float((one.drawn_logprob - one.policy_logprob).sum()) for one in some) for some in tokens]
    assert found.values["kl"] == pytest.approx(np.mean(apart))
    assert found.errors["kl"] == pytest.approx(np.std(apart, ddof=1) / 2)
    assert found.values["entropy"] == pytest.approx(
        -np.mean([sum(float(one.drawn_logprob.sum()) for one in some) for some in tokens])
    )
    assert abs(found.values["kl"]) > 0.01
    chosen = evaluate_agent(task, make(best_of=BestOf(4, log_probability)), episodes=4)
    # one answer an episode, drawn from the policy itself
    assert chosen.values["kl"] == pytest.approx(math.log(4) - 3 / 4)
    assert not {"kl", "entropy"} & evaluate_agent(task, make(), episodes=2).values.keys()
