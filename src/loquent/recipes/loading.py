"""A recipe: a run as a value. YAML under a page, filled into frozen dataclasses, which are the only schema.

An unknown key or a bad value names file and line, the nearest key and the range. `key.path=value` overrides
one setting.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any, Literal

from loquent.core import registry
from loquent.core.agent import without_transport
from loquent.core.algorithm import Algorithm, AlgorithmConfig
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.guards import trust
from loquent.core.guards.safe_yaml import MOST_LEVELS
from loquent.core.options import COMMAND_LINE, Node, dump, fill, options_of, parse, read, unknown
from loquent.core.settings import Remark, range_text
from loquent.core.task import Task
from loquent.core.values import Record, digest, plain
from loquent.errors import BadSetting, NotImported, UnknownName
from loquent.models.decoding_settings import Decoding
from loquent.recipes import scores
from loquent.recipes.sections import ModelSettings, TrainingSettings

FOLDER = resources.files("loquent.recipes")
MADE_BY = (
    "shape",
    "layers",
    "width",
    "heads",
    "context",
    "vocabulary",
    "tokenizer_texts",
    "dropout",
)  # without effect on a model that is there
PROFILE = "profile smoke"
OF_ROWS = ("parent", "bleu_totto")  # they read tables, which the built-in reviews do not have
Imports = Literal["trusted", "all", "none"]
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
    alone: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
    """Names of code that stay names (`load(imports="none")`): the recipe can be shown, not run."""

    def resolved(self) -> dict[str, Any]:
        """The whole recipe with every default that has an effect written out, as YAML can hold it.

        `load` takes it back.
        """
        with registry.refuse_imports(self.alone):
            unheard = _unheard(self.algorithm)
        said = [
            name
            for name in ("model", "rewards", "metrics", "decoding", "evaluation", "training")
            if name not in unheard
        ]
        sections = {name: plain(getattr(self, name)) for name in said}
        for name in _unused(self.model) if "model" in sections else ():
            del sections["model"][name]
        task = {"kind": self.task, **plain(self.options)}
        return {
            "name": self.name,
            "task": task,
            **sections,
            "algorithm": {"kind": self.algorithm, **plain(self.config)},
        }

    @property
    def fingerprint(self) -> str:
        """A hash of every setting but the name, and but those that only say how a teacher is reached."""
        settings = {key: value for key, value in self.resolved().items() if key != "name"}
        if "training" in settings:
            settings["training"] = {
                **settings["training"],
                "teacher": plain(without_transport(settings["training"].get("teacher"))),
            }
        return digest(settings, 16)

    def replace(self, *overrides: str) -> Recipe:
        """The same recipe with `key.path=value` overrides."""
        with registry.refuse_imports(self.alone):
            made = _recipe(_override(parse(dump(self.resolved()), self.name), overrides))
        return dataclasses.replace(made, alone=self.alone)

    def yaml(self) -> str:
        """`resolved` as text: what `show` prints and a run's folder keeps."""
        return dump(self.resolved())


def load(
    name: str | Path,
    overrides: Sequence[str] = (),
    *,
    profile: str | None = None,
    imports: Imports = "trusted",
) -> Recipe:
    """A recipe by registered or built-in name, or from a YAML file.

    Args:
        overrides: `key.path=value`, later ones win.
        imports: what becomes of code that a YAML file names, as `module:Name`. "trusted": it is imported
            where the file lies under the current folder or was written here by this user (`trust`). "all": it
            is imported. "none": it stays a name, and the settings that only it could check stay as the file
            has them; such a recipe can be shown, not run.
        profile: "smoke" shrinks updates and episodes and makes a tiny model, so that a run takes seconds and
            needs no other run; overrides go on top.

    Raises:
        UnknownName: no such recipe. BadSetting: an unknown key or a bad value, with file and line.
            NotTrusted: the file names code.

    Warns:
        Remark: a setting of a model to be made is given beside `model.path`, which names one that is there.
    """
    path = find(name)
    root = read(path)
    if not root.mapping("a recipe"):
        raise BadSetting(f"{path.name}: the recipe is empty; `loquent show reviews_ppo` prints a whole one")
    root.mapping("a recipe").setdefault("name", Node(Path(str(name)).stem, root.file, root.line))
    if imports == "trusted" and str(name).endswith((".yaml", ".yml")):
        trust.check(_override(copy.deepcopy(root), overrides), path)
    alone = frozenset(reach.name for reach in trust.reaches(root)) if imports == "none" else frozenset[str]()
    with registry.refuse_imports(alone):
        made = _recipe(_override(_override(root, _profile(profile, root, overrides), PROFILE), overrides))
    return dataclasses.replace(made, alone=alone)


