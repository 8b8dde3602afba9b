"""The output layer is read from the model's code as operations: it never depends on weights, moments, hooks
or modes.
"""

import copy

import pytest
import torch

from helpers.models import architectures
from helpers.models.architectures import IN_CI, built, enlarge
from helpers.models.small_models import batch_of, chunks_of, drawn, prompts_of
from helpers.models.whole_logits import whole
from loquent import pretrained
from loquent.models.conditioning import shift_embeddings
from loquent.models.score import tokens as score_module
from loquent.models.score.tokens import action_scores, weighted_nll
from loquent.pretrained import head, hidden
from loquent.pretrained.lora.low_rank import add_adapters


def played(module, seed=0, settings=None):
    prompts = prompts_of(4, seed)
    return batch_of(
        prompts, drawn(module, prompts, {"max_new_tokens": 5, **(settings or {})}), architectures.VOCABULARY
    )


@pytest.mark.parametrize("kind", IN_CI)
def test_scores_are_the_models_own_before_and_after_logits_grow(kind, monkeypatch):
    module = built(kind)
    enlarge(module, 1e-3)  # so that caps and activations look linear
    batch, largest = played(module), []
    for growth in (1.0, 1e3, 30.0):
        enlarge(module, growth)
        logits, wanted = whole(module, batch)
        largest.append(float(logits.detach().abs().max()))
        for chunk, all_at_once in ((1 << 22, 1 << 24), (architectures.VOCABULARY * 3, 0)):
            chunks_of(monkeypatch, chunk)
            monkeypatch.setattr(score_module, "WHOLE", all_at_once)
            found = action_scores(module, batch, entropy=False).policy
            assert torch.allclose(found, wanted, atol=1e-8, rtol=0)
            assert torch.allclose(weighted_nll(module, batch)[1], -wanted, atol=1e-8, rtol=0)
    assert largest[1] > 10 * largest[0], "the logits grew"
    assert head(module).product is not None


@pytest.mark.parametrize("kind", IN_CI)
def test_the_ratio_before_the_first_step_is_one(kind):
    module = built(kind, "float32")
    enlarge(module, 1e-3)
    action_scores(module, played(module))  # scored once when everything looks linear
    enlarge(module, 3e3)
    prompts = prompts_of(4, 1)
    answers = drawn(module, prompts, {"max_new_tokens": 6, "top_k": 9, "temperature": 0.8})
    found = action_scores(module, batch_of(prompts, answers, architectures.VOCABULARY)).drawn
    recorded = torch.cat([torch.as_tensor(answer.tokens.drawn_logprob) for answer in answers])
    assert float((found.detach() - recorded).exp().sub(1).abs().max()) < 1e-3


@pytest.mark.parametrize("kind", IN_CI)
def test_gradients_are_those_of_whole_logits(kind, monkeypatch):
    module = built(kind)
    batch = played(module)
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]

    def slopes(loss):
        return torch.cat(
            [
                torch.zeros(1) if g is None else g.flatten()
                for g in torch.autograd.grad(loss, parameters, allow_unused=True)
            ]
        )

    wanted = slopes(-whole(module, batch)[1].sum())
    for chunk, all_at_once in ((1 << 22, 1 << 24), (architectures.VOCABULARY * 3, 0)):
        chunks_of(monkeypatch, chunk)
        monkeypatch.setattr(score_module, "WHOLE", all_at_once)
        for loss in (-action_scores(module, batch).policy.sum(), weighted_nll(module, batch)[0]):
            assert float((slopes(loss) - wanted).abs().max()) < 1e-7 * float(wanted.abs().max())


# ---- nobody is disturbed


