"""The metric and reward `preference_model`: the score of a reward model that `loquent reward` has trained.

A model of pairs (Bradley-Terry) gives r(x) less the mean of r over its training texts, so 0 is an average
text (Ouyang et al. 2022, arXiv:2203.02155 sec. 3.5: rewards are shifted to mean 0 before learning), and the
difference of two scores is the log-odds of a preference. A model of labels gives P(good).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from loquent.core.metric import Context, Measured, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadModel, BadSetting
from loquent.metrics.judges.reward_models.note import ADVICE, GOOD_BAD, LABELS, Note, check_files, read_note
from loquent.metrics.networks import ModelOptions
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import judged_texts


@dataclass(frozen=True, kw_only=True)
class PreferenceModelOptions(ModelOptions):
    """Options of the metric and reward `preference_model`."""

    path: str = setting(why="the folder of a reward model that `loquent reward` wrote", file=True)


@dataclass(frozen=True, eq=False)
class PreferenceModel:
    """Per sample r(x) less its mean over training texts, or P(good)."""

    network: Callable[[], Any]  # returns a `pretrained.ClassifierNetwork`
    note: Note
    token_budget: int = 1024
    name: ClassVar[str] = "preference_model"
    keys: ClassVar[tuple[str, ...]] = ("preference_model",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions, after their prompts if the model was trained so.

        Raises:
            BadModel: the network cannot be loaded, or has other outputs than its note says.
        """
        if not samples.predictions:
            return with_means({self.name: []})
        network = self.network()
        if len(network.labels) != len(LABELS[self.note.objective]):
            raise BadModel(
                f"{network.module.config.name_or_path}: the network has {len(network.labels)} outputs, and "
                f"its note says {self.note.objective}, which has {len(LABELS[self.note.objective])}; {ADVICE}"
            )
        texts = judged_texts(samples.predictions, samples.prompts, self.note.include_prompt)
        if self.note.objective == GOOD_BAD:
            scores = network.probabilities(texts, token_budget=self.token_budget)[:, 1]
        else:
            scores = network.logits(texts, token_budget=self.token_budget)[:, 0] - self.note.mean
        return with_means({self.name: scores.tolist()})


@takes(PreferenceModelOptions)
def preference_model(context: Context, options: PreferenceModelOptions) -> PreferenceModel:
    """The score of a reward model trained on preferences. Needs loquent[train] and the folder.

    Raises:
        BadModel: the folder is none of `loquent reward`, or its training has not ended.
    """
    folder, loaded = Path(options.path), options.classifier("left")
    note = read_note(folder)

    def network() -> Any:
        check_files(folder)
        return loaded()

    return PreferenceModel(cache(network), note, options.token_budget)


def check_form(path: str, include_prompt: bool) -> None:
    """Check that a classifier is asked about texts in the form in which `loquent reward` trained it.

    Other classifiers, whose folders have no such note, are not checked.

    Raises:
        BadSetting: `include_prompt` differs from that of the training.
    """
    try:
        note = read_note(Path(path))
    except BadModel:
        return
    if note.include_prompt != include_prompt:
        has, wants = (str(value).lower() for value in (note.include_prompt, include_prompt))
        raise BadSetting(
            f"{path} was trained with include_prompt = {has}, and would be asked with {wants}; set "
            f"include_prompt to {has}"
        )
