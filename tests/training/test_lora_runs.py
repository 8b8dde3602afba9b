"""LoRA in runs of every learner of a language model: what learns and is kept; resumed, exported, merged."""

import json

import pytest
import torch

from helpers.training.small_runs import recipe_of, results
from loquent import pretrained
from loquent.agents.exact import Exact
from loquent.cli import main as cli
from loquent.core import registry
from loquent.core.algorithm import BatchAlgorithm, TurnAlgorithm
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadModel, BadSetting
from loquent.files import names, tensor_tree
from loquent.pretrained import lora
from loquent.training import checkpoint, policies, recipes
from loquent.training.estimate import estimate
from loquent.training.extending import extend_recipe
from loquent.training.run import load_run
from loquent.training.start import load_language
from loquent.training.train import train
from loquent.training.trainer import Trainer

ADAPTERS = "model.lora={rank: 2, alpha: 4}"
OF_LANGUAGE = [
    name
    for name in registry.names("algorithm")
    if issubclass(registry.find("algorithm", name), BatchAlgorithm)
    and not issubclass(registry.find("algorithm", name), TurnAlgorithm)
    and registry.find("algorithm", name).make_actor.__func__ is BatchAlgorithm.make_actor.__func__
]
ON_POLICY = ("a2c", "grpo", "nlpo", "ppo", "rloo", "trpo")
# beside adapters these may learn: heads of values, and the input of the Decision Transformer's number
HEADS = ("critic.head.", "values.v_head.", "values.q_heads.", "values.psi", "conditioning.")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The folder of a tiny model that adapters are added to."""
    texts = [f"the film number {i} was good and the actor was {i}" for i in range(99)]
    made = pretrained.build(
        texts, vocabulary=260, layers=1, width=16, heads=2, context=1024, key=Key(0), dropout=0.1
    )
    pretrained.save(made, folder := tmp_path_factory.mktemp("base") / "model")
    return folder


def adapted(learner, recorded, base, *more):
    return recipe_of(learner, recorded, f"model.path={base}", ADAPTERS, "training.checkpoint_every=1", *more)


def test_all_learners_of_language_models_are_here():
    assert set(ON_POLICY) < set(OF_LANGUAGE)
    assert {"supervised", "cloning", "ilql", "cql", "chai", "monte_carlo", "psi"} < set(OF_LANGUAGE)


@pytest.mark.parametrize("learner", OF_LANGUAGE)
def test_only_adapters_and_heads_learn_and_are_kept(learner, recorded, base):
    trainer = Trainer(adapted(learner, recorded, base))
    policy = trainer.actor.policy
    under = lora.base_tensors(policy)
    before = {name: p.detach().clone() for name, p in policy.named_parameters()}
    learning = trainer.algorithm.parameters
    assert not {id(p) for p in learning.values()} & under
    assert all("lora_" in name or name.startswith(HEADS) for name in learning), sorted(learning)
    logs = trainer.update()
    assert all(torch.equal(before[name], p) for name, p in policy.named_parameters() if id(p) in under)
    changed = [name for name, p in policy.named_parameters() if not torch.equal(before[name], p)]
    if learner in (*ON_POLICY, "supervised", "cloning") and logs.get("advantage/deviation", 1.0):
        assert changed
        assert all("lora_" in name for name in changed)
    if learner in ON_POLICY:
        assert logs["policy/ratio_error"] < 1e-5
        assert logs["kl/reference"] == 0.0  # adapters that are 0 are the model without adapters, to the bit
    tensors = {}
    tensor_tree.split(trainer.state(), "", tensors)
    assert not {t.data_ptr() for t in tensors.values()} & {
        p.data_ptr() for p in policy.parameters() if id(p) in under
    }
    whole = sum(p.numel() for name, p in policy.named_parameters() if id(p) in under)
    assert not any(t.numel() == policy.get_input_embeddings().weight.numel() for t in tensors.values())
    if learner in ("ppo", "nlpo", "grpo", "supervised", "trpo"):
        assert sum(t.numel() for t in tensors.values()) < whole


def test_the_reference_the_critic_and_the_mask_share_the_weights_of_the_policy(base):
    trainer = Trainer(adapted("nlpo", None, base, "model.critic=network", "algorithm.mu=5"))
    actor, algorithm = trainer.actor, trainer.algorithm
    own = {p.data_ptr() for p in actor.policy.parameters()}
    new = {
        role: {name for name, p in network.named_parameters() if p.data_ptr() not in own}
        for role, network in (
            ("reference", actor.reference), ("critic", actor.critic), ("mask", algorithm.masking_policy)
        )
    }  # fmt: skip
    assert new["reference"] == set()
    assert all("lora_" in name or name == "head.weight" for name in new["critic"])
    assert all("lora_" in name for name in new["mask"])
    for _ in range(2):
        trainer.update()
    assert not lora.is_adapted(actor.reference)


@pytest.mark.sweep("ppo", "supervised")
@pytest.mark.parametrize("learner", ["ppo", "nlpo", "trpo", "grpo", "supervised", "ilql"])
def test_a_resumed_run_equals_an_unbroken_one_and_both_load(learner, recorded, base, tmp_path):
    recipe = adapted(learner, recorded, base)
    run = train(recipe, tmp_path / "run", progress=False)
    train(extend_recipe(run, ["training.updates=3"]), run.folder, progress=False, resume=True)
    whole = train(recipe.replace("training.updates=3"), tmp_path / "whole", progress=False)
    assert results(run.folder) == results(whole.folder)
    again = load_run(whole.folder).evaluate(episodes=recipe.training.final_episodes)
    assert again.values == whole.evaluation["values"]
    newest = whole.files.checkpoints.all()[-1]
    assert lora.is_adapter(newest / names.POLICY)
    assert not (newest / names.POLICY / "model.safetensors").exists()
    state = checkpoint.load(newest)["actor"]
    saved = {name for name in state if name.startswith("policy.")}
    assert saved
    assert all("lora_" in name for name in saved)


@pytest.fixture(scope="module")
def run(base, tmp_path_factory):
    """A finished PPO run with adapters."""
    recipe = adapted("ppo", None, base, "algorithm.learning_rate=0.01", "training.updates=2")
    return train(recipe, tmp_path_factory.mktemp("adapted") / "run", progress=False)


ROWS = torch.tensor([[5, 9, 30, 7, 2, 11], [3, 14, 8, 20, 21, 0]])


@torch.no_grad()
def logits(module):
    return module(input_ids=ROWS, use_cache=False).logits


def test_an_export_is_merged_or_the_adapter_alone(run, tmp_path):
    from transformers import AutoModelForCausalLM

    learned = pretrained.load(policies.policy_folder(run.folder), device="cpu").module
    merged = AutoModelForCausalLM.from_pretrained(policies.export(run.folder, tmp_path / "merged")).eval()
    assert not lora.is_adapted(merged)
    assert torch.allclose(logits(merged), logits(learned), atol=1e-5)
    start = pretrained.load(run.recipe.model.path, device="cpu").module
    assert not torch.allclose(logits(merged), logits(start), atol=1e-5)
    alone = policies.export(run.folder, tmp_path / "alone", adapter=True)
    assert torch.equal(logits(pretrained.load(alone, device="cpu").module), logits(learned))
    assert sum(f.stat().st_size for f in alone.glob("*.safetensors")) < 40_000
    with pytest.raises(BadSetting, match="has no adapters"):
        policies.export(tmp_path / "merged", tmp_path / "other", adapter=True)


def test_transformers_loads_an_exported_adapter_as_the_command_says(run, tmp_path, capsys):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path / "alone"
    assert cli.main(["export", str(run.folder), str(folder), "--adapter"]) == 0
    assert f"AutoModelForCausalLM.from_pretrained({str(folder)!r})" in capsys.readouterr().out
    learned = pretrained.load(policies.policy_folder(run.folder), device="cpu")
    start = pretrained.load(run.recipe.model.path, device="cpu").module
    assert not torch.allclose(logits(start), logits(learned.module), atol=1e-5)
    by_transformers = AutoModelForCausalLM.from_pretrained(folder).eval()
    assert torch.allclose(logits(by_transformers), logits(learned.module), atol=1e-5)
    text = "the film was good"
    assert AutoTokenizer.from_pretrained(folder)(text).input_ids == learned.tokenizer(text).input_ids
    loaded = load_language(str(folder), "cpu", "float32")
    assert torch.equal(logits(loaded.module), logits(learned.module))
    assert loaded.tokenizer.get_vocab() == learned.tokenizer.get_vocab()
    assert Exact(str(folder), "auto", "completions", 8).room == learned.context - 8
    assert cli.main(["evaluate", str(folder)]) == 2
    assert "is a model's folder, and no task is named" in capsys.readouterr().err
    assert cli.main(["export", str(folder), str(tmp_path / "merged")]) == 0
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged").eval()
    assert torch.allclose(logits(merged), logits(learned.module), atol=1e-5)


def test_a_run_from_an_adapted_one_learns_all_weights_or_asks_for_a_merged_model(run, recorded, base):
    trainer = Trainer(recipe_of("ppo", recorded, f"model.path={run.folder}"))
    assert not lora.is_adapted(trainer.actor.policy)
    learned = pretrained.load(policies.policy_folder(run.folder), device="cpu").module
    assert torch.allclose(logits(trainer.actor.policy), logits(learned), atol=1e-5)
    assert torch.equal(logits(trainer.actor.policy), logits(trainer.actor.reference))
    with pytest.raises(BadSetting, match="has adapters already; merge them with `loquent export"):
        Trainer(adapted("ppo", None, run.folder))


def test_a_run_whose_base_has_changed_or_gone_is_not_resumed(base, tmp_path):
    import shutil

    shutil.copytree(base, tmp_path / "base")
    recipe = adapted("ppo", None, tmp_path / "base")
    made = train(recipe, tmp_path / "run", progress=False)
    other = pretrained.load(base)
    with torch.no_grad():
        next(other.module.parameters())[0] += 1
    pretrained.save(other, tmp_path / "base")
    with pytest.raises(BadModel, match="other weights than those that the adapter learned with"):
        train(extend_recipe(made, ["training.updates=2"]), made.folder, progress=False, resume=True)
    shutil.rmtree(tmp_path / "base")
    with pytest.raises(BadModel, match=r"base"):
        load_run(made.folder).evaluate(episodes=2)


def test_a_damaged_adapter_in_a_checkpoint_is_refused(run, tmp_path):
    import shutil

    shutil.copytree(run.folder, tmp_path / "run")
    files = load_run(tmp_path / "run").files
    file = files.checkpoints.all()[-1] / names.POLICY / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:-4] + b"\x00\x00\x80\x3f")
    with pytest.raises(BadCheckpoint):
        load_run(tmp_path / "run").evaluate(episodes=2)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.lora.rank=-1", r"model.lora.rank must be at least 0"),
        ("model.lora.ranks=2", r"model.lora has no setting 'ranks'.*Nearest: rank"),
        ("model.lora=8", "must be a mapping|model.lora"),
        ("model.lora.dropout=2", r"model.lora.dropout must be in \[0, 0.9\]"),
        ("model.path=", "needs an existing model"),
        ("model.lora.targets=[nothing]", "the linear layers of this model are"),
    ],
)
def test_wrong_settings_are_named(override, message, base):
    with pytest.raises((BadSetting, BadModel), match=message):
        Trainer(adapted("ppo", None, base, override))


def test_values_with_adapters_of_their_own_are_refused(recorded, base):
    more = ("algorithm.backbones=lora", "algorithm.awac_weight=0")
    with pytest.raises(BadSetting, match="the policy has adapters already"):
        Trainer(adapted("ilql", recorded, base, *more))


def test_the_recipe_is_read_back_and_settings_are_described(base):
    from loquent.training.recipes.describing import describe

    recipe = adapted("ppo", None, base)
    assert recipe.resolve()["model"]["lora"] == {"rank": 2, "alpha": 4.0, "dropout": 0.0, "targets": []}
    assert recipes.Recipe.replace(recipe, "model.lora.targets=c_attn").model.lora.targets == ("c_attn",)
    assert "model.lora.rank (default 0, at least 0)" in describe("lora")
    assert "2106.09685" in describe("model.lora.rank")


def test_the_estimate_counts_adapters_alone(base):
    of_all = estimate(recipe_of("ppo", None, f"model.path={base}"))
    of_adapters = estimate(adapted("ppo", None, base))
    assert of_adapters.memory["weights"] < of_all.memory["weights"]
    assert of_adapters.memory["optimizer"] < of_all.memory["optimizer"] / 2
    assert of_adapters.memory["gradients"] < of_all.memory["gradients"] / 2
    assert of_adapters.disk["reference"] == 0
    assert of_adapters.disk["checkpoint"] < of_all.disk["checkpoint"] / 2
    assert json.dumps(of_adapters.as_json())


@pytest.mark.sweep("grpo-bart")
@pytest.mark.parametrize("shape", ["t5", "bart"])
@pytest.mark.parametrize("learner", ["ppo", "grpo"])
def test_encoder_decoders_take_adapters_too(learner, shape, tmp_path):
    from transformers import AutoModelForSeq2SeqLM

    made = pretrained.build(
        ["the film was good"] * 9, vocabulary=260, layers=1, width=16, heads=2, context=1024, key=Key(0),
        dropout=0.0, shape=shape,
    )  # fmt: skip
    pretrained.save(made, tmp_path / "base")
    whole = train(adapted(learner, None, tmp_path / "base"), tmp_path / "run", progress=False)
    (logs,) = whole.metrics
    alone = policies.export(whole.folder, tmp_path / "alone", adapter=True)
    assert AutoModelForSeq2SeqLM.from_pretrained(alone).config.is_encoder_decoder
    assert lora.is_pair(alone)
    assert logs["kl/reference"] == 0.0
    assert logs["policy/ratio_error"] < 1e-5
    again = load_run(whole.folder).evaluate(episodes=whole.recipe.training.final_episodes)
    assert again.values == whole.evaluation["values"]