@pytest.mark.parametrize("kind", ["gemma2", "gpt2", "bert", "opt"])
def test_reading_the_layer_draws_nothing_runs_nothing_and_changes_nothing(kind):
    module, seen = built(kind), []
    for part in module.base_model.modules():
        part.register_forward_hook(lambda *given: seen.append(given))
        part.register_forward_pre_hook(lambda *given: seen.append(given))
    state, modes = copy.deepcopy(module.state_dict()), [part.training for part in module.modules()]
    attributes = {name: sorted(vars(part)) for name, part in module.named_modules()}
    generator = torch.get_rng_state()
    head(module.train())
    assert torch.equal(torch.get_rng_state(), generator)
    assert not seen
    assert all(part.training for part in module.modules())
    module.eval()
    assert [part.training for part in module.modules()] == modes
    assert {name: sorted(vars(part)) for name, part in module.named_modules()} == attributes
    assert all(torch.equal(tensor, state[name]) for name, tensor in module.state_dict().items())


@pytest.mark.parametrize("kind", IN_CI)
def test_a_condition_reaches_scores_as_it_reaches_logits(kind):
    """In the middle of a conditioned batch the layer is the same, and shapes of other batches meet no
    hook.
    """
    module = built(kind)
    batch = played(module)
    plain, width = whole(module, batch)[1], module.get_input_embeddings().weight.shape[1]
    before = head(module)
    shift = torch.linspace(-3, 3, len(batch) * width, dtype=torch.float64).view(len(batch), width)
    with shift_embeddings(module, shift):
        during = head(module)
        wanted = whole(module, batch)[1]
        assert torch.allclose(action_scores(module, batch).policy, wanted, atol=1e-8)
    assert during is None or [step.function for step in during.steps] == [
        step.function for step in before.steps
    ]
    assert float((wanted - plain).detach().abs().max()) > 1e-3
    assert torch.equal(whole(module, batch)[1], plain)


# ---- what is not recognised is left to the model


class Shuffled(torch.nn.Linear):
    def forward(self, inputs):
        return super().forward(inputs.cumsum(1))


