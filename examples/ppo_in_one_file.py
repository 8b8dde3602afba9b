"""PPO on a language model, in one file: read it from top to bottom.

A small GPT-2 reads film reviews for a moment, then continues them, and learns to write happy words. Nothing
is used but torch, transformers and a task of Loquent. A test holds losses and gradients equal to those of
Loquent's own PPO (`loquent train reviews_ppo`), which adds to this file: supports, several turns, resuming,
other models, and speed.

    python examples/ppo_in_one_file.py            about 20 seconds on one core

Source: proximal policy optimisation, arXiv:1707.06347v2, as in arXiv:2210.01241 sec. 3.
Shapes: B episodes, T tokens of a row (prompt and answer), A tokens of an answer, V words of the vocabulary.
"""

import copy
import os
from dataclasses import dataclass

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # before torch: waiting threads do not block other programs

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import loquent

END = "<|end|>"
HAPPY = {
    "loved",
    "admired",
    "enjoyed",
    "adored",
    "laughed",
    "rejoiced",
    "smiled",
    "cheered",
    "good",
    "worth",
    "recommend",
}


@dataclass(frozen=True)
class Settings:
    """The settings of PPO; the names are those of the recipes."""

    reading: int = 120  # gradient steps of language modelling before the first update
    updates: int = 12
    episodes: int = 64  # B: episodes of an update
    prompt: int = 8  # tokens of a prompt
    answer: int = 12  # A: the most tokens of an answer
    epochs: int = 4  # passes over the episodes of an update
    minibatch: int = 16  # episodes in one gradient step
    learning_rate: float = 5e-4
    weight_decay: float = 1e-6
    clip: float = 0.2  # ε of eq. 7
    gamma: float = 1.0  # discount per token
    lam: float = 0.95  # λ of GAE
    beta: float = 0.05  # coefficient of the KL penalty
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    max_grad_norm: float = 0.5


@dataclass
class Batch:
    """The episodes of an update. A column has one number for each token of an answer, [B, A]."""

    tokens: torch.Tensor  # [B, T]: prompt, answer, padding
    real: torch.Tensor  # bool: True for tokens that were drawn, False for the padding after the end
    reward: torch.Tensor  # on the last token of the answer
    old: torch.Tensor  # log π(a|s) when the token was drawn
    reference: torch.Tensor  # log π_ref(a|s)
    value: torch.Tensor  # V(s) when the token was drawn
    advantage: torch.Tensor | None = None
    target: torch.Tensor | None = None

    def take(self, rows):
        """The batch of some rows."""
        return Batch(**{name: column[rows] for name, column in vars(self).items()})


# ------------------------------------------------------------------------------------------ task and models


def make_tokenizer(texts):
    """A byte-level BPE tokenizer with one special token."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=800, special_tokens=[END], initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token=END, eos_token=END, pad_token=END)


class Critic(torch.nn.Module):
    """V(s) at every position: a linear layer on a copy of the policy's trunk."""

    def __init__(self, trunk):
        super().__init__()
        self.trunk, self.head = copy.deepcopy(trunk), torch.nn.Linear(trunk.config.n_embd, 1, bias=False)

    def forward(self, tokens):
        """[B, T] -> [B, T]"""
        return self.head(self.trunk(tokens).last_hidden_state)[..., 0]


def make_policy(tokenizer):
    """A GPT-2 with new weights, without dropout, so that the ratio of an unchanged policy is 1."""
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=64, n_layer=2, n_head=2, initializer_range=0.07,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config).eval()


def read_reviews(policy, tokenizer, texts, steps, generator):
    """Language modelling for a moment, so that the policy writes words at all."""
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = torch.randint(len(texts), (32,), generator=generator).tolist()
        tokens = torch.tensor([tokenizer(texts[row]).input_ids[-32:] for row in rows])
        logits = policy(tokens).logits[:, :-1]
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()


# ------------------------------------------------------------------------------------------------ collection


@torch.no_grad()
def draw_answers(policy, prompts, length, generator):
    """Draw up to `length` tokens after each prompt, by the full softmax, with the keys and values kept.

    prompts: [B, P]. Returns tokens [B, P + length], and `real` [B, length].
    """
    tokens, past, pieces = prompts, None, []
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(length):
        output = policy(tokens, past_key_values=past, use_cache=True)
        past = output.past_key_values
        probability = output.logits[:, -1].softmax(-1)
        drawn = torch.multinomial(probability, 1, generator=generator)[:, 0]
        pieces.append((torch.where(ended, policy.config.eos_token_id, drawn), ~ended))
        ended = ended | (drawn == policy.config.eos_token_id)
        tokens = drawn[:, None]
    answers, real = (torch.stack(column, 1) for column in zip(*pieces, strict=True))
    return torch.cat([prompts, answers], 1), real


def happiness(answer):
    """The reward of an answer: its happy words, at most 3."""
    return min(3.0, sum(word.strip(".,!") in HAPPY for word in answer.lower().split()))


