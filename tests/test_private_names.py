"""Private names of other libraries stand in one module for each library, and still mean what they did."""

import ast
import re

import pytest
import torch
from torch import nn

from helpers.sources import HOUSE, nodes

HOMES = {
    "pretrained/pytorch/torch_private.py",
    "models/caches/attention.py",  # transformers
    "algorithms/sb3/private_names.py",
    "metrics/lexical/sacre_private.py",
}
PUBLIC = {"_fields", "_asdict", "_replace", "_make", "_exit"}  # documented names of named tuples and of os
PRIVATE = re.compile(r"_[A-Za-z]\w*")


def defined(nodes):
    """All names that a module itself defines or assigns."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "copy"):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def foreign(nodes):
    """The private names that a module reads or imports and does not define."""
    own = {*defined(nodes), *PUBLIC}
    for node in nodes:
        if isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr) and node.attr not in own:
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("loquent"):
            parts = (*(node.module or "").split("."), *(alias.name for alias in node.names))
            yield from (name for name in parts if PRIVATE.fullmatch(name))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "setattr", "hasattr"):
            name = getattr(node.args[1], "value", None)
            if isinstance(name, str) and PRIVATE.fullmatch(name) and name not in own:
                yield name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch\ntorch._foreach_lerp_()", "_foreach_lerp_"),
        ("from torch._dynamo import config", "_dynamo"),
        ("from transformers.utils import _hidden", "_hidden"),
        ("getattr(config, '_attn_implementation', None)", "_attn_implementation"),
        ("model._last_obs = 0", "_last_obs"),
    ],
)
def test_the_search_finds_a_private_name(source, name):
    assert list(foreign(list(ast.walk(ast.parse(source))))) == [name]


def test_the_search_leaves_own_names_alone():
    source = "class A:\n def _f(self): self._x = self._f()\nB._fields"
    assert not list(foreign(list(ast.walk(ast.parse(source)))))


def test_private_names_of_libraries_stand_in_one_module_each():
    private = {
        str(file.relative_to(HOUSE)): names
        for file in HOUSE.rglob("*.py")
        if (names := sorted(set(foreign(nodes(file)))))
    }
    # methods of a base class that another module of the package defines
    private = {place: set(names) - OWN.get(place, set()) for place, names in private.items()}
    assert {place for place, names in private.items() if names} == HOMES
    assert private["models/caches/attention.py"] == {"_attn_implementation"}


OWN = {"algorithms/imitation/decision_transformer.py": {"_nll"}}


def test_names_of_torch():
    from loquent.pretrained.pytorch import torch_private

    inner = nn.Linear(2, 2)
    module = nn.Sequential(inner)
    module.again = inner
    assert list(torch_private.children(module).items()) == [("0", inner), ("again", inner)]

    copied = torch_private.with_child(module, "0", nn.ReLU())
    assert isinstance(copied[0], nn.ReLU)
    assert module[0] is inner

    assert torch_private.is_dropout(nn.Dropout2d(0.1))
    assert not torch_private.is_dropout(inner)

    before = torch_private.version(module.parameters())
    with torch.no_grad():
        inner.weight += 1
    assert torch_private.version(module.parameters()) > before

    values, targets = [torch.zeros(2), torch.ones(1)], [torch.ones(2), torch.full((1,), 3.0)]
    torch_private.lerp_(values, targets, 0.25)
    assert [value.tolist() for value in values] == [[0.25, 0.25], [1.5]]


@pytest.mark.parametrize(
    "register",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
    ],
)
def test_hooks_of_torch_are_seen(register):
    from loquent.pretrained.pytorch import torch_private

    module = nn.Linear(2, 2)
    assert not torch_private.is_changed(module)
    hook = getattr(module, register)(lambda *_: None)
    assert torch_private.is_changed(module)
    hook.remove()
    module.forward = lambda inputs: inputs
    assert torch_private.is_changed(module)


def test_names_of_transformers():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=1, n_head=1, n_embd=4, vocab_size=8)
    module = GPT2LMHeadModel(config)
    assert module.config._attn_implementation == "sdpa"
    module.set_attn_implementation("eager")
    assert module.config._attn_implementation == "eager"


@pytest.fixture
def model():
    gymnasium = pytest.importorskip("gymnasium")
    library = pytest.importorskip("stable_baselines3")
    return library.DQN("MlpPolicy", gymnasium.make("CartPole-v1"), learning_starts=1, buffer_size=32)


def test_names_of_stable_baselines3(model):
    from loquent.algorithms.sb3 import private_names

    assert private_names.counters_of(model) == list(private_names.COUNTERS)
    assert private_names.episode_starts(model) is None
    private_names.begin(model, 100)
    assert private_names.episode_starts(model).tolist() == [True]
    assert private_names.normalizer(model) is None

    model.num_timesteps = 25
    private_names.update_progress(model)
    model.lr_schedule = lambda remaining: remaining
    private_names.update_learning_rate(model)
    assert model.policy.optimizer.param_groups[0]["lr"] == 0.75

    private_names.count_updates(model, 3)
    model.learn(8, reset_num_timesteps=False)  # adds a gradient step for each 4 actions
    assert model._n_updates == 5


def test_a_model_collects_from_the_observations_that_were_set():
    gymnasium = pytest.importorskip("gymnasium")
    library = pytest.importorskip("stable_baselines3")
    import numpy as np

    from loquent.algorithms.sb3 import private_names

    model = library.PPO("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=4, batch_size=4)
    callback = private_names.begin(model, 100)
    first = np.full((1, 4), 0.125, dtype=np.float32)
    private_names.set_observations(model, first)
    private_names.set_episode_starts(model, np.zeros(1, dtype=bool))  # `begin` sets True
    model.collect_rollouts(model.env, callback, model.rollout_buffer, n_rollout_steps=4)
    assert model.rollout_buffer.observations[0].tolist() == first.tolist()
    assert model.rollout_buffer.episode_starts[0].tolist() == [0]
    assert private_names.episode_starts(model).tolist() == [False]


def test_names_of_sacrebleu():
    metrics = pytest.importorskip("sacrebleu.metrics")
    from loquent.metrics.lexical import sacre_private

    bleu = metrics.BLEU(lowercase=True, force=True)
    assert sacre_private.prepare_text(bleu, "A dog.") == "a dog ."

    chrf = metrics.CHRF(word_order=2)
    assert sacre_private.words_of(chrf, "A dog.") == ["A", "dog", "."]
    counts = sacre_private.counts_of(chrf, "A dog.", ["A dog."])
    assert round(sacre_private.f_score(chrf, counts), 9) == 100
    assert round(sacre_private.score_of(chrf, counts), 9) == 100

    ter = metrics.TER()
    assert sacre_private.counts_of(ter, "a cat", ["a dog", "a cat"]) == [0, 2]
