import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from helpers.models.format_cases import said, told
from helpers.models.tokenizers_for_tests import byte_level, sentence_piece
from loquent import pretrained
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting
from loquent.models.actor import Actor
from loquent.models.format.names import Ilql, Plain
from loquent.models.tokens.batch import token_batch
from loquent.pretrained import LanguageModel

KEY = Key(3)
KINDS = pytest.mark.parametrize("kind", ["gpt2", "llama", "bare"])


def gpt2(tokenizer=None, seed=0, **sizes):
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = tokenizer or byte_level()
    shape = {
        "n_embd": 16,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": 64,
        "vocab_size": len(tokenizer),
        **sizes,
    }
    torch.manual_seed(seed)
    return LanguageModel(GPT2LMHeadModel(GPT2Config(**shape)).eval(), tokenizer)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = sentence_piece()
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 64,
    }
    torch.manual_seed(0)
    return LanguageModel(LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes)).eval(), tokenizer)


def bare():
    """A causal model that names no trunk: `base_model` is the whole of it."""
    from transformers import GPT2LMHeadModel

    class Whole(GPT2LMHeadModel):
        base_model_prefix = ""

        def get_input_embeddings(self):
            return self.transformer.wte

    language = gpt2()
    whole = Whole(language.module.config).eval()
    whole.load_state_dict(language.module.state_dict())
    assert whole.base_model is whole
    return LanguageModel(whole, language.tokenizer)


def language_of(kind):
    return {"gpt2": gpt2, "llama": llama, "bare": bare}[kind]()


def batch_for(actor, n=3):
    games = [
        Episode("toy-v1", "row", "train", 0, i, (told("the film" * (i + 1)), said("good" * (n - i))), None)
        for i in range(n)
    ]
    return token_batch(games, actor.format, Record(), max_length=64)


def test_the_value_head_depends_on_its_key_alone_and_no_global_generator_moves():
    one = Actor.build(gpt2(), key=KEY)
    torch.manual_seed(99)
    language = gpt2(seed=5)
    states = np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
    two = Actor.build(language, key=KEY)
    assert np.random.get_state()[1].tolist() == states[0]  # noqa: NPY002
    assert torch.get_rng_state().equal(states[1])
    assert one.critic.head.weight.equal(two.critic.head.weight)
    assert not one.critic.head.weight.equal(Actor.build(gpt2(), key=Key(4)).critic.head.weight)
    nn.Linear(2, 2)
    assert not torch.get_rng_state().equal(states[1])  # a layer made outside would have been seen


@KINDS
@pytest.mark.parametrize("critic", ["network", "head"])
def test_one_forward_pass_for_each_network(kind, critic):
    actor = Actor.build(language_of(kind), critic=critic, key=KEY)
    assert set(actor.networks()) == (
        {"policy", "critic", "reference"} if critic == "network" else {"policy", "reference"}
    )
    batch = batch_for(actor)
    calls = counted(actor, lambda: actor(batch, want_values=True))
    assert calls == {"policy": 1, "reference": 0, **({"critic": 1} if critic == "network" else {})}
    calls = counted(actor, lambda: actor(batch, want_values=False))
    assert calls == {"policy": 1, "reference": 0, **({"critic": 0} if critic == "network" else {})}
    assert counted(actor, lambda: actor.state_values(batch))["policy"] == (critic == "head")
    # the hooks see passes that do not go through the actor
    assert counted(actor, lambda: actor.policy(batch.tokens))["policy"] == 1


def counted(actor, run):
    calls = dict.fromkeys(actor.networks(), 0)
    hooks = []
    for name, network in actor.networks().items():

        def count(*_, name=name):
            calls[name] += 1

        hooks.append(network.register_forward_hook(count))
    run()
    for hook in hooks:
        hook.remove()
    return calls


@KINDS
def test_hidden_states_are_those_under_the_logits_and_do_not_see_padding(kind):
    actor = Actor.build(language_of(kind), critic="head", reference="none", key=KEY)
    batch = batch_for(actor)
    hidden, values = actor(batch)
    assert hidden.shape == (3, batch.tokens.shape[1], 16)
    logits = actor.policy.get_output_embeddings()(hidden)
    for b in range(3):
        length = int(batch.real[b].sum())
        alone = actor.policy(batch.tokens[b : b + 1, :length]).logits[0]
        assert torch.allclose(logits[b, :length], alone, atol=1e-5)
        assert not torch.allclose(logits[b, :length], alone.roll(1, 0), atol=1e-5)
        assert torch.allclose(values[b, :length], actor.state_values(batch.take([b]))[0], atol=1e-5)
    assert not values[~batch.real].any()
    assert values[batch.real].any()