def names() -> list[str]:
    """All recipes known by name: the built-in ones and the registered ones."""
    own = [item.name.removesuffix(".yaml") for item in FOLDER.iterdir() if item.name.endswith(".yaml")]
    return sorted({*own, *registry.names("recipe")})


def find(name: str | Path) -> Path:
    """The YAML file of a recipe."""
    if str(name).endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise BadSetting(
                f"there is no recipe file {path}; `loquent list recipes` shows the built-in ones"
            )
        return path
    if str(name) in registry.names("recipe"):
        return Path(registry.target("recipe", str(name)))
    if str(name) not in names():
        raise UnknownName("recipe", str(name), names())
    return Path(str(FOLDER / f"{name}.yaml"))


def schema(recipe: Recipe) -> dict[str, type]:
    """The dataclass behind each section of a recipe."""
    task, config = _options_of(recipe.task), _config_of(recipe.algorithm)
    return {
        "task": task,
        "model": ModelSettings,
        "decoding": Decoding,
        "evaluation": Decoding,
        "algorithm": config,
        "training": TrainingSettings,
    }


def _profile(profile: str | None, root: Node, overrides: Sequence[str]) -> Sequence[str]:
    """The overrides a profile stands for.

    Those of "smoke" also shrink what this recipe's evaluation says for itself, and replace what it names
    outside: its reference, its rows by the built-in reviews, its classifiers by such as are trained here, its
        recorded episodes by play.
    """
    if profile is None:
        return ()
    if profile != "smoke":
        raise BadSetting(f"there is no profile {profile!r}; known: smoke")
    inside = {name: node.value for name, node in root.value.items() if isinstance(node.value, dict)}
    shorter = {"max_new_tokens": 8, "min_new_tokens": 0}
    own = [
        f"evaluation.{name}={value}"
        for name, value in shorter.items()
        if name in inside.get("evaluation", {})
    ]
    reference = inside.get("model", {}).get("reference")
    if reference and reference.value not in ("copy", "none"):
        own.append("model.reference=copy")
    if "data" in inside.get("training", {}) and not any(
        text.startswith("training.data=") for text in overrides
    ):
        # They may not have been collected yet: a random player stands in for them.
        own += [
            "training.data=",
            "training.data_top=1.0",
            "training.data_bottom=1.0",
            "training.teacher=random",
        ]
    algorithm = inside.get("algorithm", {})
    if "kind" in algorithm and algorithm["kind"].value == "filtered_cloning":
        own.append("algorithm.top=1.0")  # a small share of a few episodes is none
    rows = _rows(inside, overrides)
    own += [*_small(_override(copy.deepcopy(root), overrides)), *rows, *_scores(inside, bool(rows))]
    return (*SMOKE, *own)


