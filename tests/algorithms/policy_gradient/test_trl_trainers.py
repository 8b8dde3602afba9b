"""One step of TRL's own trainers with their default configuration, and our learners with the preset `trl`.

TRL draws the answers. Our learner gets the same network, prompts, answers and rewards; its losses and the
gradients of all its steps must be TRL's. What differs from TRL's defaults is in `CHANGED` and in the cases.
"""

import math
import warnings
from dataclasses import replace

import pytest
import torch
import transformers

from helpers.algorithms.tiny_models import SIZE, llama, module, tokenizer
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.policy_gradient.rloo import RLOO
from loquent.core.seeding import Key, borrow_generators
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.support import Support
from loquent.pretrained import LanguageModel

trl = pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
LONGEST = 8
CHANGED = {
    "use_cpu": True,
    "bf16": False,  # float32, so that rounding does not hide a difference
    "max_completion_length": LONGEST,  # 512: the answers of a random network are long
    "per_device_train_batch_size": 16,  # 8 is one prompt of GRPO's: two are needed to see the groups
    "logging_strategy": "no",
    "save_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
}
FAST = {"learning_rate": 0.03, "num_iterations": 3, "max_steps": 3}  # ratios other than 1
OWN_FAST = {"learning_rate": 0.03, "epochs": 3, "total_steps": 3}
MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
ENGINE = "vllm_importance_sampling"


def fast(theirs, ours, temperature=1.0, **both):
    """Three steps of GRPO: TRL's changes, ours, and those that have the same name."""
    return GRPO, {**FAST, **theirs, **both}, {**OWN_FAST, **ours, **both}, temperature


CASES = {  # the learner, changes of TRL's configuration, ours of the preset, and the temperature
    "grpo": (GRPO, {}, {}, 1.0),
    "grpo, kl": fast({}, {}, beta=0.04),
    "grpo, kl, temperature": fast({"temperature": 0.6}, {}, 0.6, beta=0.04),
    "delta": fast({"delta": 1.02, "epsilon": 0.01}, {"cap": 1.02, "clip": 0.01}, learning_rate=0.005),
    "cispo": fast(
        {"loss_type": "cispo", "epsilon_high": 1.02}, {"surrogate": "cispo", "cap": 1.02}, learning_rate=0.005
    ),
    "sapo": fast(
        {"loss_type": "sapo", "sapo_temperature_pos": 4.0, "sapo_temperature_neg": 9.0},
        {"surrogate": "sapo", "length": "answer", "sapo_positive": 4.0, "sapo_negative": 9.0},
    ),
    "overlong, answers": fast(
        {"mask_truncated_completions": True, "loss_type": "grpo"},
        {"drop_overlong": True, "length": "answer"}, beta=0.04,
    ),
    "overlong, constant": fast(
        {"mask_truncated_completions": True, "loss_type": "dr_grpo", "scale_rewards": "batch"},
        {"drop_overlong": True, "length": "constant", "deviation": "batch"},
    ),
    "entropy": fast(
        {"entropy_coef": 0.3, "mask_truncated_completions": True, "temperature": 0.6},
        {"entropy_coefficient": 0.3, "drop_overlong": True}, 0.6,
    ),
    "sequence": fast(
        {"importance_sampling_level": "sequence", "loss_type": "grpo"},
        {"importance": "sequence", "length": "answer"}, beta=0.04,
    ),
    **{
        mode: fast(
            {f"{ENGINE}_mode": mode, f"{ENGINE}_clip_max": 1.1, f"{ENGINE}_clip_min": 0.8},
            {"engine_weight": mode, "engine_weight_max": 1.1, "engine_weight_min": 0.8}, beta=0.04,
        )
        for mode in MODES
    },
    "rloo": (RLOO, {}, {}, 1.0),
    "rloo, temperature": (RLOO, {"temperature": 0.6, **FAST}, OWN_FAST, 0.6),
}  # fmt: skip
OTHER_DEFAULTS = {
    "use_bias_correction_kl": False, "scale_rewards": "none", "loss_type": "grpo", "epsilon": 0.01,
    "temperature": 0.9, "max_grad_norm": 0.1, "lr_scheduler_type": "constant",
    "delta": 1.01, "mask_truncated_completions": True, "entropy_coef": 0.1,
}  # fmt: skip