def test_hidden_states_are_the_same_for_a_model_and_for_its_trunk():
    for language in (gpt2(), llama()):
        tokens = torch.randint(0, 200, (2, 9), generator=torch.Generator().manual_seed(0))
        states = pretrained.hidden(language.module, tokens)
        assert states.equal(pretrained.hidden(language.module.base_model, tokens))
        whole = language.module(tokens, output_hidden_states=True).hidden_states[-1]
        assert (states - whole).abs().max() < 1e-5
        assert (states - whole.flip(1)).abs().max() > 1e-5


def test_values_of_a_network_of_its_own_are_a_linear_layer_on_the_same_checkpoint():
    actor = Actor.build(gpt2(), critic="network", key=KEY)
    batch = batch_for(actor)
    hidden, values = actor(batch)
    expected = (hidden @ actor.critic.head.weight[0]).masked_fill(~batch.real, 0)
    # a copy of the trunk: before learning it sees what the policy sees
    assert torch.allclose(values, expected, atol=1e-6)
    with torch.no_grad():
        actor.policy.transformer.wte.weight[5:] += 1
    assert not torch.allclose(actor(batch).policy, hidden)
    assert actor.state_values(batch).equal(values)  # and shares nothing with it


@pytest.mark.parametrize("critic", ["network", "head"])
def test_a_value_head_of_zeros_gives_values_of_zero_and_learns(critic):
    actor = Actor.build(gpt2(), critic=critic, critic_head="zero", key=KEY)
    values = actor(batch := batch_for(actor)).values
    assert not values.any()
    (values - 1).square().sum().backward()
    assert actor.critic.head.weight.grad.any()
    assert Actor.build(gpt2(), critic=critic, key=KEY)(batch).values.any()
    with pytest.raises(BadSetting, match="critic_head = 'ones' must be one of random, zero; choose one"):
        Actor.build(gpt2(), critic=critic, critic_head="ones", key=KEY)


def test_gradients_of_values_reach_the_shared_trunk_or_only_their_own():
    for critic, reaches in (("head", True), ("network", False)):
        actor = Actor.build(gpt2(), critic=critic, key=KEY)
        actor(batch_for(actor)).values.sum().backward()
        assert any(p.grad is not None for p in actor.policy.parameters()) is reaches
        assert all(p.grad is not None for p in actor.critic.head.parameters())
        assert all(p.grad is None and not p.requires_grad for p in actor.reference.parameters())


def test_dropout_is_off_until_train_and_never_on_in_the_reference():
    actor = Actor.build(gpt2(resid_pdrop=0.5, embd_pdrop=0.5), key=KEY)
    batch = batch_for(actor)
    assert not any(module.training for module in actor.modules())
    assert actor(batch).policy.equal(actor(batch).policy)
    assert actor.train() is actor
    assert actor.policy.training
    assert actor.critic.training
    assert not any(module.training for module in actor.reference.modules())
    assert not actor(batch).policy.equal(actor(batch).policy)
    assert not actor.eval().policy.training


def test_the_reference_is_a_frozen_copy_another_model_or_none():
    language = gpt2()
    copied = Actor.build(language, key=KEY)
    assert copied.reference is not language.module
    assert all(
        a.equal(b) and a is not b
        for a, b in zip(copied.reference.parameters(), language.module.parameters(), strict=True)
    )
    other = gpt2(seed=1)
    assert Actor.build(language, reference=other, key=KEY).reference is other.module
    assert not any(p.requires_grad for p in other.module.parameters())
    itself = Actor.build(language, reference=language, key=KEY)
    assert itself.reference is not language.module
    assert all(p.requires_grad for p in language.module.parameters())
    assert Actor.build(language, reference="none", key=KEY).reference is None
    with pytest.raises(BadModel, match="another vocabulary than the policy"):
        Actor.build(language, reference=llama(), key=KEY)