class Hidden(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return inputs * 2

    @staticmethod
    def backward(ctx, slope):
        return slope * 2


class Opaque(torch.nn.Linear):
    def forward(self, inputs):
        return Hidden.apply(super().forward(inputs))


class Dropping(torch.nn.Linear):
    def forward(self, inputs):
        return torch.nn.functional.dropout(super().forward(inputs), 0.5, self.training)


def replaced(kind, **options):
    def change(module):
        old = module.lm_head
        module.lm_head = kind(
            old.in_features, old.out_features, bias=False, dtype=old.weight.dtype, **options
        )

    return change


UNRECOGNISED = {
    "positions mixed": replaced(Shuffled),
    "an operation that nobody sees": replaced(Opaque),
    "a hook on the layer": lambda module: module.lm_head.register_forward_hook(
        lambda part, given, found: found * 2
    ),
    "a hook on the model": lambda module: module.register_forward_hook(lambda part, given, found: None),
    "a forward replaced": lambda module: setattr(
        module.lm_head, "forward", lambda inputs: inputs[..., :1].expand(*inputs.shape[:2], 40) * 2
    ),
    "weights computed": lambda module: torch.nn.utils.parametrizations.weight_norm(module.lm_head),
}


class LongerIsLouder(torch.nn.Linear):
    def forward(self, inputs):
        return super().forward(inputs) * (1 + inputs.shape[1])


class AloneIsQuiet(torch.nn.Linear):
    def forward(self, inputs):
        return super().forward(inputs) * inputs.shape[0]


class NothingIsNothing(torch.nn.Linear):
    def forward(self, inputs):
        return super().forward(inputs) * (2 if inputs.numel() else 1)


class Coarse(torch.nn.Linear):
    def forward(self, inputs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(inputs).float()


class InPlace(torch.nn.Linear):
    def forward(self, inputs):
        return torch.nn.functional.silu(super().forward(inputs), inplace=True)


@pytest.mark.parametrize("layer", [LongerIsLouder, AloneIsQuiet, NothingIsNothing, Coarse, InPlace])
def test_a_layer_that_does_otherwise_with_other_rows_or_in_a_precision_of_its_own_is_not_recognised(layer):
    module = built("gpt2", "float32")
    batch = played(module)
    made = layer(module.lm_head.in_features, module.lm_head.out_features, bias=False)
    module.lm_head = made
    enlarge(module, 10.0)
    assert head(module) is None
    assert torch.allclose(
        action_scores(module, batch, entropy=False).policy, whole(module, batch)[1], atol=1e-4, rtol=0
    )


class Rectified(torch.nn.Linear):
    def forward(self, inputs):
        return super().forward(torch.nn.functional.relu(inputs))


def test_a_rectifier_in_the_layer_is_run():
    """`torch.nn.functional.relu` names `inplace`, which `torch.relu` does not take."""
    module = built("gpt2", "float32")
    batch = played(module)
    module.lm_head = Rectified(module.lm_head.in_features, module.lm_head.out_features, bias=False)
    assert head(module).product is not None
    assert torch.allclose(
        action_scores(module, batch, entropy=False).policy, whole(module, batch)[1], atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("name", UNRECOGNISED)
def test_what_is_not_recognised_is_asked_of_the_model(name):
    module = built("llama")
    UNRECOGNISED[name](module)
    assert head(module) is None
    batch = played(module)
    assert torch.allclose(action_scores(module, batch).policy, whole(module, batch)[1], atol=1e-8)


def test_dropout_in_the_layer_is_recognised_where_nothing_is_dropped():
    module = built("llama")
    replaced(Dropping)(module)
    assert head(module.eval()) is not None
    assert head(module.train()) is None


class Offset(torch.nn.Linear):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.offset = torch.nn.Parameter(torch.linspace(-2, 2, sizes[1], dtype=torch.float64))

    def forward(self, inputs):
        return super().forward(inputs).mul_(2) + self.offset


@pytest.mark.parametrize(
    "change",
    [
        replaced(Offset),
        lambda module: setattr(module, "lm_head", add_adapters(torch.nn.Sequential(module.lm_head), 3)),
    ],
)
def test_layers_with_further_weights_are_run_whole(change, monkeypatch):
    module = built("gemma2", tie_word_embeddings=False)
    change(module)
    for name, parameter in module.lm_head.named_parameters():
        if "up" in name:
            torch.nn.init.constant_(parameter, 0.1)
    assert head(module).product is None
    batch = played(built("gemma2"))
    learned = [parameter for parameter in module.lm_head.parameters() if parameter.requires_grad]
    wanted = whole(module, batch)[1]
    slopes = torch.autograd.grad(wanted.sum(), learned)
    for all_at_once in (1 << 24, 0):
        monkeypatch.setattr(score_module, "WHOLE", all_at_once)
        chunks_of(monkeypatch, architectures.VOCABULARY * 3)
        found = action_scores(module, batch, entropy=False).policy
        assert torch.allclose(found, wanted, atol=1e-8)
        assert all(
            torch.allclose(a, b, atol=1e-8) for a, b in zip(torch.autograd.grad(found.sum(), learned), slopes)
        )


def test_what_changes_is_seen_at_once():
    module = built("gemma2")
    states = torch.ones(1, 3, 32, dtype=torch.float64)
    module.requires_grad_(False)
    assert float(head(module)(states).abs().max()) <= 5.0
    module.config.final_logit_softcapping = 0.5
    assert float(head(module)(states).abs().max()) <= 0.5
    module.config.final_logit_softcapping = None
    assert torch.equal(head(module)(states), module.lm_head(states))
    module.lm_head = torch.nn.Linear(32, 7, dtype=torch.float64)
    assert torch.equal(head(module)(states), module.lm_head(states))


def test_the_layer_is_the_same_in_every_mode():
    module = built("gemma2")
    with torch.inference_mode():
        assert len(head(module).steps) == 4
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert len(head(module).steps) == 4
    with torch.no_grad():
        assert len(head(module).steps) == 4
    assert head(module.base_model) is None, "a trunk has none"


# ---- hidden states are those that the model's own logits are made of


def test_states_stand_at_the_models_own_positions():
    """RoBERTa counts positions from behind its padding's."""
    module = built("roberta", pad_token_id=1, max_position_embeddings=80)
    tokens = torch.arange(2, 12)[None]
    assert torch.equal(hidden(module, tokens), module.roberta(tokens).last_hidden_state)
    assert torch.allclose(head(module)(hidden(module, tokens)), module(tokens).logits, atol=1e-8)
    assert pretrained.head(module).width == 32
