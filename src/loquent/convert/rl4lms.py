"""RL4LMs' YAML (version 0.2.2) as a recipe. Its keys are those of the library's configuration files; missing ones have its defaults.

    tokenizer, datapool, reward_fn, env, alg (args, kl_div, policy), train_evaluation

What a key means there, and where the library deviates from its paper (arXiv:2210.01241), is said in the notes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from loquent import recipe
from loquent.convert import rl4lms_parts as parts
from loquent.convert.source import Note, Source
from loquent.errors import BadSetting, UnknownName
from loquent.fill import parse

ALGORITHMS = ("ppo", "nlpo", "a2c", "trpo", "supervised")
KNOWN = {
    "": ["tokenizer", "datapool", "reward_fn", "env", "alg", "train_evaluation"],
    "tokenizer": ["model_name", "padding_side", "truncation_side", "pad_token_as_eos_token", "max_length"],
    "datapool": ["id", "args"],
    "reward_fn": ["id", "args"],
    "env": ["n_envs", "args"],
    "env.args": ["max_prompt_length", "max_episode_length", "terminate_on_eos", "prompt_truncation_side", "context_start_token", "priority_scale"],
    "alg": ["id", "args", "kl_div", "policy", "training_args", "model_type", "model_name", "generation_kwargs"],
    "alg.args": [*parts.ON_POLICY, "n_steps", "batch_size", "target_kl", "verbose", "seed", "device"],
    "alg.kl_div": ["coeff", "target_kl", "norm_reward"],
    "alg.policy": ["id", "args"],
    "alg.policy.args": [
        *parts.POLICY_LEFT,
        "model_name",
        "generation_kwargs",
        "weight_decay",
        "top_mask",
        "mask_type",
        "target_update_iterations",
        "min_tokens_to_keep",
    ],
    "train_evaluation": ["eval_batch_size", "n_iters", "eval_every", "save_every", "metrics", "generation_kwargs"],
}


@dataclass(frozen=True)
class Converted:
    """A recipe as YAML under its page, and what became of every key."""

    name: str
    text: str
    notes: tuple[Note, ...]

    @property
    def reported(self) -> list[Note]:
        """What was not, or not quite, taken over."""
        return [note for note in self.notes if note.why]


def convert(path: str | Path) -> Converted:
    """The recipe that an RL4LMs file describes, checked to be one.

    Raises:
        BadSetting: no such file, no YAML, a value of the wrong type, or one that no recipe can hold; with file and line.
    """
    file = Path(path)
    if not file.is_file():
        raise BadSetting(f"there is no file {file}")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadSetting(f"{file}: this is not text: {error}") from error
    source = Source(parse(text, file.name))
    if not source.root.mapping("an RL4LMs file"):
        raise BadSetting(f"{file}: the file is empty; tokenizer, datapool, alg and train_evaluation are the sections of an RL4LMs file")
    parts.expand(source)
    made = _recipe(source)
    source.rest(lambda section: KNOWN.get(section, []))
    name = file.stem
    written = _written(name, file.name, made, source.notes)
    _check(name, written, file)
    return Converted(name, written, tuple(source.notes))


def _recipe(source: Source) -> dict[str, Any]:
    kind = source.get("alg.id", str)
    if kind not in ALGORITHMS:
        place = source.node("alg.id")
        raise BadSetting(f"{place.place if place else source.root.file}: {UnknownName('algorithm of RL4LMs', kind, ALGORITHMS)}")
    made: dict[str, Any] = {"task": parts.task(source)}
    made["model"] = parts.model(source, kind)
    rewards = parts.rewards(source)
    made |= {"rewards": rewards} if rewards else {}
    made["metrics"] = parts.metrics(source)
    made["decoding"] = parts.decoding(source, kind)
    evaluation = parts.evaluation(source, made["decoding"])
    made |= {"evaluation": evaluation} if evaluation else {}
    made["algorithm"] = parts.supervised(source) if kind == "supervised" else parts.on_policy(source, kind)
    made["training"] = parts.training(source, kind, made)
    if not rewards and kind != "supervised":
        source.remark("reward_fn", "without a reward nothing but the KL penalty is learned: add one under rewards")
    return made


def _written(name: str, file: str, made: dict[str, Any], notes: list[Note]) -> str:
    """The page: what it is from, what was left out, then the sections."""
    lines = [f"# {name}: made from RL4LMs' {file}.      run: loquent train {name}.yaml"]
    told = [note for note in notes if note.why]
    if told:
        lines.append("# Not, or not quite, taken over:")
        lines += [f"#   {note.place} {note.text}" for note in told]
    body = yaml.safe_dump(made, sort_keys=False, width=140, allow_unicode=True)
    return "\n".join(" ".join(line.split("\n")) for line in lines) + "\n" + body


def _check(name: str, text: str, file: Path) -> None:
    """Every setting is one of ours and in its range."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / f"{name}.yaml"
        page.write_text(text, encoding="utf-8")
        try:
            recipe.load(page)
        except BadSetting as error:
            raise BadSetting(f"{file}: the recipe made from it is refused: {error}") from error
