"""The GRPO of TRL 1.16: its own trainer, driven one step at a time.

Each step is `GRPOTrainer.training_step`, which generates, scores and differentiates, then clipping and AdamW,
as in its training loop (arXiv:2402.03300 §4.1). Dropout and gradient checkpointing are off, and all answers
have one length. It is no dependency of ours; for this comparison alone: `pip install --no-deps --target
FOLDER trl==1.16.0 accelerate psutil`, then `PYTHONPATH=FOLDER`.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence

import torch

from loquent import pretrained
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import LanguageModel


class TrlGrpo:
    """TRL's trainer over a language model, prompts of one length and a reward of texts.

    Args:
        each: answers to a prompt; a step takes all prompts.
    """

    def __init__(
        self,
        language: LanguageModel,
        prompts: Sequence[str],
        reward: Callable[[str], float],
        *,
        each: int,
        new: int,
        beta: float,
        learning_rate: float,
    ) -> None:
        from datasets import Dataset

        try:
            from trl import GRPOConfig, GRPOTrainer
        except ImportError as error:
            raise SystemExit(f"TRL 1.16.0 is missing ({error}): see {__file__}") from error
        folder = tempfile.mkdtemp()  # the trainer loads its reference by the name of the model
        pretrained.save(language, folder)
        quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no"}
        self.trainer = GRPOTrainer(
            folder,
            lambda completions, **columns: [reward(text) for text in completions],
            GRPOConfig(
                output_dir=tempfile.mkdtemp(),
                per_device_train_batch_size=len(prompts) * each,
                gradient_accumulation_steps=1,
                num_generations=each,
                max_completion_length=new,
                generation_kwargs={"min_new_tokens": new},
                temperature=1.0,
                top_k=0,
                loss_type="grpo",
                beta=beta,
                learning_rate=learning_rate,
                lr_scheduler_type="constant",
                max_grad_norm=1.0,
                max_steps=1,
                disable_dropout=True,
                gradient_checkpointing=False,
                bf16=False,
                model_init_kwargs={"dtype": "float32"},
                use_cpu=language.module.device.type == "cpu",
                dataloader_pin_memory=False,
                **quiet,
            ),
            train_dataset=Dataset.from_dict({"prompt": list(prompts)}),
            processing_class=language.tokenizer,
        )
        self.trainer.callback_handler.callbacks.clear()
        self.trainer.train()  # one step, which makes the optimizer
        self.batches = itertools.chain.from_iterable(
            self.trainer.get_train_dataloader() for _ in itertools.count()
        )

    def iteration(self) -> None:
        """One step, collection and learning."""
        trainer = self.trainer
        trainer.training_step(trainer.model_wrapped, next(self.batches), None)
        trainer.accelerator.clip_grad_norm_(trainer.model.parameters(), 1.0)
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()

    @torch.no_grad()
    def logprobs(self, batch: TokenBatch) -> torch.Tensor:
        """The log-probabilities of a batch's action tokens by TRL's function, for rows of one length."""
        new = int(batch.is_action[0].sum())
        found, *_ = self.trainer._get_per_token_logps_and_entropies(
            self.trainer.model, batch.tokens, torch.ones_like(batch.tokens), new
        )
        return found.flatten()
