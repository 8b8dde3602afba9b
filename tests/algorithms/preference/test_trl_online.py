"""Steps of TRL's own trainer of online DPO, and our learner with the preset `trl` on the same answers.

TRL draws two answers to each prompt, of the policy that is learning. Our learner gets these ids and their
rewards; its losses and the gradients of all steps must be TRL's. A reward without ties orders the answers:
TRL takes the first of equal answers as the better one, and here equal answers make no pair.
"""

import dataclasses
import warnings

import pytest
import transformers

from helpers.algorithms.preferences import CHANGED, PROMPTS, batch_of
from helpers.algorithms.tiny_models import llama, module, tokenizer
from loquent.algorithms.preference.online_dpo import Config, OnlineDPO
from loquent.core.seeding import Key, borrow_generators
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.pretrained import LanguageModel

pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
LONGEST, COUNT, STEPS = 8, len(PROMPTS), 3
FAST = {"learning_rate": 0.01, "max_steps": STEPS}
OWN_FAST = {"learning_rate": 0.01, "total_steps": STEPS}
OTHER = {
    "beta": 0.2,
    "loss_type": "ipo",
    "max_length": 9,
    "max_grad_norm": 0.01,
    "lr_scheduler_type": "constant",
}


def reward(ids):
    """No two answers that a random network gives are equally good."""
    return sum((i + 1) * 10**-place for place, i in enumerate(ids))


def theirs(folder, changes):
    """The answers of each step with their prompts, and the loss and the gradient of each step."""
    from datasets import Dataset
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    answers, losses, gradients = [], [], []

    def judge(prompts, completion_ids, **columns):
        ends = [ids.index(0) + 1 if 0 in ids else len(ids) for ids in completion_ids]
        given = [ids[:end] for ids, end in zip(completion_ids, ends, strict=True)]
        answers.append(list(zip(prompts, given, strict=True)))
        return [reward(ids) for ids in given]

    class Recorder(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model, **more):
            gradients.append({path: p.grad.clone() for path, p in model.named_parameters()})

    class Trainer(OnlineDPOTrainer):
        def training_step(self, *given, **more):
            losses.append(loss := super().training_step(*given, **more))
            return loss

    settings = {**CHANGED, "max_new_tokens": LONGEST, "max_length": 32, **FAST, **changes}
    with borrow_generators(Key(0, ("trl",))), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names between TRL and transformers
        Trainer(
            module(llama(), 0),
            ref_model=module(llama(), 1),
            reward_funcs=judge,
            args=OnlineDPOConfig(str(folder), **settings),
            train_dataset=Dataset.from_dict({"prompt": PROMPTS}),
            processing_class=tokenizer(),
            callbacks=[Recorder()],
        ).train()
    return answers, [float(loss) for loss in losses], gradients


def ours(answers, **changes):
    """The loss and the gradient of each step of our learner with the preset."""
    policy, reference = (LanguageModel(module(llama(), seed), tokenizer()) for seed in (0, 1))
    decoding = Decoding(max_new_tokens=LONGEST, temperature=0.9)
    model = Actor.build(policy, critic="none", reference=reference, decoding=decoding, key=Key(0))
    learner = OnlineDPO(Config(**{**Config.presets["trl"], **OWN_FAST, **changes}), model)
    losses, gradients, parameters = [], [], dict(policy.module.named_parameters())
    learner.gradient.optimizer.register_step_pre_hook(
        lambda *given: gradients.append({path: p.grad.clone() for path, p in parameters.items()})
    )
    for given in answers:
        rows = [
            (tokenizer()(prompt)["input_ids"], ids, i % COUNT, reward(ids))
            for i, (prompt, ids) in enumerate(given)
        ]
        batch = learner.prepare(score(model, batch_of(rows), tempered=learner.tempered))
        losses.append(learner.update(model, batch)["preference/loss"])
    return losses, gradients


def apart(ours, theirs):
    """The largest difference of gradients, relative to the largest entry of each of TRL's."""
    return max(
        max(float((own[path] - other[path]).abs().max()) for path in other)
        / max(float(part.abs().max()) for part in other.values())
        for own, other in zip(ours, theirs, strict=True)
    )


def test_the_preset_learns_as_the_trainer_of_trl(tmp_path):
    answers, losses, gradients = theirs(tmp_path, {})
    assert [len(given) for given in answers] == [2 * COUNT] * STEPS
    assert all(a != b for given in answers for a, b in zip(given, given[COUNT:], strict=False))
    found = ours(answers)
    assert found[0] == pytest.approx(losses, abs=1e-6)
    assert apart(found[1], gradients) < 1e-5


@pytest.mark.sweep(2)
@pytest.mark.parametrize("setting", OTHER)
def test_another_default_of_trl_is_another_gradient(setting, tmp_path):
    answers, _, gradients = theirs(tmp_path, {setting: OTHER[setting]})
    assert apart(ours(answers)[1], gradients) > 1e-3


def test_the_preset_has_their_defaults():
    from trl.experimental.online_dpo import OnlineDPOConfig

    theirs = {
        field.name: field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        for field in dataclasses.fields(OnlineDPOConfig)
    }
    preset = Config.presets["trl"]
    shared = {name: preset[name] for name in preset if name in theirs}
    assert set(shared) >= {"learning_rate", "weight_decay", "max_grad_norm", "beta"}
    assert {**shared, "beta": [preset["beta"]]} == {name: theirs[name] for name in shared}
    assert preset["loss"] == theirs["loss_type"]
    assert preset["schedule"] == theirs["lr_scheduler_type"]
    assert theirs["optim"].startswith("adamw")
    assert (theirs["warmup_steps"], theirs["num_train_epochs"]) == (preset["warmup"], 3.0)
    assert theirs["disable_dropout"]
    assert (theirs["temperature"], theirs["max_new_tokens"], theirs["max_length"]) == (0.9, 64, 512)
    assert theirs["missing_eos_penalty"] is None
    assert theirs["per_device_train_batch_size"] == 8