def reward(completion_ids, **columns):
    """The share of even ids."""
    return [sum(i % 2 == 0 for i in ids) / len(ids) for ids in completion_ids]


def by_engine(ids):
    """What another engine says of its tokens: made up, and near the log-probabilities of a new network."""
    return [0.2 * math.sin(7 * i + n) - math.log(SIZE) for n, i in enumerate(ids)]


def theirs(kind, folder, changes, foreign=False):
    """TRL's answers with their prompts, and the loss and the gradient of each step.

    With `foreign`, TRL believes that an engine drew the answers, which says `by_engine` of them.
    """
    from datasets import Dataset

    answers, losses, gradients = [], [], []
    name = kind.__name__

    def recorded(prompts, completion_ids, **columns):
        answers.extend(zip(prompts, completion_ids, strict=True))
        return reward(completion_ids)

    class Recorder(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model, **more):
            gradients.append({path: p.grad.clone() for path, p in model.named_parameters()})

    class Trainer(getattr(trl, f"{name}Trainer")):
        def compute_loss(self, *given, **more):
            loss = super().compute_loss(*given, **more)
            losses.append(float(loss.detach()))
            return loss

        def _generate(self, prompts):
            self.use_vllm = False
            ours = list(super()._generate(prompts))
            if foreign:
                assert ours[4] is None  # sampling_per_token_logps_list
                self.use_vllm, ours[4] = True, [by_engine(ids) for ids in ours[1]]
            return tuple(ours)

    module(llama(), 1).save_pretrained(folder / "reference")
    policy = module(llama(), 0)
    policy.config._name_or_path = str(folder / "reference")  # where TRL reads its reference
    settings = getattr(trl, f"{name}Config")(str(folder / "run"), **{"max_steps": 1, **CHANGED, **changes})
    data = Dataset.from_dict({"prompt": ["cd", "fghcd", "e", "gg", "hd", "cch", "ge", "dd"]})
    with borrow_generators(Key(0, ("trl",))), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names between TRL and transformers
        made = {"processing_class": tokenizer(), "callbacks": [Recorder()]}
        Trainer(policy, recorded, settings, data, **made).train()
    return answers, losses, gradients


def batch_of(answers, temperature):
    """TRL's answers as a batch."""
    words = tokenizer()
    prompts = [words(prompt)["input_ids"] for prompt, _ in answers]
    rows = [prompt + ids for prompt, (_, ids) in zip(prompts, answers, strict=True)]
    shape = len(rows), max(map(len, rows))
    tokens = torch.zeros(shape, dtype=torch.long)
    real, is_action = (torch.zeros(shape, dtype=torch.bool) for _ in range(2))
    rewards = torch.zeros(shape)
    for i, (row, prompt, (_, ids)) in enumerate(zip(rows, prompts, answers, strict=True)):
        tokens[i, : len(row)] = torch.tensor(row)
        real[i, : len(row)] = True
        is_action[i, len(prompt) : len(row)] = True
        rewards[i, len(row) - 1] = reward([ids])[0]
    logprobs = torch.zeros(shape)
    logprobs[is_action] = torch.tensor([said for _, ids in answers for said in by_engine(ids)])
    texts = [prompt for prompt, _ in answers]
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        turn=torch.where(is_action, 1, -1),
        reward=rewards,
        ended=torch.ones(len(rows), dtype=torch.bool),
        episode=torch.arange(len(rows)),
        group=torch.tensor([sorted(set(texts)).index(text) for text in texts]),
        overlong=torch.tensor([ids[-1] != words.eos_token_id for _, ids in answers]),
        drawn_logprob=logprobs,
        support=Support.full(int(is_action.sum()), SIZE, temperature),
    )


