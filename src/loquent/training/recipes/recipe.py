"""A recipe: a run as a value."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

from loquent.core import registry
from loquent.core.options import dump, parse, without_transport
from loquent.core.settings import Remark, noting_remarks
from loquent.core.values import Record, digest, plain
from loquent.files.run_folder import Tuning
from loquent.models.decoding_settings import Decoding
from loquent.training.recipes import building, effects, kinds
from loquent.training.recipes.overrides import Override, override
from loquent.training.recipes.sections import ModelSettings, ParallelSettings, TrainingSettings

WHOLE = ("update_share", 1.0), ("most_episodes", 0)  # settings of `training` that change nothing


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A run as a value: a task, a model, an algorithm, and all their settings.

    `task` and `algorithm` are kinds by name; `options` and `config` hold their settings.
    """

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
    parallel: ParallelSettings = ParallelSettings()
    tuning: Tuning | None = None
    alone: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
    """Names of code that is not imported (`load(imports="none")`): the recipe can be shown, not run."""
    remarks: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    """The remarks on its settings, such as one without effect; they were shown when it was made."""

    def resolve(self) -> dict[str, Any]:
        """The whole recipe as values that YAML can hold, with every default that has an effect.

        `load` reads it back as the same recipe.
        """
        with registry.refuse_imports(self.alone):
            unused = kinds.unused_sections(self.algorithm)
            starts = "model" in unused and kinds.starts(self.algorithm)
        names = ("model", "rewards", "metrics", "decoding", "evaluation", "training")
        sections = {name: plain(getattr(self, name)) for name in names if name not in unused}
        for name in building.unused_of_model(self.model) if "model" in sections else ():
            del sections["model"][name]
        if starts and self.model.path:
            sections["model"] = {"path": self.model.path}
        return {
            "name": self.name,
            "task": {"kind": self.task, **plain(self.options)},
            **sections,
            "algorithm": {"kind": self.algorithm, **plain(self.config)},
            **({} if self.parallel == ParallelSettings() else {"parallel": plain(self.parallel)}),
            **({} if self.tuning is None else {"tuning": plain(self.tuning)}),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of `identity`."""
        return digest(self.identity, 16)

    @property
    def identity(self) -> dict[str, Any]:
        """All settings that may change results.

        The name, the tuning, `parallel` and how an agent, such as a judge, is reached are left out; so are
        limits of the run that are not set.
        """
        left_out = ("name", "tuning", "parallel")
        settings = {key: value for key, value in self.resolve().items() if key not in left_out}
        settings["task"] = {key: plain(without_transport(value)) for key, value in settings["task"].items()}
        for section in settings.keys() & {"rewards", "metrics"}:  # their agents are judges
            settings[section] = {
                name: {key: plain(without_transport(item)) for key, item in value.items()}
                if isinstance(value, dict)
                else value
                for name, value in settings[section].items()
            }
        if "training" in settings:
            settings["training"] = {
                **{key: value for key, value in settings["training"].items() if (key, value) not in WHOLE},
                "teacher": plain(without_transport(settings["training"].get("teacher"))),
            }
        return settings

    def replace(self, *overrides: str | Override) -> Recipe:
        """The same recipe with `key.path=value` overrides; only their remarks are shown.

        Raises:
            BadSetting: an unknown key, a bad value, or new early stopping on the split of the final
                evaluation.
        """
        remarks: list[str] = []
        with registry.refuse_imports(self.alone), noting_remarks(remarks.append, self._remarks_of_defaults()):
            tree = override(parse(dump(self.resolve()), self.name), overrides)
            fields = building.settings(tree)
        if not effects.chooses_by_final_rows(self.training):
            effects.refuse_choice(fields["training"], tree)
        return Recipe(**fields, alone=self.alone, remarks=tuple(dict.fromkeys([*self.remarks, *remarks])))

    def _remarks_of_defaults(self) -> set[str]:
        """The remarks on the recipe with every default written out, which nobody wrote."""
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always", Remark)
            building.settings(parse(dump(self.resolve()), self.name))
        return {str(each.message) for each in shown if issubclass(each.category, Remark)}

    def yaml(self) -> str:
        """`resolve()` as YAML text, which `show` prints and a run's folder keeps."""
        return dump(self.resolve())
