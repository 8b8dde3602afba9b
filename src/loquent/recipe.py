"""A recipe: a run as a value. YAML under a page, filled into frozen dataclasses, which are the only schema.

An unknown key or a bad value names file and line, the nearest key and the range. `key.path=value` overrides one setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import yaml

from loquent import registry
from loquent.errors import BadSetting, UnknownName
from loquent.fill import Node, fill, parse, unknown
from loquent.models.decode import Decoding
from loquent.settings import check_ranges, setting, span
from loquent.values import EMPTY, Record, digest, plain

FOLDER = resources.files("loquent") / "recipes"
SMOKE = (
    "training.updates=2",
    "training.episodes=4",
    "training.evaluate_every=0",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "decoding.max_new_tokens=8",
    "model.layers=1",
    "model.width=32",
    "model.heads=2",
    "model.vocabulary=300",
    "model.context=1024",  # so small a vocabulary cuts texts into many tokens
    "model.tokenizer_texts=200",
)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What `model:` may hold: which language model, and the networks beside it."""

    path: str = setting("", "a Hugging Face name or folder, or a run's folder; empty: a small model is made from the next settings")
    revision: str = setting("", "the revision of a Hugging Face name")
    layers: int = setting(4, "blocks of a model made here", low=1)
    width: int = setting(128, "hidden size of a model made here", low=8)
    heads: int = setting(4, "attention heads of a model made here", low=1)
    context: int = setting(256, "the most tokens a model made here reads", low=8)
    vocabulary: int = setting(1500, "tokens of the byte-level BPE trained on the task's texts", low=258)
    tokenizer_texts: int = setting(20_000, "texts the tokenizer is trained on", low=1)
    dropout: float = setting(0.1, "dropout of a model made here; on in supervised training only", low=0, high=0.9)
    format: str = setting("plain", "how turns become tokens", choices=("plain", "chat", "ilql"))
    critic: str = setting("network", "the value function: its own network (the paper's), or a head on the trunk", choices=("network", "head", "none"))
    reference: str = setting("copy", "the model KL is measured from: a copy of the start, none, or a name or folder")
    device: str = setting("auto", "where the networks live", choices=("auto", "cpu", "cuda"))
    dtype: str = setting("float32", "the type of the weights", choices=("float32", "float64", "bfloat16", "float16"))

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.path and self.width % self.heads:
            raise BadSetting(f"ModelSettings.width = {self.width} does not divide by heads = {self.heads}")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What `training:` may hold: how long, on what, and how it is watched."""

    seed: int = setting(0, "the run's seed; all streams are keyed by it", low=0)
    updates: int = setting(50, "collections of episodes, each followed by learning", low=0)
    episodes: int = setting(64, "episodes in one collection", low=1)
    split: str = setting("train", "the split the rows come from")
    only: Record = setting(EMPTY, "train and watch only on rows whose fields have these values, as {label: positive}; the final evaluation takes all")
    teacher: str = setting("", "the agent that plays in collection; empty: the policy, or for supervised learning the task's expert")
    evaluate_every: int = setting(10, "updates between evaluations; 0: only at the end", low=0)
    evaluate_episodes: int = setting(200, "episodes of an evaluation", low=1)
    evaluate_split: str = setting("validation", "the split of evaluations in training")
    final_split: str = setting("test", "the split of the evaluation at the end")
    final_episodes: int = setting(400, "episodes of the evaluation at the end", low=1)
    stop_metric: str = setting("", "the evaluated value that early stopping watches; empty: all updates are made")
    patience: int = setting(2, "evaluations without improvement before the run stops", low=1)
    checkpoint_every: int = setting(0, "updates between checkpoints; 0: only at the end", low=0)
    keep: int = setting(2, "checkpoints kept, the best beside them", low=1)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A run as a value. `task` and `algorithm` keep their kind beside their options."""

    name: str
    task: str
    options: Any
    model: ModelSettings
    rewards: Record
    metrics: Record
    decoding: Decoding
    evaluation: Decoding
    algorithm: str
    config: Any
    training: TrainingSettings

    def resolved(self) -> dict[str, Any]:
        """The whole recipe with every default written out, as YAML can hold it; `load` takes it back."""
        sections = {name: plain(getattr(self, name)) for name in ("model", "rewards", "metrics", "decoding", "evaluation", "training")}
        task = {"kind": self.task, **plain(self.options)}
        return {"name": self.name, "task": task, **sections, "algorithm": {"kind": self.algorithm, **plain(self.config)}}

    @property
    def fingerprint(self) -> str:
        """A hash of every setting but the name."""
        return digest({key: value for key, value in self.resolved().items() if key != "name"}, 16)

    def replace(self, *overrides: str) -> Recipe:
        """The same recipe with `key.path=value` overrides."""
        return _recipe(_override(parse(yaml.safe_dump(self.resolved(), sort_keys=False), self.name), overrides))


