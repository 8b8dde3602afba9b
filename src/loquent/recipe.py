"""A recipe: a run as a value. YAML under a page, filled into frozen dataclasses, which are the only schema.

An unknown key or a bad value names file and line, the nearest key and the range. `key.path=value` overrides one setting.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from loquent import recipe_scores, registry
from loquent.errors import BadSetting, UnknownName
from loquent.fill import COMMAND_LINE, Node, dump, fill, parse, unknown
from loquent.models.decoding import Decoding
from loquent.recipe_settings import ModelSettings, TrainingSettings
from loquent.settings import Remark, span
from loquent.values import Record, digest, plain

FOLDER = resources.files("loquent") / "recipes"
MADE_BY = ("shape", "layers", "width", "heads", "context", "vocabulary", "tokenizer_texts", "dropout")  # without effect on a model that is there
PROFILE = "profile smoke"
SMOKE = (
    "training.updates=2",
    "training.episodes=4",
    "training.evaluate_every=0",
    "training.stop_metric=",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "decoding.max_new_tokens=8",
    "decoding.min_new_tokens=0",
    "model.path=",  # the run a recipe starts from may not have been made yet
    "model.revision=",
    "model.format=plain",  # the one that a tokenizer made here can write
    "model.layers=1",
    "model.width=32",
    "model.heads=2",
    "model.vocabulary=300",
    "model.context=1024",  # so small a vocabulary cuts texts into many tokens
    "model.tokenizer_texts=200",
)


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
        """The whole recipe with every default that has an effect written out, as YAML can hold it; `load` takes it back."""
        said = [name for name in ("model", "rewards", "metrics", "decoding", "evaluation", "training") if name not in _unheard(self.algorithm)]
        sections = {name: plain(getattr(self, name)) for name in said}
        for name in _unused(self.model) if "model" in sections else ():
            del sections["model"][name]
        task = {"kind": self.task, **plain(self.options)}
        return {"name": self.name, "task": task, **sections, "algorithm": {"kind": self.algorithm, **plain(self.config)}}

    @property
    def fingerprint(self) -> str:
        """A hash of every setting but the name."""
        return digest({key: value for key, value in self.resolved().items() if key != "name"}, 16)

    def replace(self, *overrides: str) -> Recipe:
        """The same recipe with `key.path=value` overrides."""
        return _recipe(_override(parse(dump(self.resolved()), self.name), overrides))

    def yaml(self) -> str:
        """`resolved` as text: what `show` prints and a run's folder keeps."""
        return dump(self.resolved())