def _rows(inside: Mapping[str, Any], overrides: Sequence[str]) -> list[str]:
    """The built-in reviews in the place of a hub dataset, and of a file or folder of texts that is not here
    (yet), as a remark says.
    """
    task = inside.get("task", {})
    kind, source, path = (task[name].value if name in task else None for name in ("kind", "source", "path"))
    absent = kind == DEFAULT_TASK and source == "path" and not _is_here(path)
    if not (source == "hub" or absent) or any(
        text.startswith(("task.path=", "task.source=")) for text in overrides
    ):
        return []
    if absent:
        what = f"there is no file or folder {path}; the profile smoke takes the built-in reviews in its place"
        warnings.warn(f"{task['source'].place}: task.path: {what}", Remark, stacklevel=4)
    own = [
        "task.source=builtin",
        *(f"task.{name}=" for name in ("path", "name", "revision", "subset") if name in task),
    ]
    if kind == DEFAULT_TASK:  # the built-in rows have labels of their own
        own += [
            f"task.{name}={value}"
            for name, value in (("text_field", "text"), ("label_field", ""), ("labels", "[]"))
            if name in task
        ]
        own += ["training.only={}"] if "only" in inside.get("training", {}) else []
    return own


def _scores(inside: Mapping[str, Any], other_rows: bool) -> list[str]:
    """What rewards and metrics have in the place of networks, programs and tables that are not here: their
    defaults, or the score `lexicon`.
    """
    own: list[str] = []
    defaults = {"classifier": "", "label": 1, "revision": ""}
    for section in ("rewards", "metrics"):
        for name, node in inside.get(section, {}).items():
            options = node.value if isinstance(node.value, dict) else {}
            of = options["of"].value if "of" in options else name
            absent = any(key in options and not _is_here(options[key].value) for key in ("path", "jar"))
            if "classifier" in options:
                own += [
                    f"{section}.{name}.{key}={value}" for key, value in defaults.items() if key in options
                ]
            elif isinstance(of, str) and ":" not in of and (absent or (other_rows and of in OF_ROWS)):
                alone = Node({name: node}, node.file, node.line)  # what is wrong with it is said all the same
                if section == "rewards":
                    scores.rewards(alone, DEFAULT_TASK, _options_of(DEFAULT_TASK)())
                else:
                    scores.metrics(alone, DEFAULT_TASK, None, False)
                weight = f", weight: {options['weight'].bare()}" if "weight" in options else ""
                own.append(f"{section}.{name}={{of: lexicon{weight}}}")
    return own


def _is_here(place: Any) -> bool:
    return isinstance(place, str) and os.path.exists(os.path.expanduser(place))


def _small(root: Node) -> list[str]:
    """What makes the algorithm itself small, where it says so."""
    node = root.value.get("algorithm")
    kind = node.value.get("kind") if node and isinstance(node.value, dict) else node
    name = kind.value if kind is not None else None
    if not isinstance(name, str) or not (":" in name or name in registry.names("algorithm")):
        return []  # `_recipe` says what is wrong with it
    try:
        return list(_algorithm(name).smoke)
    except BadSetting:
        return []  # likewise


def _recipe(root: Node) -> Recipe:
    known = ("name", "task", "model", "rewards", "metrics", "decoding", "evaluation", "algorithm", "training")
    sections: dict[str, Node] = root.mapping("a recipe")
    for key, node in sections.items():
        if key not in known:
            raise unknown(node, key, known, "a recipe")
    task, options = _kind(sections.get("task"), "task", DEFAULT_TASK, _options_of)
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
        rewards=scores.rewards(sections.get("rewards"), task, options),
        metrics=scores.metrics(sections.get("metrics"), task, options, "rewards" in sections),
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
    try:
        return _algorithm(algorithm).unused
    except NotImported:
        return ()


def _drop(sections: dict[str, Node], name: str, algorithm: str) -> None:
    """Leave out a section that has no effect; a remark says so, unless it came with a profile."""
    node = sections.pop(name, None)
    if node is not None and node.file != PROFILE:
        warnings.warn(
            f"{node.place}: {name} has no effect: {algorithm} has no language model", Remark, stacklevel=4
        )


