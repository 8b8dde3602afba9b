"""The learners from preferences: what their gradients must keep, on causal models and encoder-decoders."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from helpers.algorithms.letters import TASK
from helpers.algorithms.preferences import CHOSEN, PROMPTS, REJECTED, batch_of
from helpers.algorithms.tiny_models import SHAPES, START, actor, module, tokenizer
from loquent.agents.baselines import Random
from loquent.algorithms.preference.dpo import DPO
from loquent.algorithms.preference.kto import KTO, swap_answers
from loquent.algorithms.preference.orpo import ORPO
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.errors import BadSetting, LoquentError
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import token_batch
from loquent.pretrained import LanguageModel, lora

KINDS = {"dpo": DPO, "kto": KTO, "orpo": ORPO}
IDS = tokenizer()


def rows():
    """A chosen and a rejected answer to each prompt."""
    ids = [[IDS(text)["input_ids"] for text in texts] for texts in (PROMPTS, CHOSEN, REJECTED)]
    return [(ids[0][i], ids[1 + worse][i], i, 1.0 - worse) for i in range(len(PROMPTS)) for worse in (0, 1)]


def pair(shape, seeds=(0, 1)):
    """An actor with another reference."""
    policy, reference = (LanguageModel(module(SHAPES[shape](), seed), tokenizer()) for seed in seeds)
    return Actor.build(policy, critic="none", reference=reference, decoding=Decoding(), key=Key(0))


def gradient(kind, model, batch, **settings):
    """The loss and the gradient of one step without clipping, of a scored batch."""
    learner = kind(kind.Config(max_grad_norm=None, **settings), model)
    learner.gradient.changes_parameters = False
    logs = learner.update(model, learner.prepare(batch))
    parts = [p.grad.flatten() for p in model.policy.parameters() if p.grad is not None]
    return logs["preference/loss"], torch.cat(parts)


def near(one, other):
    apart = (one[1] - other[1]).abs().max() / other[1].abs().max()
    return one[0] == pytest.approx(other[0], rel=1e-6, abs=1e-6) and float(apart) < 1e-5


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_depends_neither_on_forward_passes_nor_on_the_order_of_rows(name):
    model, kind = pair("gpt2"), KINDS[name]
    batch = score(model, batch_of(rows()))
    whole = gradient(kind, model, batch)
    assert near(gradient(kind, model, batch, token_budget=1), whole)
    assert near(gradient(kind, model, batch, token_budget=40), whole)
    if name != "kto":  # whose reference point follows the order
        order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(0))
        assert near(gradient(kind, model, batch.take(order)), whole)


@pytest.mark.parametrize("name", KINDS)
def test_a_step_makes_chosen_answers_likelier_than_rejected_ones(name):
    model, kind = pair("gpt2", (0, 0)), KINDS[name]
    batch = score(model, batch_of(rows()))
    learner = kind(kind.Config(learning_rate=1e-3), model)
    prepared = learner.prepare(batch)
    first = learner.update(model, prepared)
    for _ in range(8):
        last = learner.update(model, prepared)
    assert last["preference/loss"] < first["preference/loss"]
    assert last["preference/chosen"] > last["preference/rejected"]
    assert first["preference/compared"] == (16 if name == "kto" else 8)


@pytest.mark.parametrize("loss", ["sigmoid", "ipo"])
def test_pairs_that_share_an_answer_count_each(loss):
    model = pair("gpt2")
    answers = [([2], [1], 0, 3.0), ([2], [3, 4], 0, 2.0), ([2], [5, 6, 7], 0, 1.0)]
    batch = score(model, batch_of(answers))
    every = gradient(DPO, model, batch, pairs="all", loss=loss)
    alone = [gradient(DPO, model, batch.take(two), loss=loss) for two in ([0, 1], [0, 2], [1, 2])]
    mean = sum(loss for loss, _ in alone) / 3, sum(part for _, part in alone) / 3
    assert near(every, mean)
    assert near(gradient(DPO, model, batch, pairs="all", loss=loss, token_budget=1), mean)
    assert near(gradient(DPO, model, batch, loss=loss), alone[1]), "the best and the worst"
    assert DPO(DPO.Config(), model).prepare(batch).unpaired == 1


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_in_several_rows_and_turns_is_the_sum_of_them(name):
    """The second row of an episode counts like more tokens of the first."""
    model, kind = pair("llama"), KINDS[name]
    batch = batch_of(
        [([2], [1, 3], 0, 1.0), ([4, 5], [1], 0, 0.0), ([2], [6], 0, 0.0), ([7], [8, 2], 1, 0.0)]
    )
    batch = replace(batch, episode=torch.tensor([0, 0, 1, 2]))
    batch.is_action[0, 1] = False  # what another seat said
    scored = score(model, batch)
    learner = kind(kind.Config(), model)
    units = learner.units(learner.prepare(scored))
    assert units.lengths.flatten().tolist() == [2, 1]
    ratio = scored.policy_logprob - (0 if name == "orpo" else scored.reference_logprob)
    wanted = ratio.sum(1)
    sums = torch.stack([wanted[0] + wanted[1], wanted[2]]) / (torch.tensor([2, 1]) if name == "orpo" else 1)
    logs = learner.update(model, learner.prepare(scored))
    found = torch.tensor([logs["preference/chosen"], logs["preference/rejected"]])
    assert torch.allclose(found, 0.1 * sums, atol=1e-6)


def test_a_prompt_of_kto_is_followed_by_the_answer_to_another_row():
    model = pair("gpt2")
    learner = KTO(KTO.Config(), model)
    answers = [([2], [1], 0, 1.0), ([2], [3], 0, 0.0), ([4], [5], 1, 1.0), ([4], [6, 7, 8], 1, 0.0)]
    units = learner.units(learner.prepare(score(model, batch_of(answers))))
    assert units.desirable.tolist() == [True, True, False, False]
    assert units.members.flatten().tolist() == [0, 2, 1, 3]
    found = swap_answers(units, 3)
    rows = [row[real].tolist() for row, real in zip(found.tokens, found.real, strict=True)]
    assert rows == [[2, 6, 7], [4, 1], [2, 5], [4, 3]], "the row before it, cut to three tokens"
    assert found.is_action.sum(1).tolist() == [2, 1, 1, 1]
    threshold = KTO(KTO.Config(threshold=-1.0), model)
    assert threshold.units(units.batch).desirable.all()


@pytest.mark.parametrize("name", KINDS)
def test_an_encoder_decoder_learns_by_the_same_equations(name):
    """By its own forward pass: the encoder reads the prompt, the decoder its start token and the answer."""
    model = pair("t5")
    played = [*play(TASK, games(TASK.rows("train")[:3], each=3), Random(TASK), seed=1)]
    batch = token_batch(played, model.format, TASK.spec.rewards, max_length=64)
    scored = score(model, batch)
    returns = [episode.total(TASK.spec.rewards) for episode in played]
    pairs = [(max(own, key=returns.__getitem__), min(own, key=returns.__getitem__))
             for own in ([0, 1, 2], [3, 4, 5], [6, 7, 8])]  # fmt: skip
    pairs = [(a, b) for a, b in pairs if returns[a] > returns[b]]
    assert len(pairs) > 1

    def logprob(network, prompt, answer):
        tokens = batch.tokens[prompt]
        source = ~tokens[tokens < 0]
        target = batch.tokens[answer][batch.is_action[answer]]
        given = torch.cat([torch.tensor([START]), target[:-1]])
        logits = network(input_ids=source[None], decoder_input_ids=given[None]).logits[0]
        return logits.log_softmax(-1).gather(1, target[:, None]).sum(), len(target)

    def ratio(prompt, answer):
        return sum(
            s * logprob(net, prompt, answer)[0] for s, net in ((1, model.policy), (-1, model.reference))
        )

    if name == "dpo":
        loss = sum(-F.logsigmoid(0.1 * (ratio(a, a) - ratio(b, b))) for a, b in pairs) / len(pairs)
    elif name == "kto":
        answers = [a for a, _ in pairs] + [b for _, b in pairs]
        z = sum(ratio(x, y) for x, y in zip(answers, [answers[-1], *answers[:-1]], strict=True)) / len(
            answers
        )
        z, half = z.detach().clamp(min=0), len(pairs)
        signed = [(ratio(x, x) - z) * (1 if i < half else -1) for i, x in enumerate(answers)]
        loss = sum(1 - torch.sigmoid(0.1 * each) for each in signed) / len(answers)
    else:
        found = [[logprob(model.policy, x, x) for x in two] for two in pairs]
        means = torch.stack([torch.stack([total / count for total, count in two]) for two in found])
        odds = means - torch.log1p(-means.exp())
        nll = -sum(two[0][0] for two in found) / sum(two[0][1] for two in found)
        loss = nll - 0.1 * F.logsigmoid(odds[:, 0] - odds[:, 1]).mean()
    model.policy.zero_grad()
    loss.backward()
    wanted = torch.cat([p.grad.flatten() for p in model.policy.parameters() if p.grad is not None])
    assert near(gradient(KINDS[name], model, scored), (float(loss.detach()), wanted))


def test_the_reference_of_adapters_is_the_network_without_them():
    """Log-probabilities with the adapters off are those of a copy, and so is the gradient."""
    network = module(SHAPES["llama"](), 0)
    copy = LanguageModel(module(SHAPES["llama"](), 0), tokenizer())
    options = {"rank": 2, "alpha": 4, "dropout": 0.0, "targets": (), "path": "x", "revision": ""}
    lora.adapt(network, **options, key=Key(0))
    with torch.no_grad():
        for name, p in network.named_parameters():
            if "lora_B" in name:
                p.normal_(generator=torch.Generator().manual_seed(1))
    language = LanguageModel(network, tokenizer())
    off, other = (Actor.build(language, critic="none", reference=each, key=Key(0)) for each in ("copy", copy))
    batch = batch_of(rows())
    before = [score(each, batch) for each in (off, other)]
    assert torch.equal(before[0].reference_logprob, before[1].reference_logprob)
    assert not torch.equal(before[0].reference_logprob, before[0].policy_logprob)
    for kind in (DPO, KTO):
        found = [gradient(kind, model, scored) for model, scored in zip((off, other), before, strict=True)]
        assert near(*found)
        assert found[0][1].abs().max() > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group": None}, "no `group`"),
        ({"reference_logprob": None}, "no reference_logprob, which dpo compares .* call score"),
    ],
)
def test_a_batch_without_preferences_is_refused_with_words(change, words):
    model = actor("gpt2", critic="none")
    batch = score(model, batch_of(rows()))
    with pytest.raises(LoquentError, match=words):
        DPO(DPO.Config(), model).prepare(replace(batch, **change))


@pytest.mark.parametrize("alone", [False, True])
def test_answers_without_a_difference_make_no_step(alone):
    """Those to one row with equal returns, and one answer to each row."""
    model, given = actor("gpt2", critic="none"), rows()
    given = [
        (ids, answer, number if alone else row, 0.0) for number, (ids, answer, row, _) in enumerate(given)
    ]
    learner = DPO(DPO.Config(), model)
    logs = learner.update(model, learner.prepare(score(model, batch_of(given))))
    assert logs["preference/left_out"] == 16
    assert logs["gradient/steps"] == logs["preference/compared"] == 0
    assert logs["preference/loss"] != logs["preference/loss"], "nan"


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(BadSetting, match=r"label_smoothing = 0\.0 with loss = 'robust'; robust DPO needs"):
        DPO.Config(loss="robust")
    with pytest.raises(BadSetting, match=r"label_smoothing = 0\.1 with loss = 'ipo', which has no smoothing"):
        DPO.Config(loss="ipo", label_smoothing=0.1)
    with pytest.raises(BadSetting, match=r"model\.reference = 'none', but kto compares"):
        KTO(KTO.Config(), actor("gpt2", critic="none", reference="none"))
    assert ORPO(ORPO.Config(), actor("gpt2", critic="none", reference="none")).scored is False