def load(name: str | Path, overrides: Sequence[str] = (), *, profile: str | None = None) -> Recipe:
    """A recipe by registered or built-in name, or from a YAML file.

    Args:
        overrides: `key.path=value`, later ones win.
        profile: "smoke" shrinks updates and episodes and makes a tiny model, so that a run takes seconds and needs no other run;
            overrides go on top.

    Raises:
        UnknownName: no such recipe. BadSetting: an unknown key or a bad value, with file and line.

    Warns:
        Remark: a setting of a model to be made is given beside `model.path`, which names one that is there.
    """
    path = find(name)
    try:
        root = parse(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise BadSetting(f"{path.name}: this is no UTF-8 text, so it is no recipe ({error})") from error
    if not root.mapping("a recipe"):
        raise BadSetting(f"{path.name}: the recipe is empty; `loquent show reviews_ppo` prints a whole one")
    root.mapping("a recipe").setdefault("name", Node(Path(str(name)).stem, root.file, root.line))
    return _recipe(_override(_override(root, _profile(profile, root, overrides), PROFILE), overrides))


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


def schema(recipe: Recipe) -> dict[str, type]:
    """The dataclass behind each section of a recipe."""
    task, config = _options_of(recipe.task), _config_of(recipe.algorithm)
    return {"task": task, "model": ModelSettings, "decoding": Decoding, "evaluation": Decoding, "algorithm": config, "training": TrainingSettings}


def _profile(profile: str | None, root: Node, overrides: Sequence[str]) -> Sequence[str]:
    """The overrides a profile stands for. Those of "smoke" also shrink what this recipe's evaluation says for itself, and replace what it names
    outside: its reference, its hub dataset by the built-in reviews, its classifiers by such as are trained here, its recorded episodes by play."""
    if profile is None:
        return ()
    if profile != "smoke":
        raise BadSetting(f"there is no profile {profile!r}; known: smoke")
    inside = {name: node.value for name, node in root.value.items() if isinstance(node.value, dict)}
    shorter = {"max_new_tokens": 8, "min_new_tokens": 0}
    own = [f"evaluation.{name}={value}" for name, value in shorter.items() if name in inside.get("evaluation", {})]
    reference = inside.get("model", {}).get("reference")
    if reference and reference.value not in ("copy", "none"):
        own.append("model.reference=copy")
    if "data" in inside.get("training", {}) and not any(text.startswith("training.data=") for text in overrides):
        # They may not have been collected yet: a random player stands in for them.
        own += ["training.data=", "training.data_top=1.0", "training.data_bottom=1.0", "training.teacher=random"]
    algorithm = inside.get("algorithm", {})
    if "kind" in algorithm and algorithm["kind"].value == "filtered_cloning":
        own.append("algorithm.top=1.0")  # a small share of a few episodes is none
    task = inside.get("task", {})
    if "source" in task and task["source"].value == "hub":
        own += ["task.source=builtin", *(f"task.{key}=" for key in ("name", "revision", "subset") if key in task)]
    own += _small(root)
    for section in ("rewards", "metrics"):
        for name, node in inside.get(section, {}).items():
            options = node.value if isinstance(node.value, dict) else {}
            defaults = {"classifier": "", "label": 1, "revision": ""} if "classifier" in options else {}
            own += [f"{section}.{name}.{key}={value}" for key, value in defaults.items() if key in options]
    return (*SMOKE, *own)


def _small(root: Node) -> list[str]:
    """What makes the algorithm itself small, where it says so."""
    node = root.value.get("algorithm")
    kind = node.value.get("kind") if node and isinstance(node.value, dict) else node
    name = kind.value if kind is not None else None
    if not isinstance(name, str) or not (":" in name or name in registry.names("algorithm")):
        return []  # `_recipe` says what is wrong with it
    return list(getattr(registry.named("algorithm", name), "smoke", ()))


def _recipe(root: Node) -> Recipe:
    known = ("name", "task", "model", "rewards", "metrics", "decoding", "evaluation", "algorithm", "training")
    sections: dict[str, Node] = root.mapping("a recipe")
    for key, node in sections.items():
        if key not in known:
            raise unknown(node, key, known, "a recipe")
    task, options = _kind(sections.get("task"), "task", "generation", _options_of)
    algorithm, config = _kind(sections.get("algorithm"), "algorithm", "ppo", _config_of)
    for name in _unheard(algorithm):
        _drop(sections, name, algorithm)
    decoding = sections.get("decoding")
    evaluation = _merged(decoding, sections.get("evaluation"))
    return Recipe(
        name=str(sections["name"].value) if "name" in sections else "unnamed",
        task=task,
        options=options,
        model=_model(sections.get("model")),
        rewards=recipe_scores.rewards(sections.get("rewards"), task, options),
        metrics=recipe_scores.metrics(sections.get("metrics"), task, options, "rewards" in sections),
        decoding=fill(Decoding, decoding, "decoding"),
        evaluation=fill(Decoding, evaluation, "evaluation"),
        algorithm=algorithm,
        config=config,
        training=fill(TrainingSettings, sections.get("training"), "training"),
    )


def _unused(model: ModelSettings) -> tuple[str, ...]:
    """The settings that have no effect beside this path, or beside none."""
    return MADE_BY if model.path else ("revision",)


def _unheard(algorithm: str) -> tuple[str, ...]:
    """The sections of a recipe that say nothing to this algorithm."""
    unheard: tuple[str, ...] = getattr(registry.named("algorithm", algorithm), "unused", ())
    return unheard


def _drop(sections: dict[str, Node], name: str, algorithm: str) -> None:
    """Leave out a section that has no effect; a remark says so, unless it came with a profile."""
    node = sections.pop(name, None)
    if node is not None and node.file != PROFILE:
        warnings.warn(f"{node.place}: {name} has no effect: {algorithm} has no language model", Remark, stacklevel=4)


def _model(node: Node | None) -> ModelSettings:
    """The model's settings. One without effect keeps its default; if it was asked for no earlier than the path was, a remark says so."""
    found: ModelSettings = fill(ModelSettings, node, "model")
    given = node.mapping("model") if node else {}
    path = given.get("path")
    for name in _unused(found):
        if name in given and getattr(found, name) and (path is None or _rank(given[name]) >= _rank(path)):
            what = f"{given[name].place}: model.{name} = {getattr(found, name)!r} has no effect"
            where = f" ({path.place})" if path else ""
            why = f"model.path = {found.path!r}{where} names a model that is made already; `model.path=` lets a new one be made"
            why = why if found.path else "it is the revision of a model.path, and there is none"
            warnings.warn(f"{what}: {why}", Remark, stacklevel=4)
    fields: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(ModelSettings)}
    return dataclasses.replace(found, **{name: fields[name] for name in _unused(found)})


def _rank(node: Node) -> int:
    """Which wins where a setting is given twice: a profile over a file, the command line over both."""
    return {PROFILE: 1, COMMAND_LINE: 2}.get(node.file, 0)


def _kind(node: Node | None, section: str, default: str, schema_of: Any) -> tuple[str, Any]:
    fields = dict(node.mapping(section)) if node and not isinstance(node.value, str) else {}
    kind = fields.pop("kind", None) or (node if node and isinstance(node.value, str) else None)
    name = recipe_scores.text(kind, f"{section}.kind") if kind else default
    try:
        cls = schema_of(name)
    except (UnknownName, BadSetting) as error:
        raise BadSetting(f"{(kind or node).place}: {error}" if (kind or node) else str(error)) from error  # type: ignore[union-attr]
    if section == "algorithm" and "preset" in fields:
        fields = {**_preset(fields.pop("preset"), name, cls), **fields}
    return name, fill(cls, Node(fields, node.file, node.line) if node else None, section)


