"""The PPO of TRL 1.12.0, the last release that has one: its own trainer, driven one iteration at a time.

Follows the notes on the stack, §4 (TRL's facts) and TRL's documentation: networks and reward as modules, the
task's reward at the end, whole answers of one length, dropout off, micro-batches of 16 gathered to one
gradient step. It is no dependency of ours; for this comparison alone: `pip install --no-deps --target FOLDER
trl==1.12.0 accelerate psutil`, then `PYTHONPATH=FOLDER`.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from loquent.pretrained import LanguageModel, hidden
from references.learner import Settings

MICRO = 16


class Judge(nn.Module):
    """The task's reward as TRL wants it: a trunk whose hidden states are the ids, and a score at every
    position.
    """

    base_model_prefix = "trunk"

    def __init__(self, wide: int, even: Tensor) -> None:
        super().__init__()
        self.wide, self.even = wide, even
        self.trunk = self.forward

    def forward(self, input_ids: Tensor, **options: Any) -> Any:
        """The ids as hidden states."""
        return SimpleNamespace(hidden_states=[input_ids[:, :, None].float()])

    def score(self, hidden: Tensor) -> Tensor:
        """The share of even characters in the answer up to every position."""
        even = self.even.to(hidden.device)[hidden[:, self.wide :, 0].long()].cumsum(1)
        even = even / torch.arange(1, hidden.shape[1] - self.wide + 1, device=hidden.device)
        return nn.functional.pad(even, (self.wide, 0))[:, :, None]


class TrlPpo:
    """TRL's trainer over a language model, prompts of one length and a reward of ids."""

    def __init__(
        self,
        language: LanguageModel,
        prompts: Sequence[Sequence[int]],
        settings: Settings,
        reward: Callable[[list[int]], float],
        dtype: str = "float32",
    ) -> None:
        import transformers
        from datasets import Dataset

        try:
            from trl.experimental.ppo import PPOConfig, PPOTrainer
        except ImportError as error:
            raise SystemExit(f"TRL 1.12.0 is missing ({error}): see {__file__}") from error
        policy = language.module
        config = copy.deepcopy(policy.config)
        config.num_labels = 1
        value = transformers.AutoModelForSequenceClassification.from_config(config)
        value.base_model.load_state_dict(policy.base_model.state_dict())
        size = len(language.tokenizer.get_vocab())
        # 0 is the padding, which no prompt may hold here
        ids = [[1 + i % (size - 1) for i in row] for row in prompts]
        micro = min(MICRO, len(prompts))
        of = settings
        names = {
            "num_ppo_epochs": of.epochs,
            "response_length": of.new,
            "kl_coef": of.beta,
            "learning_rate": of.learning_rate,
            "gamma": of.gamma,
        }
        names |= {
            "lam": of.lam,
            "cliprange": of.clip,
            "vf_coef": of.value_coefficient,
            "max_grad_norm": of.max_grad_norm,
        }
        batch = {
            "per_device_train_batch_size": micro,
            "gradient_accumulation_steps": len(prompts) // micro,
            "num_mini_batches": 1,
        }
        quiet = {
            "report_to": "none",
            "save_strategy": "no",
            "disable_tqdm": True,
            "num_sample_generations": 0,
            "eval_strategy": "no",
        }
        speed = {"local_rollout_forward_batch_size": len(prompts), "temperature": 1.0}
        speed |= {
            "use_cpu": policy.device.type == "cpu",
            "bf16": dtype == "bfloat16",
            "gradient_checkpointing": False,
        }
        self.trainer = PPOTrainer(
            args=PPOConfig(
                output_dir=tempfile.mkdtemp(), total_episodes=len(prompts), **names, **batch, **quiet, **speed
            ),
            processing_class=language.tokenizer,
            model=policy,
            ref_model=copy.deepcopy(policy),
            reward_model=Judge(len(ids[0]), torch.tensor([reward([i]) for i in range(size)])),
            value_model=value,
            train_dataset=Dataset.from_dict({"input_ids": ids}),
            eval_dataset=Dataset.from_dict({"input_ids": ids[:1]}),
        )
        self.wide = len(ids[0])
        self.trainer.callback_handler.callbacks.clear()
        self.iteration()

    def iteration(self) -> None:
        """One iteration, collection and learning."""
        self.trainer.train()

    def check(self, ours: Any) -> str:
        """That TRL's passes over its networks give what ours gives with their weights.

        Raises:
            AssertionError: log-probabilities or values differ.
        """
        from trl.experimental.ppo.ppo_trainer import forward

        model = self.trainer.model
        policy, critic = copy.deepcopy(ours.actor.policy), copy.deepcopy(ours.actor.critic)
        policy.load_state_dict(model.policy.state_dict())
        if critic.trunk is not None:
            critic.trunk.load_state_dict(model.critic_backbone.state_dict())
        critic.head.load_state_dict(model.value_model.score.state_dict())
        size = policy.get_input_embeddings().weight.shape[0]
        tokens = torch.randint(1, size, (4, self.wide + 6), generator=torch.Generator().manual_seed(0)).to(
            policy.device
        )
        with torch.no_grad():
            output, value = forward(model, tokens, 0)
            states = hidden(policy, tokens)
            apart = [
                float((output.logits.log_softmax(-1) - policy.lm_head(states).log_softmax(-1)).abs().max())
            ]
            if critic.trunk is not None:
                apart.append(float((value[:, :, 0] - critic(tokens)).abs().max()))
        assert max(apart) < 1e-4, f"log-probabilities and values differ by {apart}"
        return (
            f"log-probabilities{' and values' * (len(apart) > 1)} after an iteration of its, by its pass "
            f"and ours: equal within {max(apart):.0e}"
        )
