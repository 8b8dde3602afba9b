"""Speed and memory as ratios: `python perf/run.py NAME [--json]`, with the options that --help lists.

Every benchmark compares our output with the reference's first, then times both in alternating rounds.
docs/speed.md tells how to read it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# before torch: spinning threads of one process starve another's
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
sys.path.insert(0, str(Path(__file__).parent))

import metrics  # it loads no torch


@dataclass(frozen=True)
class Benchmark:
    """What is measured, by which function, and the ratio we mean to reach at least."""

    about: str
    module: str
    function: str
    target: float
    options: dict[str, Any] = field(default_factory=dict)
    rounds: int = 9


BENCHMARKS = {
    "decode-equal": Benchmark(
        "sampling, batch 64, equal lengths, GPT-2-shaped, our forward pass", "decoding", "decoding", 1.8
    ),
    "decode-top-k": Benchmark(
        "the same, drawn from the 50 likeliest tokens", "decoding", "decoding", 1.8, {"top_k": 50}
    ),
    "decode-own-forward": Benchmark(
        "a GPT-2-shaped model by its own forward pass", "decoding", "decoding", 1.15, {"own_forward": True}
    ),
    "decode-llama": Benchmark(
        "a Llama-shaped model, our forward pass", "decoding", "decoding", 1.15, {"shape": "llama"}
    ),
    "decode-ragged": Benchmark(
        "512 prompts, answers end uniformly between 4 and 48 tokens",
        "decoding",
        "decoding",
        2.0,
        {"rows": 512, "ragged": True},
        5,
    ),
    "decode-long": Benchmark(
        "tokens a second of 384 new tokens against 96, both ours",
        "decoding",
        "long",
        0.85,
        {"size": "small"},
        5,
    ),
    "decode-compiled": Benchmark(
        "16 rows with steps that torch compiles, against ours without", "decoding", "compiled", 1.0, {}, 5
    ),
    "ppo-old-way-24": Benchmark(
        "a PPO iteration against RL4LMs' way, 24 new tokens", "learning", "old_way", 20, {"new": 24}, 5
    ),
    "ppo-old-way-48": Benchmark(
        "a PPO iteration against RL4LMs' way, 48 new tokens", "learning", "old_way", 35, {"new": 48}, 5
    ),
    "ppo-old-way-96": Benchmark(
        "a PPO iteration against RL4LMs' way, 96 new tokens", "learning", "old_way", 75, {"new": 96}, 5
    ),
    "ppo-modern-loop": Benchmark(
        "a PPO iteration against a plain modern loop", "learning", "modern_loop", 1.3, {}, 5
    ),
    "ppo-t5-modern-loop": Benchmark(
        "the same for a T5-shaped encoder-decoder", "learning", "modern_pair_loop", 1.3, {}, 5
    ),
    **{
        f"full-{shape}-{algorithm}": Benchmark(
            f"{algorithm.upper()} with a model of {about}",
            "full_size",
            "iteration",
            target,
            {"shape": shape, "algorithm": algorithm, "size": "gpt2"},
            3,
        )
        for shape, about, target in (
            ("gpt2", "GPT-2 small's size against RL4LMs' way", 35),
            ("t5", "T5-base's layers and width against a plain modern loop", 1.3),
        )
        for algorithm in ("ppo", "nlpo")
    },
    "ppo-trl": Benchmark(
        "a PPO iteration against TRL 1.12's, separate value networks", "learning", "against_trl", 1.5, {}, 5
    ),
    "ppo-trl-head": Benchmark(
        "the same, our value function a head on the trunk",
        "learning",
        "against_trl",
        2.0,
        {"critic": "head"},
        5,
    ),
    "grpo-trl": Benchmark(
        "a GRPO iteration against TRL 1.16's, 64 episodes in groups of 8",
        "comparing_answers",
        "against_trl",
        2.0,
        {},
        5,
    ),
    "ilql-acting": Benchmark(
        "acting with values on 32 games of mixed lengths against ILQL's way", "acting", "acting", 10
    ),
    "ilql-acting-clipped": Benchmark(
        "the same with clipped advantages: we read V too", "acting", "acting", 10, {"adv_clip": 0.0}
    ),
    "ilql-acting-by-row": Benchmark(
        "the same, the reference row by row without a cache", "acting", "acting", 10, {"way": "by_row"}, 5
    ),
    "wordle-act": Benchmark(
        "Wordle steps through Task.act, 2,315 words, against the letter-flag filter", "wordle", "act", 1000
    ),
    "wordle-optimal": Benchmark(
        "the first move of the most informative player of Wordle, against letter flags",
        "wordle",
        "optimal",
        350,
    ),
    "blocks-tower": Benchmark(
        "steps of blocks, tower, with objects, against lilGym's way",
        "blocks",
        "single",
        100,
        {"appearance": "tower", "view": "objects"},
    ),
    "blocks-scatter": Benchmark(
        "steps of blocks, scatter, with objects, against lilGym's way",
        "blocks",
        "single",
        30,
        {"appearance": "scatter", "view": "objects"},
    ),
    "blocks-tower-image": Benchmark(
        "steps of blocks, tower, with pictures, against lilGym's way",
        "blocks",
        "single",
        30,
        {"appearance": "tower", "view": "image"},
    ),
    "blocks-scatter-image": Benchmark(
        "steps of blocks, scatter, with pictures, against lilGym's way",
        "blocks",
        "single",
        12,
        {"appearance": "scatter", "view": "image"},
    ),
    "blocks-tower-vector": Benchmark(
        "steps of 64 environments of blocks at once, tower, against a single one",
        "blocks",
        "vector",
        5,
        {"appearance": "tower"},
    ),
    "blocks-scatter-vector": Benchmark(
        "steps of 64 environments of blocks at once, scatter, against a single one",
        "blocks",
        "vector",
        5,
        {"appearance": "scatter"},
    ),
    "reading-vector": Benchmark(
        "20 games of reading by asking in one vector environment, against the released way",
        "reading",
        "vector",
        1.0,
    ),
    "reading-vector-short": Benchmark(
        "the same with paragraphs of 5 sentences, as SQuAD's", "reading", "vector", 1.0, {"sentences": 5}
    ),
    "reading-act": Benchmark(
        "games of reading by asking through Task.act, against the released way's batch", "reading", "act", 0.5
    ),
    "asking-act": Benchmark("QA-DQN's acts in 20 games, against the released way", "asking", "act", 2.5),
    "asking-act-running": Benchmark(
        "the same, ended games left out on both sides", "asking", "act", 2.5, {"running": True}
    ),
    "asking-update": Benchmark(
        "a gradient step of QA-DQN, against the released way", "asking", "update", 2.5, {}, 5
    ),
    "asking-words": Benchmark(
        "QA-DQN's acts with 200,000 words, against 1,000 words", "asking", "vocabulary", 0.8
    ),
    "asking-words-update": Benchmark(
        "its gradient step with 200,000 words, against 1,000 words",
        "asking",
        "vocabulary",
        0.8,
        {"learning": True},
        5,
    ),
    "ilql-training": Benchmark(
        "a gradient step of ILQL, 50,257 words, against a plain reading of its loss",
        "offline",
        "training",
        1.7,
        {},
        5,
    ),
    "ilql-training-released": Benchmark(
        "the same step, against one as the released code makes it",
        "offline",
        "training",
        1.5,
        {"way": "released"},
        5,
    ),
    "ilql-training-memory": Benchmark(
        "the rise of memory in that step", "offline", "training_memory", 2.0, {}, 3
    ),
    "steps-tagging": Benchmark(
        "steps a second of tagging against CartPole",
        "stepping",
        "against_cartpole",
        0.6,
        {"id": "loquent/SequenceTagging-v0"},
    ),
    "steps-labels": Benchmark(
        "steps a second of labels against CartPole",
        "stepping",
        "against_cartpole",
        0.4,
        {"id": "loquent/MultiLabel-v0"},
    ),
    "steps-choices": Benchmark(
        "steps a second of choices against CartPole",
        "stepping",
        "against_cartpole",
        0.4,
        {"id": "loquent/MultipleChoice-v0"},
    ),
    **{
        f"metric-{name}": Benchmark(one.about, "metrics", "metric", one.target, {"name": name}, 7)
        for name, one in metrics.COMPARISONS.items()
    },
    "memory-vocabulary": Benchmark(
        "peak memory of an update with 50,257 words against whole logits", "memory", "vocabulary", 3.0, {}, 3
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; the last line printed is its JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="\n".join(listed()),
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("name", choices=BENCHMARKS, metavar="NAME", help="a benchmark, see below")
    parser.add_argument("--json", action="store_true", help="print the last line only")
    parser.add_argument("--rounds", type=int, help="alternating rounds; more make the interval narrower")
    parser.add_argument("--threads", type=int, default=1, help="of torch; 1 by default")
    parser.add_argument(
        "--size",
        choices=("tiny", "small", "gpt2"),
        help="of the model: 1M parameters (the default), 7M, or 124M",
    )
    parser.add_argument("--device", default="cpu", help="cpu (the default) or cuda, for decoding and PPO")
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        default="float32",
        help="of the weights in decoding, of the products in PPO",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a toy size in one round, to see that it runs; its figures mean nothing",
    )
    given = parser.parse_args(arguments)
    for name in ("rounds", "threads"):
        if (value := getattr(given, name)) is not None and value < 1:
            parser.error(f"--{name} {value}: at least 1 is right")
    benchmark = BENCHMARKS[given.name]
    options = dict(benchmark.options)
    if given.quick or given.size:
        options["size"] = "quick" if given.quick else given.size
    if (given.device, given.dtype) != ("cpu", "float32"):
        if benchmark.module == "memory":
            parser.error(f"{given.name} reads a process's own memory: it has neither --device nor --dtype")
        options |= {"device": given.device, "dtype": given.dtype}
    rounds = given.rounds or (1 if given.quick else benchmark.rounds)
    try:
        result = measured(given.name, benchmark, rounds, given.threads, options)
    except ModuleNotFoundError as error:
        parser.error(
            f"{given.name} needs {error.name}, which is not installed; docs/speed.md says what its "
            "reference takes"
        )
    if not given.json:
        print(
            f"{given.name}: {benchmark.about}",
            *(f"  {name}: {value}" for name, value in result.items()),
            sep="\n",
        )
        print(
            f"  {'reached' if result['ratio'] >= benchmark.target else 'NOT reached'}: "
            f"{result['ratio']} of at least {benchmark.target}"
        )
        for name, seconds, most in result.get("bounds", ()):
            print(
                f"  {'reached' if seconds <= most else 'NOT reached'}: {name} {seconds} s of at most {most} s"
            )
    print(json.dumps(result))
    return 0


def measured(
    name: str, benchmark: Benchmark, rounds: int, threads: int, options: dict[str, Any]
) -> dict[str, Any]:
    """The figures of one benchmark, and beside them what the machine can do."""
    import importlib

    import measuring
    import torch

    torch.set_num_threads(threads)
    from loquent.pretrained.pytorch import devices

    device, dtype = options.get("device", "cpu"), options.get("dtype", "float32")
    devices.device(device)  # an error in words where it is not here
    work: Callable[..., dict[str, Any]] = getattr(
        importlib.import_module(benchmark.module), benchmark.function
    )
    seconds = 0.01 if options.get("size") == "quick" else 0.3
    with redirect_stdout(sys.stderr):  # what other programs print; only ours goes to stdout
        before = measuring.limits(seconds, device, dtype)
        found = work(rounds, **options)
        after = measuring.limits(seconds, device, dtype)
    limits = {limit: max(before[limit], after[limit]) for limit in before}
    size = options.get("size", "tiny")
    return {
        "name": name,
        "size": size,
        "dtype": dtype,
        "target": benchmark.target,
        **found,
        **measuring.machine(device),
        **limits,
    }


def listed() -> list[str]:
    """One line for each benchmark."""
    return [f"{name:20} {one.about}; at least {one.target:g} times" for name, one in BENCHMARKS.items()]


if __name__ == "__main__":
    raise SystemExit(main())