@pytest.mark.parametrize("critic", ["network", "head", "none"])
def test_the_state_is_whole_and_names_each_tensor_once(critic):
    one, two = (
        Actor.build(gpt2(), critic=critic, key=KEY),
        Actor.build(gpt2(seed=7), critic=critic, key=Key(8)),
    )
    state = one.state_dict()
    places = [tensor.data_ptr() for tensor in state.values()]
    assert len(places) == len(set(places))  # safetensors refuses tensors that share memory
    assert len(state) < len(nn.Module.state_dict(one))  # which tied embeddings would do
    batch = batch_for(one)
    assert not two(batch, want_values=False).policy.equal(one(batch, want_values=False).policy)
    two.load_state_dict(copy.deepcopy(state))
    assert two(batch, want_values=False).policy.equal(one(batch, want_values=False).policy)
    assert two.policy.lm_head.weight is two.policy.transformer.wte.weight  # still tied
    assert two.reference(batch.tokens).logits.equal(one.reference(batch.tokens).logits)
    if critic != "none":
        assert two.state_values(batch).equal(one.state_values(batch))
    state.popitem()
    with pytest.raises(RuntimeError, match="Missing key"):
        two.load_state_dict(state)


def test_a_copied_actor_shares_no_weights_and_its_language_is_its_own_policy():
    actor = Actor.build(gpt2(), key=KEY)
    twin = copy.deepcopy(actor)
    assert twin.language.module is twin.policy
    assert twin.policy is not actor.policy
    assert twin.format is actor.format


def test_context_and_room():
    language = gpt2()
    actor = Actor.build(language, decoding=SimpleNamespace(max_new_tokens=24, max_prompt_tokens=0), key=KEY)
    assert (actor.context, actor.room) == (64, 40)
    with pytest.raises(BadModel, match="the reference takes 32 tokens and the policy 64"):
        Actor.build(language, reference=gpt2(n_positions=32), key=KEY)
    assert actor.device == torch.device("cpu")
    with pytest.raises(
        BadSetting, match="max_new_tokens = 64 leaves no room for a prompt in a context of 64"
    ):
        _ = Actor.build(
            language, decoding=SimpleNamespace(max_new_tokens=64, max_prompt_tokens=0), key=KEY
        ).room


def test_what_does_not_fit_together_is_refused():
    language = gpt2()
    with pytest.raises(BadSetting, match="critic = 'tail' must be one of network, head, none"):
        Actor.build(language, critic="tail", key=KEY)
    with pytest.raises(BadSetting, match="reference = 'mirror' must be 'copy', 'none' or"):
        Actor.build(language, reference="mirror", key=KEY)
    small = gpt2(vocab_size=len(byte_level()), tokenizer=byte_level())
    with pytest.raises(BadModel, match=r"ids up to 305, but the model has only 301 embeddings"):
        Actor.build(small, format=Ilql(byte_level("<s>", "</s>", "<a>", "</a>", "</eod>")), key=KEY)
    with pytest.raises(BadSetting, match="the actor has no critic"):
        Actor.build(language, critic="none", key=KEY).state_values(batch_for(Actor.build(language, key=KEY)))
    assert isinstance(Actor.build(language, key=KEY).format, Plain)


def test_values_keep_double_precision_and_what_learns_beside_the_policy_is_float32_at_least():
    for dtype, values in ((torch.float64, torch.float64), (torch.bfloat16, torch.float32)):
        language = gpt2()
        actor = Actor.build(LanguageModel(language.module.to(dtype), language.tokenizer), key=KEY)
        assert {parameter.dtype for parameter in actor.critic.parameters()} == {values}
        assert actor.state_values(batch_for(actor)).dtype == values


@pytest.mark.data
def test_the_pretrained_llama_of_stories260k(beside):
    language = pretrained.load(beside / "models" / "stories260K", device="cpu")
    actor = Actor.build(language, critic="network", key=KEY)
    batch = batch_for(actor)
    hidden, values = actor(batch)
    assert torch.allclose(actor.policy.lm_head(hidden), actor.policy(batch.tokens).logits, atol=1e-5)
    assert values.shape == batch.tokens.shape
    assert actor.context == 512


def test_weights_of_networks_that_an_actor_lacks_are_left_out():
    whole = Actor.build(gpt2(), key=KEY)
    alone = Actor.build(gpt2(seed=1), critic="none", reference="none", key=KEY)
    alone.load_state_dict(whole.state_dict())
    other = alone.policy.state_dict()
    assert all(tensor.equal(other[name]) for name, tensor in whole.policy.state_dict().items())
    with pytest.raises(RuntimeError, match="critic"):
        whole.load_state_dict(alone.state_dict())