def ours(kind, batch, changes, foreign=False):
    """The loss before the first step, and the gradient of each step, of our learner with the preset."""
    engine = {"engine": "another:Engine"} if foreign else {}
    policy, reference = (LanguageModel(module(llama(), seed), tokenizer()) for seed in (0, 1))
    model = Actor.build(
        policy,
        critic="none",
        reference=reference,
        decoding=Decoding(max_new_tokens=LONGEST, **engine),
        key=Key(0),
    )
    learner = kind(kind.Config(**{**kind.Config.presets["trl"], "total_steps": 1, **changes}), model)
    prepared = learner.prepare(score(model, batch, tempered=learner.tempered, support=learner.rescores))
    parts = [learner.loss(model, prepared.take(rows)) for rows in learner.micro_batches(prepared)]
    loss = sum(part["total"].sum() for part in parts) / learner.divisor(prepared)
    gradients, parameters = [], dict(policy.module.named_parameters())
    learner.gradient.optimizer.register_step_pre_hook(
        lambda *given: gradients.append({path: p.grad.clone() for path, p in parameters.items()})
    )
    learner.update(model, prepared)
    return float(loss.detach()), gradients


def apart(one, other):
    """The largest difference of two gradients, relative to the largest entry of the second."""
    largest = max(float(part.abs().max()) for part in other.values())
    return max(float((one[path] - other[path]).abs().max()) for path in other) / largest


@pytest.mark.sweep("grpo, kl, temperature", "entropy", "sequence_mask", "rloo, temperature")
@pytest.mark.parametrize("name", CASES)
def test_the_preset_learns_as_the_trainer_of_trl(name, tmp_path):
    (kind, changes, own, temperature), foreign = CASES[name], name in MODES
    answers, losses, gradients = theirs(kind, tmp_path, changes, foreign)
    loss, found = ours(kind, batch_of(answers, temperature), own, foreign)
    assert loss == pytest.approx(losses[0], abs=1e-6)
    assert len(found) == len(gradients) == changes.get("max_steps", 1)
    assert max(apart(*pair) for pair in zip(found, gradients, strict=True)) < 1e-5
    if temperature != 1:
        wrong = {**own, "kl_temperature": "one"}
        assert apart(ours(kind, batch_of(answers, temperature), wrong)[1][0], gradients[0]) > 1e-2


@pytest.mark.sweep(3)
@pytest.mark.parametrize("setting", OTHER_DEFAULTS)
def test_another_default_of_trl_is_another_gradient(setting, tmp_path):
    kind, changes, own, temperature = CASES["grpo, kl"]
    answers, _, gradients = theirs(kind, tmp_path, {**changes, setting: OTHER_DEFAULTS[setting]})
    found = ours(kind, batch_of(answers, temperature), own)[1]
    assert max(apart(*pair) for pair in zip(found, gradients, strict=True)) > 1e-3


def test_the_kl_at_the_temperature_of_decoding_by_hand():
    model = Actor.build(
        LanguageModel(module(llama(), 0), tokenizer()),
        critic="none",
        reference=LanguageModel(module(llama(), 1), tokenizer()),
        decoding=Decoding(max_new_tokens=LONGEST),
        key=Key(0),
    )
    batch = batch_of([("cd", [3, 5, 0])], 0.5)
    for tempered, divisor in ((False, 1.0), (True, 0.5)):
        scored = score(model, batch, tempered=tempered)
        for network, column in ((model.policy, "policy_logprob"), (model.reference, "reference_logprob")):
            logits = network(input_ids=batch.tokens).logits[0, 1:4].detach() / divisor
            wanted = logits.log_softmax(-1).gather(1, torch.tensor([[3], [5], [0]]))[:, 0]
            assert torch.allclose(getattr(scored, column)[batch.is_action], wanted, atol=1e-5)
    assert torch.equal(replace(scored, tempered=False).policy_logprob, scored.policy_logprob)
