"""The output layers of all causal architectures of the library that build at a tiny size: scores are the
log-probabilities of own logits.

Six of them run in CI (`test_output_layer.py`); this sweep runs with `--slow`.
"""

from contextlib import nullcontext

import pytest
import torch

from helpers.models import architectures
from helpers.models.architectures import (
    ASKED,
    NOT_BUILT,
    NOT_CAUSAL,
    NOT_TRAINED,
    READS_PADDING,
    built,
    enlarge,
)
from helpers.models.small_models import batch_of, drawn, prompts_of
from helpers.models.whole_logits import whole
from loquent.models.score.tokens import action_scores, weighted_nll
from loquent.pretrained import head, hidden
from loquent.pretrained.stand_in import StandIn, forward

LIMIT = 1e-4  # of float32, on log-probabilities


def kinds():
    transformers = pytest.importorskip("transformers")
    return sorted(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def apart(one, other):
    return float((one - other).detach().abs().max())


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", sorted(set(kinds()) - NOT_BUILT.keys()))
def test_scores_are_the_log_probabilities_of_the_models_own_logits(kind):
    module = built(kind, "float32")
    generator = torch.get_rng_state()
    layer = head(module)
    assert torch.equal(torch.get_rng_state(), generator)
    assert (layer is None) == (kind in ASKED)
    prompts = prompts_of(3, vocabulary=architectures.VOCABULARY - 2)
    # 0 and 1 are the ends of texts and padding
    prompts = [[2 + token for token in prompt] for prompt in prompts]
    for growth in (1e-2, 3e2, 3.0):
        enlarge(module, growth)
        answers = drawn(module, prompts, {"max_new_tokens": 4})
        batch = batch_of(prompts, answers, architectures.VOCABULARY)
        found, wanted = action_scores(module, batch).policy, whole(module, batch)[1]
        assert apart(found, wanted) < LIMIT * max(1.0, float(wanted.detach().abs().max()))
        if kind not in NOT_CAUSAL | READS_PADDING:
            recorded = torch.cat([torch.as_tensor(answer.tokens.drawn_logprob) for answer in answers])
            assert apart(found.detach().exp() / recorded.exp(), torch.ones(1)) < 10 * LIMIT * max(
                1.0, float(wanted.detach().abs().max())
            )
        with pytest.raises(ValueError, match=NOT_TRAINED[kind]) if kind in NOT_TRAINED else nullcontext():
            train(module, batch)
        module.eval()
    if layer is not None:
        scaled(module, batch)


def train(module, batch):
    """One step that moves every weight that learns."""
    module.zero_grad()
    with torch.random.fork_rng():
        weighted_nll(module.train(), batch)[0].backward()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.grad is not None:
                parameter -= 0.01 * parameter.grad.sign()
    assert module.get_output_embeddings().weight.grad is not None


def scaled(module, batch):
    """The layer on large states is the model's own code on them."""
    states = hidden(module, batch.tokens).detach() * 100
    layer, ones = head(module), torch.ones_like(batch.tokens)
    assert states.shape[-1] == layer.width
    trunk = next(name for name, part in module._modules.items() if part is module.base_model)
    own = forward(module, trunk, StandIn(module.base_model, states, batch.tokens, ones)).logits
    assert apart(layer(states), own) <= LIMIT * max(1.0, float(own.detach().abs().max()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(NOT_BUILT))
def test_what_is_left_out_has_the_reason_that_is_listed(kind):
    with pytest.raises(Exception, match=NOT_BUILT[kind]):
        built(kind, "float32")


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(NOT_CAUSAL))
def test_what_is_listed_as_not_causal_lets_earlier_logits_read_later_tokens(kind):
    module, tokens = built(kind, "float32"), torch.arange(2, 12)[None]
    other = tokens.clone()
    other[:, 6:] += 3
    ones = torch.ones_like(tokens)
    one, two = (
        module(input_ids=ids, attention_mask=ones, use_cache=False).logits[:, :6] for ids in (tokens, other)
    )
    assert apart(one, two) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(READS_PADDING))
def test_what_is_listed_as_reading_padding_does(kind):
    module, tokens = built(kind, "float32"), torch.arange(2, 12)[None]
    wide = torch.nn.functional.pad(tokens, (0, 5))
    one, two = (
        module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[:, :10]
        for ids in (tokens, wide)
    )
    assert apart(one, two) > 1e-4


def test_every_architecture_stands_in_the_sweep_or_in_a_list():
    assert set(NOT_BUILT) | set(ASKED) | set(NOT_CAUSAL) | set(READS_PADDING) <= set(kinds())