def play(task, rows, policy, tokenizer, settings, number, generator):
    """Play one episode on each row: show the prompt, answer it, and let the task end the episode."""
    start = [task.start(row, loquent.Key(number)) for row in rows]
    texts = [step.observation.text for step in start]
    prompts = torch.tensor([tokenizer(text).input_ids[-settings.prompt :] for text in texts])
    tokens, real = draw_answers(policy, prompts, settings.answer, generator)
    answers = [
        tokenizer.decode(ids[real_], skip_special_tokens=True)
        for ids, real_ in zip(tokens[:, settings.prompt :], real, strict=True)
    ]
    for step, answer in zip(start, answers, strict=True):
        assert task.act(step, answer).ended == "end"
    return tokens, real, torch.tensor([float(happiness(answer)) for answer in answers])


# --------------------------------------------------------------------------------------------------- learning


def action_logprobs(model, tokens, actions):
    """log π(a|s) of the last `actions` tokens, and the entropy of each distribution: [B, A] both.

    The state of a token is the position before it, so position t predicts token t + 1.
    """
    logits = model(tokens).logits[:, -actions - 1 : -1]
    logprobs = logits.log_softmax(-1)
    chosen = logprobs.gather(-1, tokens[:, -actions:, None])[..., 0]
    return chosen, -(logprobs.exp() * logprobs).sum(-1)


@torch.no_grad()
def score(policy, critic, reference, tokens, real, returns):
    """The batch of an update, with everything that was true when its tokens were drawn."""
    actions = real.shape[1]
    last = real.sum(1) - 1
    reward = torch.zeros(real.shape).scatter(1, last[:, None], returns[:, None])
    return Batch(
        tokens, real, reward,
        old=action_logprobs(policy, tokens, actions)[0],
        reference=action_logprobs(reference, tokens, actions)[0],
        value=critic(tokens)[:, -actions - 1 : -1],
    )  # fmt: skip


def with_advantages(batch, settings):
    """Generalised advantage estimation (arXiv:1506.02438) on the penalised reward; the episode ends."""
    reward = batch.reward - settings.beta * (batch.old - batch.reference)  # r - β KL, 2210.01241 eq. 1
    advantage, next_value, next_advantage = torch.zeros_like(reward), 0.0, 0.0
    for t in reversed(range(reward.shape[1])):
        delta = reward[:, t] + settings.gamma * next_value - batch.value[:, t]  # δ_t = r_t + γ V_{t+1} - V_t
        current = delta + settings.gamma * settings.lam * next_advantage  # Â_t = δ_t + γλ Â_{t+1}
        advantage[:, t] = current * batch.real[:, t]
        next_value, next_advantage = batch.value[:, t] * batch.real[:, t], advantage[:, t]
    return Batch(**{**vars(batch), "advantage": advantage, "target": (advantage + batch.value) * batch.real})


def ppo_loss(policy, critic, batch, settings):
    """The loss of a minibatch: a mean over its drawn tokens."""
    real, actions = batch.real, batch.real.shape[1]
    new, entropy = action_logprobs(policy, batch.tokens, actions)
    value = critic(batch.tokens)[:, -actions - 1 : -1]
    advantage = batch.advantage[real]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)  # within the minibatch
    ratio = (new - batch.old)[real].exp()  # r_t(θ), eq. 6
    bounded = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    surrogate = -torch.minimum(ratio * advantage, bounded * advantage).mean()  # -L^CLIP, eq. 7
    error = F.mse_loss(value[real], batch.target[real])  # L^VF, eq. 9
    bonus = settings.entropy_coefficient * entropy[real].mean()
    return surrogate + settings.value_coefficient * error - bonus


def make_optimizer(policy, critic, settings):
    """AdamW, with weight decay on matrices only."""
    parameters = [*policy.parameters(), *critic.parameters()]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def learn(policy, critic, optimizer, batch, settings, generator):
    """All epochs over one batch, each in a new order."""
    for _ in range(settings.epochs):
        for rows in torch.randperm(len(batch.tokens), generator=generator).split(settings.minibatch):
            optimizer.zero_grad()
            ppo_loss(policy, critic, batch.take(rows), settings).backward()
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
            optimizer.step()


def main(settings=Settings()):
    """Train, and print the mean reward of each update; returns these means."""
    torch.manual_seed(0)  # the weights
    generator = torch.Generator().manual_seed(1)  # the drawn tokens and the order of minibatches
    task = loquent.task("generation", limit=2000)
    rows = task.rows("train")
    tokenizer = make_tokenizer(row["text"] for row in rows)
    policy = make_policy(tokenizer)
    read_reviews(policy, tokenizer, [row["text"] for row in rows], settings.reading, generator)
    critic, reference = Critic(policy.transformer), copy.deepcopy(policy).requires_grad_(False)
    optimizer, means = make_optimizer(policy, critic, settings), []
    for update in range(settings.updates):
        order = torch.randperm(len(rows), generator=generator)[: settings.episodes].tolist()
        chosen = [rows[i] for i in order]
        tokens, real, returns = play(task, chosen, policy, tokenizer, settings, update, generator)
        batch = with_advantages(score(policy, critic, reference, tokens, real, returns), settings)
        learn(policy, critic, optimizer, batch, settings, generator)
        means.append(float(returns.mean()))
        kl = float((batch.old - batch.reference)[real].mean())
        print(f"update {update + 1}: reward {means[-1]:.3f}, KL per token {kl:.3f}")
    return means


if __name__ == "__main__":
    main()
