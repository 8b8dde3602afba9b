"""The start of a run: building the task, the language model and the networks of a recipe."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from loquent import pretrained
from loquent.agents.baselines import Random
from loquent.core import episode, registry
from loquent.core.algorithm import Algorithm
from loquent.core.episode import Episode
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Task
from loquent.data.pools import Pool, chosen_rows
from loquent.data.sources import share
from loquent.data.tables.rows import Rows
from loquent.errors import BadSetting
from loquent.files.machine import parallel
from loquent.models.actor import Actor
from loquent.models.export_note import format_of, read_note
from loquent.models.format.names import Format, of_model
from loquent.pretrained import LanguageModel, footprint, lora
from loquent.pretrained.learning.turn_network import TurnNetwork
from loquent.training.identity import naming_split
from loquent.training.policies import policy_folder
from loquent.training.recipes import Recipe
from loquent.training.recipes.pages import maker
from loquent.training.recipes.sections import ModelSettings, TrainingSettings
from loquent.training.recorded import files

SAMPLED_GAMES = 300  # episodes of a random player that give the tokenizer its texts


def make_task(recipe: Recipe) -> Task:
    """The recipe's task with its options."""
    task: Task = registry.resolve("task", recipe.task)(recipe.options)
    return task


def pool(task: Task, settings: TrainingSettings) -> Pool:
    """The rows that `training` chooses, each with the weight in its field `weight`, or 1."""
    with naming_split("split", settings):
        chosen = chosen_rows(task, settings.split, settings.only)
    rows = share(chosen, settings.row_share)
    if isinstance(rows, Rows):
        return Pool(rows, rows.weights)
    return Pool(rows, tuple(row.fields.get("weight", 1.0) for row in rows))


def from_policy(recipe: Recipe, policy: Path | None) -> Recipe:
    """The recipe, with the policy of a checkpoint as its model unless `policy` is None."""
    if policy is None:
        return recipe
    return replace(recipe, model=replace(recipe.model, path=str(policy), revision=""))


def make_language(recipe: Recipe, task: Task, key: Key, *, own: bool = False) -> LanguageModel:
    """The language model at the start: loaded from a name, a folder or a run, or newly made.

    A new model gets a tokenizer that is trained here. Adapters are added if the recipe has them.

    Args:
        own: `model.path` is a checkpoint of this recipe's own run, whose adapters are kept as they are.

    Raises:
        BadSetting: the recipe adds adapters to a model that has some.
    """
    settings = recipe.model
    if settings.path:
        language = load_language(
            settings.path, settings.device, settings.dtype, revision=settings.revision or None
        )
        return language if own else _adapted(language, settings, key)
    return pretrained.build(
        texts(task, recipe.training.data, settings.tokenizer_texts, key),
        vocabulary=settings.vocabulary,
        shape=settings.shape,
        layers=settings.layers,
        width=settings.width,
        heads=settings.heads,
        context=settings.context,
        dropout=settings.dropout,
        key=key.child("model"),
        device=settings.device,
        dtype=settings.dtype,
    )


def load_language(path: str, device: str, dtype: str, *, revision: str | None = None) -> LanguageModel:
    """A language model by Hugging Face name, by folder, or from a run's best or newest checkpoint."""
    folder = policy_folder(path) if Path(path).is_dir() else path
    command = maker(path)
    advice = f"; `{command}` makes it" if command else "; check the spelling"
    return pretrained.load(str(folder), revision=revision, device=device, dtype=dtype, advice=advice)


def folder_format(
    folder: str | Path, language: LanguageModel, name: str = "auto", thinking: bool | None = None
) -> Format:
    """The format that an exported folder was trained with; for any other model's the given one.

    Raises:
        BadCheckpoint, BadSetting: the note in the folder cannot be read, or names no format.
    """
    name, noted = format_of(read_note(folder), folder, name)
    return of_model(name, language.module, language.tokenizer, thinking if noted is None else noted)


def _adapted(language: LanguageModel, settings: ModelSettings, key: Key) -> LanguageModel:
    """The loaded model with new adapters; or all of its weights learn, into which its adapters are merged."""
    adapters, module = settings.lora, language.module
    if not adapters.rank:
        if lora.is_adapted(module):
            lora.merge(module)
        return language
    if lora.is_adapted(module):
        raise BadSetting(
            f"model.lora.rank = {adapters.rank}: the model {settings.path} has adapters already; merge them "
            f"with `loquent export {settings.path} FOLDER`, then set model.path=FOLDER"
        )
    folder = Path(settings.path)
    lora.adapt(
        module,
        rank=adapters.rank,
        alpha=adapters.alpha,
        dropout=adapters.dropout,
        targets=adapters.targets,
        path=str(policy_folder(folder).resolve()) if folder.is_dir() else settings.path,
        revision=settings.revision,
        key=key.child("adapters"),
    )
    return language


