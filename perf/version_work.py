"""Workloads for `versions.py`: real vocabularies, dropout, equal and long prompts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import count
from typing import Any

import torch
import workloads
from learning import Ours
from references.learner import Settings

from loquent.core.seeding import Key
from loquent.models.decode.loop import Decoding, decode
from loquent.models.engine import Nucleus

Work = Callable[[], dict[str, Any]]


def decoding(
    size: str,
    *,
    rows: int = 64,
    wide: int = 64,
    new: int = 16,
    answers: int = 1,
    nucleus: bool = False,
    context: int = 1024,
    **settings: Any,
) -> Work:
    """Sampling of `rows` rows, `answers` of them for each prompt."""
    workloads.CONTEXT = context
    module = workloads.network(size)
    prompts = [prompt for prompt in workloads.prompts(size, rows // answers, wide) for _ in range(answers)]
    keys = [Key(0, ("row", i)) for i in range(rows)]
    chosen = Decoding(max_new_tokens=new, live=rows, **settings)
    mask = Nucleus(workloads.network(size, seed=1), 0.9) if nucleus else None

    def run() -> dict[str, Any]:
        drawn = decode(module, prompts, keys, chosen, end=(), pad=0, nucleus=mask)
        numbers = [float(one.tokens.drawn_logprob.sum()) for one in drawn]
        return {"draws": [one.tokens.ids.tolist() for one in drawn], "numbers": numbers}

    return run


def prefill(size: str, *, rows: int = 128, wide: int = 512) -> Work:
    """One join of long prompts into slots that exist already; `rise_mb` is how far memory rises in it."""
    from pathlib import Path

    from memory import memory

    from loquent.models.caches.rows import rows_of
    from loquent.models.caches.slots import Slots

    workloads.CONTEXT = 1024
    slots = rows_of(workloads.network(size), 0, rows, wide)
    assert isinstance(slots, Slots)
    rounds = count()

    @torch.inference_mode()
    def run() -> dict[str, Any]:
        prompts = workloads.prompts(size, rows, wide, next(rounds))  # slots copy prompts that they hold
        slots.keep(torch.arange(0))
        if slots.mask.shape[3] < wide:
            slots.join(workloads.prompts(size, 1, wide, -1))
            slots.keep(torch.arange(0))
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        start = memory("VmRSS")
        logits = slots.join(prompts).logits
        assert logits is not None
        rise = (memory("VmHWM") - start) / 2**20
        return {"draws": logits.argmax(1).tolist(), "numbers": logits.amax(1).tolist(), "rise_mb": rise}

    return run


def paired_prefill(size: str, *, rows: int = 32, wide: int = 512) -> Work:
    """One join of long prompts in an encoder-decoder; `rise_mb` is how far memory rises in it."""
    from pathlib import Path

    from memory import memory

    from loquent.models.caches.rows import rows_of
    from loquent.pretrained.encoder_decoders import source_ids

    module = workloads.network(size, "t5")
    prompts = [[*source_ids(ids), 0] for ids in workloads.prompts(size, rows, wide)]

    @torch.inference_mode()
    def run() -> dict[str, Any]:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        start = memory("VmRSS")
        logits = rows_of(module, 0, rows, wide).join(prompts).logits
        assert logits is not None
        rise = (memory("VmHWM") - start) / 2**20
        return {"draws": logits.argmax(1).tolist(), "numbers": logits.amax(1).tolist(), "rise_mb": rise}

    return run


def learning(size: str, *, episodes: int = 32, wide: int = 64, new: int = 48) -> Work:
    """One epoch of PPO on the same prepared episodes, again and again."""
    settings = Settings(new=new, epochs=1)
    ours = Ours(size, wide, settings, episodes, critic="head", minibatch=episodes)
    batch = ours.batch(ours.collect())

    def run() -> dict[str, Any]:
        logs = ours.ppo.update(ours.actor, batch)
        numbers = [value for value in logs.values() if value == value]
        return {"draws": batch.tokens.tolist(), "numbers": numbers, "gradient": gradient(ours.actor)}

    return run


def supervised(
    shape: str, *, dropout: float = 0.1, size: str = "small", rows: int = 16, wide: int = 128
) -> Work:
    """A gradient of supervised learning in training mode.

    Masks of different versions differ, so the states and the gradient are compared without dropout.
    """
    from loquent import pretrained

    # the commit before this one has no streams for dropout
    dropping = getattr(pretrained, "dropping", lambda key: nullcontext())
    module = workloads.network(size, shape)
    module.train()
    tokens = torch.tensor(workloads.prompts(size, rows, wide))
    wanted = torch.ones_like(tokens, dtype=torch.bool)

    def states(rate: float) -> torch.Tensor:
        for part in module.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = rate
            if hasattr(part, "attention_dropout"):
                part.attention_dropout = rate
        torch.manual_seed(0)
        module.zero_grad()
        with dropping(Key(0)):
            found: torch.Tensor = pretrained.hidden(module, tokens, wanted)
            found.square().mean().backward()
        return found.detach()

    compared = {"draws": [], "numbers": states(0.0)[:, -1].flatten().tolist(), "gradient": gradient(module)}

    def run() -> dict[str, Any]:
        states(dropout)
        return compared

    return run


def gradient(module: torch.nn.Module) -> list[float]:
    """The norm of each parameter's gradient, and its product with a fixed vector."""
    parts = [p.grad.flatten().double() for p in module.parameters() if p.grad is not None]
    fixed = [torch.arange(len(part), dtype=torch.float64).cos() for part in parts]
    return [float(x) for part, other in zip(parts, fixed, strict=True) for x in (part.norm(), part @ other)]


WORK: dict[str, Callable[[], Work]] = {
    "decode-wide-128": partial(decoding, "wide vocabulary"),
    "decode-wide-768": partial(decoding, "wide"),
    "decode-wide-top-k": partial(decoding, "wide vocabulary", top_k=50),
    "decode-wide-nucleus": partial(decoding, "wide vocabulary", nucleus=True, new=8),
    "learn-wide-128": partial(learning, "wide vocabulary"),
    "learn-wide-768": partial(learning, "wide"),
    "dropout-tiny": partial(supervised, "gpt2", size="tiny"),
    "dropout-small": partial(supervised, "gpt2"),
    "dropout-short": partial(supervised, "gpt2", size="tiny", rows=32, wide=32),
    "dropout-long": partial(supervised, "gpt2", size="tiny", rows=4, wide=256),
    "dropout-quick": partial(supervised, "gpt2", size="quick", rows=4, wide=8),
    "dropout-llama": partial(supervised, "llama"),
    "equal-prompts": partial(decoding, "small", rows=64, answers=8, wide=512, new=48),
    "long-prompts": partial(decoding, "small", rows=128, wide=512, new=8),
    "prefill": partial(prefill, "small"),
    "prefill-t5": partial(paired_prefill, "small"),
    "answers-96": partial(decoding, "small", new=96),
    "answers-384": partial(decoding, "small", new=384),
}
