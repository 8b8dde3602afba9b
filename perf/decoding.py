"""Benchmarks of decoding: ours against the `generate` of transformers, on equal models, prompts and lengths
of answers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import measuring
import torch
import workloads
from references.generate import generate

from loquent.core.seeding import Key
from loquent.models.decode.loop import Decoding, decode
from loquent.pretrained.forward import choice

LIVE = 64
# of the largest logit: some units in the last place
TIES = {torch.float32: 1e-4, torch.bfloat16: 2**-5, torch.float16: 2**-8}


def decoding(
    rounds: int,
    *,
    size: str = "tiny",
    shape: str = "gpt2",
    own_forward: bool = False,
    rows: int = LIVE,
    ragged: bool = False,
    top_k: int = 0,
    device: str = "cpu",
    dtype: str = "float32",
) -> dict[str, Any]:
    """Sampling of `rows` prompts of 64 tokens, 48 new tokens each or (ragged) any number from 4 to 48.

    `own_forward`: the model's own forward pass also where we have one of ours.
    """
    wide, new = (8, 6) if size == "quick" else (64, 48)
    rows = min(rows, 12) if size == "quick" else rows
    prompts = workloads.prompts(size, rows, wide)
    lengths = (
        Key(0, ("lengths",)).generator().integers(min(4, new), new + 1, rows).tolist()
        if ragged
        else [new] * rows
    )
    theirs = workloads.network(size, shape, device=device, dtype=dtype)
    module = copy.deepcopy(theirs)
    keys = [Key(0, ("row", i)) for i in range(rows)]
    stop: list[Callable[[list[int]], bool] | None] = [
        (lambda ids, n=n: len(ids) >= n) if ragged else None for n in lengths
    ]

    def ours(method: str = "sample") -> list[list[int]]:
        how = Decoding(method=method, top_k=top_k if method == "sample" else 0, max_new_tokens=new, live=LIVE)
        with generic(own_forward):
            drawn = decode(module, prompts, keys, how, end=(), pad=0, stop=stop)
        return [one.tokens.ids.tolist() for one in drawn]

    def reference(**options: Any) -> list[list[int]]:
        options = options or {"do_sample": True, "top_k": top_k, "top_p": 1.0}
        return generate(theirs, prompts, new, batch=LIVE, lengths=lengths if ragged else None, **options)

    checked = agreement(theirs, prompts, ours("greedy"), reference(do_sample=False))
    assert [len(row) for row in ours()] == [len(row) for row in reference()] == lengths
    sides = measuring.alternate(ours, reference, rounds)
    return {"checked": checked, **measuring.summary(sides, sum(lengths), "tokens")}


def long(rounds: int, *, size: str = "small", device: str = "cpu", dtype: str = "float32") -> dict[str, Any]:
    """Sampling of 64 answers of 384 tokens against four times 96 tokens, both ours.

    Prompts have 64 tokens. The first tokens of long answers are those of short ones.
    """
    wide, few, times = (8, 6, 2) if size == "quick" else (64, 96, 4)
    workloads.CONTEXT = 1024
    module = workloads.network(size, device=device, dtype=dtype)
    prompts = workloads.prompts(size, LIVE, wide)
    keys = [Key(0, ("row", i)) for i in range(LIVE)]

    def answers(new: int) -> list[list[int]]:
        drawn = decode(module, prompts, keys, Decoding(max_new_tokens=new, live=LIVE), end=(), pad=0)
        return [one.tokens.ids.tolist() for one in drawn]

    short = answers(few)
    assert [ids[:few] for ids in answers(few * times)] == short, "long answers begin with other tokens"
    sides = measuring.alternate(
        lambda: answers(few * times), lambda: [answers(few) for _ in range(times)], rounds
    )
    checked = f"the first {few} tokens of long answers are identical to short answers"
    return {"checked": checked, **measuring.summary(sides, LIVE * few * times, "tokens")}


def compiled(
    rounds: int, *, size: str = "tiny", rows: int = 16, device: str = "cpu", dtype: str = "float32"
) -> dict[str, Any]:
    """Sampling of few rows with steps that torch compiles, against steps that it does not.

    Prompts have 64 tokens, answers 48. `compile_seconds`: a first call less a later one.
    """
    wide, new = (8, 6) if size == "quick" else (64, 48)
    module = workloads.network(size, device=device, dtype=dtype)
    prompts = workloads.prompts(size, rows, wide)
    keys = [Key(0, ("row", i)) for i in range(rows)]

    def answers(compiles: bool, method: str = "sample") -> list[list[int]]:
        settings = Decoding(method=method, max_new_tokens=new, live=rows, compile=compiles)
        drawn = decode(module, prompts, keys, settings, end=(), pad=0)
        return [one.tokens.ids.tolist() for one in drawn]

    first = measuring.timed(lambda: answers(True))
    for method in ("greedy", "sample"):
        assert answers(True, method) == answers(False, method), f"{method}: compiled steps give other tokens"
    sides = measuring.alternate(lambda: answers(True), lambda: answers(False), rounds)
    seconds = [max(0.0, first[i] - min(one[i] for one in sides.ours)) for i in (0, 1)]
    return {
        "checked": "greedy and drawn tokens are identical",
        **measuring.summary(sides, rows * new, "tokens"),
        "compile_seconds": round(seconds[0], 1),
        "compile_processor_seconds": round(seconds[1], 1),
    }


@torch.no_grad()
def agreement(
    module: Any, prompts: Sequence[list[int]], ours: list[list[int]], theirs: list[list[int]]
) -> str:
    """That both sides say the same when greedy, but for logits that are equal within rounding.

    Raises:
        AssertionError: they differ where the two tokens' logits do.
    """
    ties = 0
    for prompt, mine, other in zip(prompts, ours, theirs, strict=True):
        if mine != other:
            first = next(i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if a != b)
            logits = (
                module(torch.tensor([[*prompt, *mine[:first]]], device=module.device)).logits[0, -1].float()
            )
            apart = float((logits[mine[first]] - logits[other[first]]).abs())
            assert apart < TIES[module.dtype] * float(logits.abs().max()), (
                f"greedy answers differ at token {first}, where the logits are {apart} apart"
            )
            ties += 1
    return f"greedy tokens identical to generate's in {len(ours) - ties} of {len(ours)} rows" + (
        f", {ties} differ at a tie of logits" * bool(ties)
    )


@contextmanager
def generic(wanted: bool) -> Iterator[None]:
    """Without our forward passes inside, where `wanted`: what any other model gets."""
    passes = choice.PASSES
    choice.PASSES = () if wanted else passes
    try:
        yield
    finally:
        choice.PASSES = passes
