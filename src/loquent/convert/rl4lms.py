"""RL4LMs' YAML (version 0.2.2) as a recipe.

Its keys are those of the library's configuration files; missing ones have its defaults.

    tokenizer, datapool, reward_fn, env, alg (args, kl_div, policy), train_evaluation

What a key means there, and where the library deviates from its paper (arXiv:2210.01241), is said in the
notes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from loquent import recipes
from loquent.convert import rl4lms_learning as learning
from loquent.convert import rl4lms_parts as parts
from loquent.convert import rl4lms_scores as scores
from loquent.convert.source import CHANGED, MISSING, Note, Source
from loquent.core.options import read
from loquent.errors import BadSetting, UnknownName

ALGORITHMS = ("ppo", "nlpo", "a2c", "trpo", "supervised")
TITLES = {
    CHANGED: "Another experiment than the file's, as accepted with --accept-changes",
    MISSING: "Missing before it can be trained (--profile smoke puts something in its place)",
    "": "Not, or not quite, taken over",
}
KNOWN = {
    "": ["tokenizer", "datapool", "reward_fn", "env", "alg", "train_evaluation"],
    "tokenizer": ["model_name", "padding_side", "truncation_side", "pad_token_as_eos_token", "max_length"],
    "datapool": ["id", "args"],
    "reward_fn": ["id", "args"],
    "env": ["n_envs", "args"],
    "env.args": [
        "max_prompt_length",
        "max_episode_length",
        "terminate_on_eos",
        "prompt_truncation_side",
        "context_start_token",
        "priority_scale",
    ],
    "alg": [
        "id",
        "args",
        "kl_div",
        "policy",
        "training_args",
        "model_type",
        "model_name",
        "generation_kwargs",
    ],
    "alg.args": [
        *learning.ON_POLICY,
        *learning.OTHERS,
        "n_steps",
        "batch_size",
        "target_kl",
        "verbose",
        "seed",
        "device",
    ],
    "alg.kl_div": ["coeff", "target_kl", "norm_reward"],
    "alg.policy": ["id", "args"],
    "alg.policy.args": [
        *learning.POLICY_LEFT,
        "model_name",
        "generation_kwargs",
        "weight_decay",
        "top_mask",
        "mask_type",
        "target_update_iterations",
        "min_tokens_to_keep",
    ],
    "train_evaluation": [
        "eval_batch_size",
        "n_iters",
        "eval_every",
        "save_every",
        "metrics",
        "generation_kwargs",
    ],
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

    @property
    def changed(self) -> list[Note]:
        """Where the recipe is another experiment than the file: its objective or its algorithm is another."""
        return [note for note in self.notes if note.kind == CHANGED]

    @property
    def missing(self) -> list[Note]:
        """What the user has to give before the recipe can be trained.

        `--profile smoke` puts something in its place.
        """
        return [note for note in self.notes if note.kind == MISSING]


def convert(path: str | Path, *, accept_changes: bool = False) -> Converted:
    """The recipe that an RL4LMs file describes, checked to be one.

    Args:
        accept_changes: convert a file although its objective or its algorithm is changed.

    Raises:
        BadSetting: no such file, no YAML, a value of the wrong type, or one that no recipe can hold; with
            file and line. Or the recipe would have another objective or algorithm, and that was not accepted.
    """
    file = Path(path)
    if not file.is_file():
        raise BadSetting(f"there is no file {file}")
    source = Source(read(file))
    if not source.root.mapping("an RL4LMs file"):
        raise BadSetting(
            f"{file}: the file is empty; tokenizer, datapool, alg and train_evaluation are the "
            "sections of an RL4LMs file"
        )
    parts.expand(source)
    made = _recipe(source)
    source.rest(lambda section: KNOWN.get(section, ["id", "args"] if section.endswith("]") else []))
    name = file.stem
    written = _written(name, file.name, made, source.notes)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadSetting(
            f"{file}: a text holds {error.object[error.start]!a}, half a character, which no file "
            "can hold; remove it"
        ) from error
    _check(name, written, file)
    found = Converted(name, written, tuple(source.notes))
    if found.changed and not accept_changes:
        what = "; ".join(f"{note.place} {note.text}" for note in found.changed)
        raise BadSetting(
            f"{file}: the recipe would be another experiment: {what}. Nothing is written. To have "
            "the recipe all the same, with this as a comment in it, give --accept-changes"
        )
    return found


def _recipe(source: Source) -> dict[str, Any]:
    kind = source.get("alg.id", str)
    if kind not in ALGORITHMS:
        place = source.node("alg.id")
        raise BadSetting(
            f"{place.place if place else source.root.file}: "
            f"{UnknownName('algorithm of RL4LMs', kind, ALGORITHMS)}"
        )
    made: dict[str, Any] = {"task": parts.task(source)}
    made["model"] = parts.model(source, kind)
    rewards = scores.rewards(source)
    made |= {"rewards": rewards} if rewards else {}
    made["metrics"] = scores.metrics(source)
    made["decoding"] = parts.decoding(source, kind)
    evaluation = parts.evaluation(source, made["decoding"])
    made |= {"evaluation": evaluation} if evaluation else {}
    made["algorithm"] = (
        learning.supervised(source) if kind == "supervised" else learning.on_policy(source, kind)
    )
    made["training"] = learning.training(source, kind, made)
    if not rewards and kind != "supervised" and "reward_fn" not in source.seen:
        source.remark(
            "reward_fn",
            "without a reward nothing but the KL penalty is learned: add one under rewards",
            CHANGED,
        )
    return made


def _written(name: str, file: str, made: dict[str, Any], notes: list[Note]) -> str:
    """The page: what it is from, what was left out, then the sections."""
    lines = [f"# {name}: made from RL4LMs' {file}.      run: loquent train {name}.yaml"]
    for kind, title in TITLES.items():
        reported = [note for note in notes if note.why and note.kind == kind]
        if reported:
            lines.append(f"# {title}:")
            lines += [f"#   {note.place} {note.text}" for note in reported]
    body = yaml.safe_dump(made, sort_keys=False, width=140, allow_unicode=True)
    return "\n".join(" ".join(line.split("\n")) for line in lines) + "\n" + body


def _check(name: str, text: str, file: Path) -> None:
    """Every setting is one of ours and in its range."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / f"{name}.yaml"
        page.write_text(text, encoding="utf-8")
        try:
            recipes.load(page, imports="none")
        except BadSetting as error:
            raise BadSetting(f"{file}: the recipe made from it is refused: {error}") from error
