"""A task and a model that learn in seconds: eight letters, one answer, and the share of the letter `a` in it
as reward.
"""

import json
import random
from dataclasses import replace

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.format.names import Plain
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.pretrained import LanguageModel

LETTERS = "abcdefgh"
END = "<|end|>"


class Letters(Task):
    """Sees one to four of the letters c to h, says what it likes, earns the share of the letter a."""

    spec = TaskSpec(id="letters", rewards=Record(share=1.0), invalid=("silence",))

    def rows(self, split):
        draw = random.Random(split)
        return [
            Row(f"{split}{i}", Record(text="".join(draw.choices(LETTERS[2:], k=1 + i % 4))))
            for i in range(64)
        ]

    def first(self, row, rng):
        return Opening(row["text"], Observation(row["text"]))

    def read(self, state, text):
        return text if text else Invalid("silence", text)

    def play(self, state, move):
        share = 0.0 if isinstance(move, Invalid) else move.count("a") / len(move)
        return Outcome(state, Observation(""), Record(share=share), "said")

    def expert(self, state):
        return "ab" * len(state)


TASK = Letters()


def language(seed=0, *, dropout=0.0, spread=0.4, layers=1, width=32, dtype=torch.float32) -> LanguageModel:
    """A GPT-2 over eight letters and an end token with random weights, spread wide enough that its choices
    differ.
    """
    vocabulary = {END: 0, **{letter: i for i, letter in enumerate(LETTERS, 1)}}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token=END, eos_token=END, pad_token=END)
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=32,
        n_embd=width,
        n_layer=layers,
        n_head=2,
        initializer_range=spread,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        bos_token_id=0,
        eos_token_id=0,
    )
    with borrow_generators(Key(seed, ("letters",))):
        module = GPT2LMHeadModel(config).to(dtype).eval()
    return LanguageModel(module, tokenizer)


def actor(
    seed=0, *, critic="network", reference="copy", decoding=None, evaluation=None, **of_language
) -> Actor:
    """A small actor; it draws up to six letters."""
    made = language(seed, **of_language)
    decoding = decoding or Decoding(max_new_tokens=6)
    return Actor.build(
        made,
        critic=critic,
        reference=reference,
        format=Plain(made.tokenizer),
        decoding=decoding,
        evaluation=evaluation or decoding,
        key=Key(seed, ("critic",)),
    )


def episodes(agent, count=16, number=0, *, seed=0, split="train", each=1):
    """`count` games of an agent, `each` on one row; `number` tells collections apart."""
    rows = TASK.rows(split)[: max(1, count // each)]
    return play(TASK, games(rows, each=each, first=each * number), agent, seed=seed, split=split)


def scored(algorithm, model, count=16, number=0, *, seed=0) -> TokenBatch:
    """One collection by the algorithm's own agent, as a scored batch that is not yet prepared.

    Learners that compare answers get four on each row.
    """
    each = 4 if algorithm.least_answers > 1 else 1
    played = episodes(algorithm.agent(model, False), count, number, seed=seed, each=each)
    return score(model, token_batch(played, model.format, TASK.spec.rewards, max_length=32))


def one_update(algorithm, model, number, *, count=16, seed=0):
    """Collect, learn, move on; returns the batch and all that was logged."""
    batch = algorithm.prepare(scored(algorithm, model, count, number, seed=seed))
    logs = algorithm.update(model, batch)
    return batch, {**logs, **algorithm.after_update(model)}


def mean_share(agent, *, seed=99, count=64, rounds=2):
    """Mean reward of an agent over many games and its standard error."""
    returns = torch.tensor(
        [
            e.total(TASK.spec.rewards)
            for i in range(rounds)
            for e in episodes(agent, count, i, seed=seed, split="test")
        ]
    )
    return float(returns.mean()), float(returns.std() / len(returns) ** 0.5)


def parameters(module) -> dict[str, torch.Tensor]:
    """A copy of a module's parameters."""
    return {name: p.detach().clone() for name, p in module.named_parameters()}


def ratio_error(algorithm, model, batch) -> float:
    """The largest |ratio - 1| over a batch."""
    with torch.no_grad():
        return float((algorithm.loss(model, batch)["policy/ratio"] - 1).abs().max())


def same(a, b) -> bool:
    """Equal to the bit: tensors, and mappings of them."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return torch.equal(a, b)


def gradients(algorithm, model, batch) -> dict[str, torch.Tensor]:
    """The gradient of the loss per action token, summed over micro-batches as the algorithm does it, without
    a step.
    """
    taken = {}
    step, algorithm.gradient.optimizer.step = (
        algorithm.gradient.optimizer.step,
        lambda: taken.update(
            {name: p.grad.clone() for name, p in algorithm.parameters.items() if p.grad is not None}
        ),
    )
    try:
        algorithm.update(model, batch)
    finally:
        algorithm.gradient.optimizer.step = step
    return taken


def padded(batch: TokenBatch, extra: int) -> TokenBatch:
    """The same batch with `extra` places of rubbish at the right of each row."""

    def longer(column):
        if column is None or column.dim() == 1:
            return column
        rubbish = (
            torch.zeros(len(column), extra, dtype=column.dtype)
            if column.dtype in (torch.bool, torch.long)
            else torch.full((len(column), extra), 7.0)
        )
        return torch.cat([column, rubbish.to(column.dtype)], 1)

    names = (
        "tokens",
        "real",
        "is_action",
        "turn",
        "reward",
        "drawn_logprob",
        "policy_logprob",
        "reference_logprob",
        "version",
        "value",
        "advantage",
        "target",
    )
    return replace(batch, **{name: longer(getattr(batch, name)) for name in names})


def through_json(state):
    """What a checkpoint does to a state: tensors beside it, everything else through JSON."""
    tensors = []

    def out(tree):
        if isinstance(tree, torch.Tensor):
            tensors.append(tree.clone())
            return {"tensor": len(tensors) - 1}
        return {name: out(item) for name, item in tree.items()} if isinstance(tree, dict) else tree

    def back(tree):
        if isinstance(tree, dict):
            return (
                tensors[tree["tensor"]]
                if set(tree) == {"tensor"}
                else {name: back(item) for name, item in tree.items()}
            )
        return tree

    return back(json.loads(json.dumps(out(state), allow_nan=False)))