def _preset(chosen: Node, kind: str, config: type) -> dict[str, Node]:
    """The settings of an algorithm's `preset:`; what the section says itself wins over them."""
    known = _presets(config)
    name = recipe_scores.text(chosen, "algorithm.preset")
    if name not in known:
        raise BadSetting(f"{chosen.place}: {kind} has no preset {name!r}; known: {', '.join(known) or 'none'}")
    return {setting: Node(value, chosen.file, chosen.line) for setting, value in known[name].items()}


def _presets(config: type) -> Mapping[str, Record]:
    found: Mapping[str, Record] = getattr(import_module(config.__module__), "PRESETS", {})
    return found


def _taken_by(kind: str, name: str) -> type:
    """The options of a metric, a reward or an agent; none where its factory does not tell them."""
    options: type = getattr(registry.find(kind, name), "Options", _Untold)
    return options


@dataclass(frozen=True)
class _Untold:
    """No options."""


def _options_of(task: str) -> type:
    options: type = registry.named("task", task).Options
    return options


def _config_of(algorithm: str) -> type:
    config: type = registry.named("algorithm", algorithm).Config
    return config


def _merged(base: Node | None, top: Node | None) -> Node | None:
    """Evaluation decodes as training does, but for what it says itself."""
    if base is None or top is None:
        return top or base
    return Node({**base.mapping("decoding"), **top.mapping("evaluation")}, top.file, top.line)


def _override(root: Node, overrides: Sequence[str], place: str = COMMAND_LINE) -> Node:
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadSetting(f"the override {text!r} is not of the form key.path=value")
        here = root
        *parents, last = path.strip().split(".")
        for name in parents:
            if not isinstance(here.value, dict):
                raise BadSetting(f"the override {text!r}: {here.bare()!r} has no settings inside")
            inside = here.value.setdefault(name, Node({}, place, None))
            if isinstance(inside.value, str) and name in ("task", "algorithm", "teacher"):
                inside.value = {"kind": Node(inside.value, inside.file, inside.line)}
            here = inside
        if not isinstance(here.value, dict):
            raise BadSetting(f"the override {text!r}: {here.bare()!r} has no settings inside")
        here.value[last] = parse(value, place, numbered=False)
    return root


def describe(name: str) -> str:
    """What a setting (`clip`, `training.updates`), an algorithm, a task, an agent, a metric or a reward means: its why, default, range and source.

    Raises:
        UnknownName: nothing is called so.
    """
    from loquent.rewards.counting import Counting

    own: dict[str, Callable[[], type]] = {
        "rewards": lambda: Counting,
        "model": lambda: ModelSettings,
        "training": lambda: TrainingSettings,
        "decoding": lambda: Decoding,
    }
    own["evaluation"] = own["decoding"]
    own |= {f"algorithm.{kind}": partial(_config_of, kind) for kind in registry.names("algorithm")}
    own |= {f"task.{kind}": partial(_options_of, kind) for kind in registry.names("task")}
    own |= {f"featurizer.{one}": partial(registry.find, "featurizer", one) for one in registry.names("featurizer")}
    own |= {f"{kind}.{one}": partial(_taken_by, kind, one) for kind in ("metric", "reward", "agent") for one in registry.names(kind)}
    section, _, wanted = name.rpartition(".")
    named = [title for title in own if {title, title.rpartition(".")[2]} & {name, section}]
    lines: list[str] = []
    for title in named or own:  # an algorithm's settings stand beside its code, which takes seconds to import
        whole = name in (title, title.rpartition(".")[2])
        asked = section in ("", title, *title.split("."))
        fields = dataclasses.fields(own[title]())
        presets = _presets(own[title]()) if whole or (asked and wanted == "preset") else {}
        if presets:
            lines.append(f"{title}.preset (one of {', '.join(presets)}): several settings at once; what the section says itself wins over them")
        lines += [f"{title}.{f.name}{_meaning(f)}" for f in fields if name and (whole or (asked and f.name == wanted))]
    if not lines:
        raise UnknownName("setting", name, {f.name for schema in own.values() for f in dataclasses.fields(schema())} | set(own))
    return "\n".join(lines)


def _meaning(field: dataclasses.Field[Any]) -> str:
    needed = field.default is dataclasses.MISSING
    parts = [f" ({'needed' if needed else f'default {field.default!r}'}" + (f", {span(field)}" if span(field) else "") + ")"]
    if field.metadata.get("why"):
        parts.append(f": {field.metadata['why']}")
    if field.metadata.get("source"):
        parts.append(f" [{field.metadata['source']}]")
    return "".join(parts)
