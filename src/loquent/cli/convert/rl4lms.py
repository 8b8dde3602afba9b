"""A configuration file of RL4LMs (YAML, version 0.2.2) as a recipe.

The sections of such a file are

    tokenizer, datapool, reward_fn, env, alg (args, kl_div, policy), train_evaluation

A key that is missing has the default of RL4LMs. The notes explain the keys, and where RL4LMs deviates from
its paper (arXiv:2210.01241).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from loquent.cli.convert import rl4lms_learning as learning
from loquent.cli.convert import rl4lms_parts as parts
from loquent.cli.convert import rl4lms_scores as scores
from loquent.cli.convert.source import CHANGED, MISSING, Note, Source
from loquent.cli.convert.tables import TABLES, WHY
from loquent.core.options import read
from loquent.errors import BadSetting, UnknownName
from loquent.training import recipes

ALGORITHMS = ("ppo", "nlpo", "a2c", "trpo", "supervised")
TITLES = {
    CHANGED: "Another experiment than the file's, as accepted with --accept-changes",
    MISSING: "Missing before it can be trained (--profile smoke fills it in)",
    "": "Not taken over, or only in part",
}
KNOWN = TABLES.known


@dataclass(frozen=True)
class Converted:
    """A recipe as YAML with its header of comments, and a note on every key of the file."""

    name: str
    text: str
    notes: tuple[Note, ...]

    @property
    def omissions(self) -> list[Note]:
        """The notes on keys that the recipe does not take over, or only in part."""
        return [note for note in self.notes if note.why]

    @property
    def changes(self) -> list[Note]:
        """The notes on changes of the objective or of the algorithm, which make it another experiment."""
        return [note for note in self.notes if note.kind == CHANGED]

    @property
    def missing(self) -> list[Note]:
        """The notes on values that the user has to give before the recipe can be trained.

        `--profile smoke` fills them in.
        """
        return [note for note in self.notes if note.kind == MISSING]


def convert(path: str | Path, *, accept_changes: bool = False) -> Converted:
    """Convert an RL4LMs file into a recipe, and check the recipe.

    Args:
        path: the file.
        accept_changes: convert the file even if the recipe has another objective or another algorithm.

    Raises:
        BadSetting: the file does not exist or is not YAML, or a value has the wrong type or fits no recipe
            (names file and line). Or the recipe would have another objective or algorithm, and
            `accept_changes` is false.
    """
    file = Path(path)
    if not file.is_file():
        raise BadSetting(f"there is no file {file}")
    source = Source(read(file))
    if not source.root.mapping("an RL4LMs file"):
        raise BadSetting(
            f"{file}: the file is empty; an RL4LMs file has the sections tokenizer, datapool, alg and "
            "train_evaluation"
        )
    parts.expand(source)
    sections = _sections(source)
    source.rest(lambda section: KNOWN.get(section, ("id", "args") if section.endswith("]") else ()))
    text = _page(file.stem, file.name, sections, source.notes)
    _check(text, file)
    converted = Converted(file.stem, text, tuple(source.notes))
    if converted.changes and not accept_changes:
        changes = "; ".join(f"{note.place} {note.text}" for note in converted.changes)
        raise BadSetting(
            f"{file}: the recipe would be another experiment: {changes}. No file is written. To get the "
            "recipe with these changes, which its comments then list, give --accept-changes"
        )
    return converted


def _sections(source: Source) -> dict[str, Any]:
    """The sections of the recipe."""
    kind = source.get("alg.id", str)
    if kind not in ALGORITHMS:
        raise BadSetting(f"{source.place('alg.id')}: {UnknownName('algorithm of RL4LMs', kind, ALGORITHMS)}")
    sections: dict[str, Any] = {"task": parts.task(source, kind)}
    sections["model"] = parts.model(source, kind)
    rewards = scores.rewards(source)
    sections |= {"rewards": rewards} if rewards else {}
    sections["metrics"] = scores.metrics(source)
    sections["decoding"] = parts.decoding(source, kind)
    evaluation = parts.evaluation(source, sections["decoding"], kind)
    sections |= {"evaluation": evaluation} if evaluation else {}
    supervised = kind == "supervised"
    sections["algorithm"] = (
        learning.supervised_settings(source) if supervised else learning.on_policy(source, kind)
    )
    sections["training"] = learning.training(source, kind, sections)
    if not rewards and not supervised and "reward_fn" not in source.noted:
        source.remark("reward_fn", WHY["reward_fn"], CHANGED)
    return sections


def _page(name: str, file: str, sections: dict[str, Any], notes: list[Note]) -> str:
    """The recipe as text: its origin and the notes as comments, then the sections."""
    lines = [f"# {name}: made from RL4LMs' {file}.      run: loquent train {name}.yaml"]
    for kind, title in TITLES.items():
        reported = [note for note in notes if note.why and note.kind == kind]
        if reported:
            lines.append(f"# {title}:")
            lines += [f"#   {note.place} {note.text}" for note in reported]
    body = yaml.safe_dump(sections, sort_keys=False, width=140, allow_unicode=True)
    return "\n".join(" ".join(line.split("\n")) for line in lines) + "\n" + body


def _check(text: str, file: Path) -> None:
    """Raise BadSetting if the text is not UTF-8, or if a setting is unknown or outside its range."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadSetting(
            f"{file}: a text holds {error.object[error.start]!a}, half of a surrogate pair, which UTF-8 "
            "cannot store; remove it"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / f"{file.stem}.yaml"
        page.write_text(text, encoding="utf-8")
        try:
            recipes.load(page, imports="none")
        except BadSetting as error:
            raise BadSetting(f"{file}: the recipe made from it is refused: {error}") from error