def load(name: str | Path, overrides: Sequence[str] = (), *, profile: str | None = None) -> Recipe:
    """A recipe by registered or built-in name, or from a YAML file.

    Args:
        overrides: `key.path=value`, later ones win.
        profile: "smoke" shrinks model, updates and episodes so that a run takes seconds; overrides go on top.

    Raises:
        UnknownName: no such recipe. BadSetting: an unknown key or a bad value, with file and line.
    """
    path = find(name)
    root = parse(path.read_text(encoding="utf-8"), path.name)
    root.value.setdefault("name", Node(Path(str(name)).stem, root.file, root.line))
    return _recipe(_override(root, [*_profile(profile), *overrides]))


def names() -> list[str]:
    """All recipes known by name: the built-in ones and the registered ones."""
    own = [item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml")]
    return sorted({*own, *registry.names("recipe")})


def find(name: str | Path) -> Path:
    """The YAML file of a recipe."""
    if str(name).endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise BadSetting(f"there is no recipe file {path}; `loquent list recipes` shows the built-in ones")
        return path
    if str(name) in registry.names("recipe"):
        return Path(registry.target("recipe", str(name)))
    if str(name) not in names():
        raise UnknownName("recipe", str(name), names())
    return Path(str(FOLDER / f"{name}.yaml"))


def show(name: str | Path, overrides: Sequence[str] = ()) -> str:
    """The recipe as YAML with every default written out."""
    return yaml.safe_dump(load(name, overrides).resolved(), sort_keys=False, width=120)


def schema(recipe: Recipe) -> dict[str, type]:
    """The dataclass behind each section of a recipe."""
    task, config = _options_of(recipe.task), _config_of(recipe.algorithm)
    return {"task": task, "model": ModelSettings, "decoding": Decoding, "evaluation": Decoding, "algorithm": config, "training": TrainingSettings}


def _profile(profile: str | None) -> Sequence[str]:
    if profile is None:
        return ()
    if profile != "smoke":
        raise BadSetting(f"there is no profile {profile!r}; known: smoke")
    return SMOKE


def _recipe(root: Node) -> Recipe:
    known = ("name", "task", "model", "rewards", "metrics", "decoding", "evaluation", "algorithm", "training")
    sections: dict[str, Node] = root.mapping("a recipe")
    for key, node in sections.items():
        if key not in known:
            raise unknown(node, key, known, "a recipe")
    task, options = _kind(sections.get("task"), "task", "generation", _options_of)
    algorithm, config = _kind(_preset(sections.get("algorithm")), "algorithm", "ppo", _config_of)
    decoding = sections.get("decoding")
    evaluation = _merged(decoding, sections.get("evaluation"))
    return Recipe(
        name=str(sections["name"].value) if "name" in sections else "unnamed",
        task=task,
        options=options,
        model=fill(ModelSettings, sections.get("model"), "model"),
        rewards=_named(sections.get("rewards"), "rewards"),
        metrics=_named(sections.get("metrics"), "metrics"),
        decoding=fill(Decoding, decoding, "decoding"),
        evaluation=fill(Decoding, evaluation, "evaluation"),
        algorithm=algorithm,
        config=config,
        training=fill(TrainingSettings, sections.get("training"), "training"),
    )


def _kind(node: Node | None, section: str, default: str, schema_of: Any) -> tuple[str, Any]:
    fields = dict(node.mapping(section)) if node and not isinstance(node.value, str) else {}
    kind = fields.pop("kind", None)
    name = str(kind.value) if kind else str(node.value) if node and isinstance(node.value, str) else default
    try:
        cls = schema_of(name)
    except UnknownName as error:
        raise BadSetting(f"{(kind or node).place}: {error}" if (kind or node) else str(error)) from error  # type: ignore[union-attr]
    return name, fill(cls, Node(fields, node.file, node.line) if node else None, section)


def _preset(node: Node | None) -> Node | None:
    """The algorithm's section with the settings of its `preset:` filled in; what the section says itself wins."""
    inside = node.value if node else None
    if node is None or not isinstance(inside, dict) or "preset" not in inside:
        return node
    chosen = inside["preset"]
    kind = inside["kind"].value if "kind" in inside else "ppo"
    known: Mapping[str, Record] = getattr(import_module(_config_of(kind).__module__), "PRESETS", {})
    if chosen.value not in known:
        raise BadSetting(f"{chosen.place}: {kind} has no preset {chosen.value!r}; known: {', '.join(known) or 'none'}")
    base = {name: Node(value, chosen.file, chosen.line) for name, value in known[chosen.value].items()}
    return Node({**base, **{name: item for name, item in inside.items() if name != "preset"}}, node.file, node.line)


def _options_of(task: str) -> type:
    options: type = registry.find("task", task).Options
    return options


def _config_of(algorithm: str) -> type:
    config: type = registry.find("algorithm", algorithm).Config
    return config


def _merged(base: Node | None, top: Node | None) -> Node | None:
    """Evaluation decodes as training does, but for what it says itself."""
    if base is None or top is None:
        return top or base
    return Node({**base.mapping("decoding"), **top.mapping("evaluation")}, top.file, top.line)


def _named(node: Node | None, section: str) -> Record:
    """Rewards or metrics: names of registered things, each with a weight or options."""
    if node is None:
        return EMPTY
    kind = section.removesuffix("s")
    for name, item in node.mapping(section).items():
        of = item.value["of"].value if isinstance(item.value, Mapping) and "of" in item.value else name
        own = kind == "reward" and (":" in str(of) or of in registry.names("metric") or isinstance(item.value, int | float))
        if of not in registry.names(kind) and not own:
            raise unknown(item, str(of), registry.names(kind), section)
    record: Record = node.plain()
    return record


def _override(root: Node, overrides: Sequence[str]) -> Node:
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadSetting(f"the override {text!r} is not of the form key.path=value")
        here = root
        *parents, last = path.strip().split(".")
        for name in parents:
            if not isinstance(here.value, dict):
                raise BadSetting(f"the override {text!r}: {here.value!r} has no settings inside")
            inside = here.value.setdefault(name, Node({}, "command line", None))
            if isinstance(inside.value, str) and name in ("task", "algorithm"):
                inside.value = {"kind": Node(inside.value, inside.file, inside.line)}
            here = inside
        if not isinstance(here.value, dict):
            raise BadSetting(f"the override {text!r}: {here.value!r} has no settings inside")
        here.value[last] = parse(value, "command line", numbered=False)
    return root


def describe(name: str) -> str:
    """What a setting (`clip`, `training.updates`), an algorithm or a task means: its why, default, range and source.

    Raises:
        UnknownName: nothing is called so.
    """
    sections: dict[str, type] = {"model": ModelSettings, "training": TrainingSettings, "decoding": Decoding}
    sections |= {f"algorithm {kind}": _config_of(kind) for kind in registry.names("algorithm")}
    sections |= {f"task {kind}": _options_of(kind) for kind in registry.names("task")}
    wanted, section = name.rpartition(".")[2], name.rpartition(".")[0]
    lines: list[str] = []
    for title, cls in sections.items():
        whole = name in (title, title.partition(" ")[2])
        fields = [f for f in dataclasses.fields(cls) if whole or (f.name == wanted and (not section or section in title.split()))]
        lines += [f"{title}.{f.name}{_meaning(f)}".replace(" ", ".", 1) for f in fields]
    if not lines:
        known = {f.name for cls in sections.values() for f in dataclasses.fields(cls)} | set(sections)
        raise UnknownName("setting", name, known)
    return "\n".join(lines)


def _meaning(field: dataclasses.Field[Any]) -> str:
    parts = [f" (default {field.default!r}" + (f", {span(field)}" if span(field) else "") + ")"]
    if field.metadata.get("why"):
        parts.append(f": {field.metadata['why']}")
    if field.metadata.get("source"):
        parts.append(f" [{field.metadata['source']}]")
    return "".join(parts)