def _model(node: Node | None) -> ModelSettings:
    """The model's settings.

    One without effect keeps its default; if it was asked for no earlier than the path was, a remark says so.
    """
    found: ModelSettings = fill(ModelSettings, node, "model")
    given = node.mapping("model") if node else {}
    path = given.get("path")
    for name in _unused(found):
        if name in given and getattr(found, name) and (path is None or _rank(given[name]) >= _rank(path)):
            what = f"{given[name].place}: model.{name} = {getattr(found, name)!r} has no effect"
            where = f" ({path.place})" if path else ""
            why = (
                f"model.path = {found.path!r}{where} names a model that is made already; `model.path=` "
                "lets a new one be made"
            )
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
    name = scores.text(kind, f"{section}.kind") if kind else default
    try:
        cls = schema_of(name)
    except NotImported:
        return name, Node(fields, "", None).plain()
    except (UnknownName, BadSetting) as error:
        raise BadSetting(f"{(kind or node).place}: {error}" if (kind or node) else str(error)) from error  # type: ignore[union-attr]  # either node is there
    if section == "algorithm" and "preset" in fields:
        fields = {**_preset(fields.pop("preset"), name, cls), **fields}
    if kind and kind.line is None:
        _check_kept(fields, kind, section, name, cls)
    try:
        return name, fill(cls, Node(fields, node.file, node.line) if node else None, section)
    except NotImported:
        return name, Node(fields, "", None).plain()


def _check_kept(fields: Mapping[str, Node], kind: Node, section: str, name: str, cls: type) -> None:
    """Raise BadSetting where an override chose the kind and settings of the file, which were for another
    kind, do not exist for it.
    """
    known = {field.name for field in dataclasses.fields(cls)}
    unknown_here = [key for key, node in fields.items() if key not in known and node.line is not None]
    if unknown_here:
        what = (
            f"{kind.place}: {section}.kind={name} changes the kind, and {name} has no setting "
            f"{', '.join(unknown_here)}"
        )
        raise BadSetting(
            f"{what} ({fields[unknown_here[0]].place}); leave the kind as it is, or take these "
            "settings out of a copy of the file"
        )


def _preset(chosen: Node, kind: str, config: type) -> dict[str, Node]:
    """The settings of an algorithm's `preset:`; what the section says itself wins over them."""
    known = _presets(config)
    name = scores.text(chosen, "algorithm.preset")
    if name not in known:
        raise BadSetting(
            f"{chosen.place}: {kind} has no preset {name!r}; known: {', '.join(known) or 'none'}"
        )
    return {setting: Node(value, chosen.file, chosen.line) for setting, value in known[name].items()}


def _presets(config: type) -> Mapping[str, Record]:
    found: Mapping[str, Record] = getattr(import_module(config.__module__), "PRESETS", {})
    return found


def _taken_by(kind: str, name: str) -> type:
    """The options of a metric, a reward or an agent; none where its factory does not tell them."""
    return options_of(registry.find(kind, name)) or _Untold


@dataclass(frozen=True)
class _Untold:
    """No options."""


def _options_of(task: str) -> type:
    made = registry.resolve("task", task)
    if not (isinstance(made, type) and issubclass(made, Task)):
        raise BadSetting(
            f"{task!r} names {made!r:.80}, which is no task; a class derived from "
            "loquent.core.task.Task is right"
        )
    return made.Options


def _config_of(algorithm: str) -> type:
    return _algorithm(algorithm).Config


def _algorithm(name: str) -> type[Algorithm]:
    """The class of an algorithm.

    Raises:
        BadSetting: the name names no algorithm, or one without settings. NotImported: it names code that is
            not imported.
    """
    made = registry.resolve("algorithm", name)
    if not (isinstance(made, type) and issubclass(made, Algorithm)):
        what = f"{name!r} names {made!r:.80}, which is no algorithm"
        raise BadSetting(f"{what}; name a class derived from loquent.core.algorithm.Algorithm")
    config = made.Config
    if not (issubclass(config, AlgorithmConfig) and dataclasses.is_dataclass(config)):
        what = f"the Config of {name!r} is {config!r:.80}"
        raise BadSetting(
            f"{what}; make it a frozen dataclass derived from loquent.core.algorithm.AlgorithmConfig"
        )
    return made


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
        if len(parents) >= MOST_LEVELS:
            raise BadSetting(
                f"the override {text!r:.80}... names a path of {len(parents) + 1} parts; at most "
                f"{MOST_LEVELS} are right"
            )
        for name in parents:
            if not isinstance(here.value, dict):
                raise BadSetting(f"the override {text!r}: {here.bare()!r} has no settings inside")
            inside = here.value.setdefault(name, Node({}, place, None))
            if isinstance(inside.value, str) and name in ("task", "algorithm", "teacher"):
                inside.value = {"kind": Node(inside.value, inside.file, inside.line)}
            here = inside
        if not isinstance(here.value, dict):
            raise BadSetting(f"the override {text!r}: {here.bare()!r} has no settings inside")
        found, before = parse(value, place, numbered=False), here.value.get(last)
        if (
            last != "kind" or before is None or before.value != found.value
        ):  # the kind of the file, given again, stays the file's
            here.value[last] = found
    return root