def make_actor(recipe: Recipe, task: Task, key: Key, *, own: bool = False) -> Any:
    """An `Actor`: a policy with its critic and its reference; or the model that the algorithm makes.

    `own`: as in `make_language`.
    """
    algorithm = registry.resolve("algorithm", recipe.algorithm)
    actor = algorithm.make_actor(recipe.config, task, key)
    if actor is not None:
        if recipe.model.path and not own:
            start_network(actor, recipe.model.path, recipe.algorithm)
        return actor
    settings = recipe.model
    if task.actions is None and (recipe.decoding.legal or recipe.evaluation.legal):
        section = "decoding" if recipe.decoding.legal else "evaluation"
        raise BadSetting(
            f"{section}.legal = true draws legal actions only, and {task.identity} asks for texts: it has no "
            "set of actions; set it to false"
        )
    language = make_language(recipe, task, key, own=own)
    footprint.mix(language.module, settings.autocast)
    if settings.recompute:
        footprint.recompute(language.module)
    unused = algorithm.unused_of_model  # networks that nothing would read are not built
    reference: Any = "none" if "reference" in unused else settings.reference
    if reference not in ("copy", "none"):
        reference = load_language(reference, settings.device, settings.dtype)
    made = Actor.build(
        language,
        critic="none" if "critic" in unused else settings.critic,
        critic_head=settings.critic_head,
        reference=reference,
        format=of_model(settings.format, language.module, language.tokenizer, settings.thinking),
        decoding=recipe.decoding,
        evaluation=recipe.evaluation,
        key=key.child("critic"),
    )
    if settings.freeze == "encoder":
        made.freeze_encoder()
    return made


def start_network(network: Any, path: str, algorithm: str) -> None:
    """Give a new network the weights of the best or newest checkpoint of a run.

    Raises:
        BadSetting: the path names no folder, or a model that the network cannot start from; or the model is
            no `TurnNetwork`.
        BadCheckpoint: the run has no checkpoint, or a file of it is damaged.

    Warns:
        Remark: parts of the network stay as they were initialised.
    """
    if not isinstance(network, TurnNetwork):
        raise BadSetting(
            f"model.path = {path!r:.200}: {algorithm} makes a {type(network).__name__}, which is no "
            "TurnNetwork and cannot start from a run; leave out model.path"
        )
    if not Path(path).is_dir():
        command = maker(path)
        advice = f"`{command}` makes it" if command else "name the folder of a run"
        raise BadSetting(f"model.path = {path!r:.200} is no folder; {algorithm} starts from a run; {advice}")
    new = network.start_from(policy_folder(path), f"model.path = {path!r:.200}")
    if new:
        warnings.warn(
            f"model.path = {path!r:.200}: {algorithm} starts from the weights of this run, but for these "
            f"parts, which are new: {', '.join(new)}",
            Remark,
            stacklevel=2,
        )


def texts(task: Task, data: Sequence[str], limit: int, key: Key) -> list[str]:
    """Texts in the task's language: those of its rows, or of episodes.

    The episodes are the recorded ones that a run learns from, where answers are free text; otherwise those of
    a random player.

    Args:
        data: the paths of recorded episodes.
        limit: the most rows or recorded episodes that are read.
    """
    rows = task.rows("train")[:limit]
    if rows and "text" in rows[0].fields:
        return [str(row["text"]) for row in rows]
    if data and task.actions is None:
        recorded = chain.from_iterable(episode.read(files.episode_file(path)) for path in data)
        return [text for one in islice(recorded, limit) for text in _read_texts(one)]
    queue = games(rows, each=max(1, SAMPLED_GAMES // max(1, len(rows))))
    played = play(task, queue, Random(task), seed=key.integer(53))
    return [text for one in played for text in _read_texts(one)]


def _read_texts(one: Episode) -> list[str]:
    """What the learning seat of an episode reads and writes."""
    turns = (turn.text for turn in one.turns if one.learning in (turn.seat, turn.to))
    return [text for text in (one.instruction, *turns) if text]


def source(algorithm: type[Algorithm], settings: TrainingSettings) -> str:
    """Where the episodes come from: "play", "expert" or "data".

    Raises:
        BadSetting: the algorithm cannot learn from the episodes that the recipe names.
    """
    reads = algorithm.reads
    source = "data" if settings.data else "expert" if settings.teacher else reads[0]
    if source == "data" and not settings.data:
        pairs = ", to a file of `chosen` and `rejected`" if algorithm.least_answers > 1 else ""
        raise BadSetting(
            f"{algorithm.name} learns from others' episodes, and the recipe names none; set training.data to "
            f"files or folders of recorded ones (`loquent collect` makes them){pairs}, or training.teacher "
            "to an agent"
        )
    if source not in reads:
        data, teacher = ", ".join(settings.data), settings.teacher
        setting = f"training.data = {data!r}" if data else f"training.teacher = {teacher!r}"
        what = f"{setting}: {algorithm.name} learns from its own play only"
        raise BadSetting(f"{what}; from others' episodes learn {_names(lambda other: source in other.reads)}")
    if parallel.size() > 1 and algorithm.single_process:
        what = f"{algorithm.name} learns in one process, and {parallel.size()} were started"
        others = _names(lambda other: not other.single_process)
        raise BadSetting(f"{what}; in several processes learn {others}")
    return source


def _names(fits: Callable[[type[Algorithm]], bool]) -> str:
    """The names of the algorithms that fit."""
    return ", ".join(name for name in registry.names("algorithm") if fits(registry.find("algorithm", name)))
