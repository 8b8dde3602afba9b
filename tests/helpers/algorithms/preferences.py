"""Answers to rows as a batch for learners from preferences, and TRL's own trainers of preferences."""

import warnings

import torch
import transformers

from helpers.algorithms.tiny_models import CAUSAL, module, tokenizer
from loquent.core.seeding import Key, borrow_generators
from loquent.models.tokens.batch import TokenBatch

PROMPTS = ["cd", "fghcd", "e", "gg", "hd", "cch", "ge", "dd"]
CHOSEN = ["ab", "aba", "ahh", "b", "abab", "a", "acdefg", "aa"]
REJECTED = ["h", "cd", "fghf", "hhhh", "b", "gggg", "c", "ed"]
PAIRED = {"prompt": PROMPTS, "chosen": CHOSEN, "rejected": REJECTED}
SINGLE = {
    "prompt": PROMPTS,
    "completion": [*CHOSEN[:3], *REJECTED[3:]],
    "label": [True] * 3 + [False] * 5,
}
CHANGED = {
    "use_cpu": True,
    "bf16": False,  # float32, so that rounding does not hide a difference
    "logging_strategy": "no",
    "save_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
}


def batch_of(rows):
    """(prompt, answer, group, reward) with ids as a batch; each row is an episode of one answer."""
    width = max(len(prompt) + len(answer) for prompt, answer, _, _ in rows)
    tokens = torch.zeros(len(rows), width, dtype=torch.long)
    real, is_action = (torch.zeros_like(tokens, dtype=torch.bool) for _ in range(2))
    reward = torch.zeros(tokens.shape)
    for i, (prompt, answer, _, value) in enumerate(rows):
        end = len(prompt) + len(answer)
        tokens[i, :end] = torch.tensor([*prompt, *answer])
        real[i, :end], is_action[i, len(prompt) : end], reward[i, end - 1] = True, True, value
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        turn=torch.where(is_action, 1, -1),
        reward=reward,
        ended=torch.ones(len(rows), dtype=torch.bool),
        episode=torch.arange(len(rows)),
        group=torch.tensor([group for _, _, group, _ in rows]),
    )


def of_trl(name, shape, folder, data, **settings):
    """The rows that a trainer of TRL made of data, and the loss and the gradient of each of its steps.

    Policy and reference are networks of the shape with the seeds 0 and 1.
    """
    import trl
    from datasets import Dataset
    from trl.experimental import orpo

    place = orpo if name == "ORPO" else trl
    losses, gradients = [], []

    class Recorder(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model, **more):
            gradients.append({path: p.grad.clone() for path, p in model.named_parameters()})

    class Trainer(getattr(place, f"{name}Trainer")):
        def compute_loss(self, *given, **more):
            loss = super().compute_loss(*given, **more)
            losses.append(float(loss.detach()))
            return loss

    config = getattr(place, f"{name}Config")(str(folder), **{"max_steps": 1, **CHANGED, **settings})
    reference = {} if name == "ORPO" else {"ref_model": module(CAUSAL[shape](), 1)}
    with borrow_generators(Key(0, ("trl",))), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names between TRL and transformers
        trainer = Trainer(
            module(CAUSAL[shape](), 0),
            args=config,
            train_dataset=Dataset.from_dict(data),
            processing_class=tokenizer(),
            callbacks=[Recorder()],
            **reference,
        )
        rows = [row for i, example in enumerate(trainer.train_dataset) for row in _rows(example, i)]
        trainer.train()
    return rows, losses, gradients


def _rows(example, i):
    """The rows of an example of TRL's prepared data."""
    if "completion_ids" in example:
        group = PROMPTS.index(example["prompt"])
        return [(example["prompt_ids"], example["completion_ids"], group, float(example["label"]))]
    if "chosen_ids" in example:
        answers = (example["chosen_ids"], 1.0), (example["rejected_ids"], 0.0)
        return [(example["prompt_ids"], answer, i, reward) for answer, reward in answers]
    rows = []
    for kind, reward in (("chosen", 1.0), ("rejected", 0.0)):
        ids, start = example[f"{kind}_input_ids"], example[f"{kind}_labels"].count(-100)
        rows.append((ids[:start], ids[start:], i, reward))
    return rows