def describe(name: str) -> str:
    """What a setting (`clip`, `training.updates`), an algorithm, a task, an agent, a metric or a reward
    means: its why, default, range and source.

    Raises:
        UnknownName: nothing is called so.
    """
    from loquent.rewards.counting import Counting

    if registry.is_import_name(name):
        return _describe_own(name)
    own: dict[str, Callable[[], type]] = {
        "rewards": lambda: Counting,
        "model": lambda: ModelSettings,
        "training": lambda: TrainingSettings,
        "decoding": lambda: Decoding,
    }
    own["evaluation"] = own["decoding"]
    own |= {f"algorithm.{kind}": partial(_config_of, kind) for kind in registry.names("algorithm")}
    own |= {f"task.{kind}": partial(_options_of, kind) for kind in registry.names("task")}
    own |= {
        f"featurizer.{one}": partial(registry.find, "featurizer", one) for one in registry.names("featurizer")
    }
    own |= {
        f"{kind}.{one}": partial(_taken_by, kind, one)
        for kind in ("metric", "reward", "agent")
        for one in registry.names(kind)
    }
    section, _, wanted = name.rpartition(".")
    named = [title for title in own if {title, title.rpartition(".")[2]} & {name, section}]
    lines: list[str] = []
    for title in named or own:  # an algorithm's settings stand beside its code, which takes seconds to import
        whole = name in (title, title.rpartition(".")[2])
        asked = section in ("", title, *title.split("."))
        fields = dataclasses.fields(own[title]())
        presets = _presets(own[title]()) if whole or (asked and wanted == "preset") else {}
        if presets:
            lines.append(
                f"{title}.preset (one of {', '.join(presets)}): several settings at once; what the "
                "section says itself wins over them"
            )
        lines += [
            f"{title}.{f.name}{_meaning(f)}"
            for f in fields
            if name and (whole or (asked and f.name == wanted))
        ]
    if not lines:
        raise UnknownName(
            "setting",
            name,
            {f.name for schema in own.values() for f in dataclasses.fields(schema())} | set(own),
        )
    return "\n".join(lines)


def _describe_own(name: str) -> str:
    """The settings of "module:Name", which was typed: an algorithm's `Config`, or the `Options` of anything
    else.
    """
    named = registry.import_name(name)
    learns = isinstance(named, type) and issubclass(named, Algorithm)
    schema = named.Config if learns else options_of(named)
    if not dataclasses.is_dataclass(schema):
        return f"{name} has no settings"
    return (
        "\n".join(f"{name}.{field.name}{_meaning(field)}" for field in dataclasses.fields(schema))
        or f"{name} has no settings"
    )


def _meaning(field: dataclasses.Field[Any]) -> str:
    needed = field.default is dataclasses.MISSING
    parts = [
        f" ({'needed' if needed else f'default {field.default!r}'}"
        + (f", {range_text(field)}" if range_text(field) else "")
        + ")"
    ]
    if field.metadata.get("why"):
        parts.append(f": {field.metadata['why']}")
    if field.metadata.get("source"):
        parts.append(f" [{field.metadata['source']}]")
    return "".join(parts)
