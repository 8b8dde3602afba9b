"""The options of the task: dialogues and images, the end of a game, rewards, and who answers and judges."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.errors import BadSetting
from loquent.tasks.dialogue.game import rules

BUILTIN, VISDIAL = "builtin", "visdial"
ENV_STOPS, AGENT_STOPS, TEN_TURNS = "env_stops", "agent_stops", "10_stop"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings under `task:` for dialogue."""

    source: str = setting(
        BUILTIN, "builtin: made scenes; visdial: files in VisDial's form", choices=(BUILTIN, VISDIAL)
    )
    path: str = setting("", "source visdial: a JSON file, or a folder with one for each split", file=True)
    images: str = setting(
        "",
        "source visdial: features of the images: an HDF5 file with images_train, ..., or a folder with "
        "images_train.npy, ...",
        file=True,
    )
    normalise: bool = setting(True, "scale the features of each image of a file to length 1", source="§5.1")
    progress: str = setting(
        "",
        "source visdial: a folder with recorded progress of dialogues: train_rank_reward_cache1.json, ...",
        file=True,
    )
    drop_duplicates: bool = setting(False, duplicates.HELP)
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)
    mode: str = setting(
        ENV_STOPS,
        "when a game ends: env_stops: when the image is found; agent_stops: when the agent writes <stop>; "
        "10_stop: after 10 questions; in the last two the reward is the progress",
        source="§5.1",
        choices=(ENV_STOPS, AGENT_STOPS, TEN_TURNS),
    )
    percentile: float = setting(
        0.5, "the share of the gap to the first rank that must be closed", source="§5.2", low=0.0, high=1.0
    )
    unsolved: float = setting(
        0.0,
        "the reward `turn` of the last question when the image is not found; 0 as released, -1 as all others",
        source="§5.2",
        choices=(0.0, -1.0),
    )
    yes_no: str = setting(
        rules.HARD,
        "which answers count as yes or no: none, soft (contain it), hard (are it), conservative (also vague "
        "ones)",
        source="§5.2",
        choices=tuple(rules.PHRASES),
    )
    match: str = setting(
        rules.CHARACTERS,
        "how they are matched: by characters, as released ('snow' contains 'no'), or by whole words",
        choices=(rules.CHARACTERS, rules.WORDS),
    )
    answerer: str | Record = setting(
        "dialogue/truthful", "the agent that answers, as a name or {kind: NAME, OPTION: VALUE}"
    )
    judge: str | Record = setting(
        "dialogue/guesser", "the agent that judges how well the image is known, as the answerer"
    )
    instruct: bool = setting(
        True, "state the rules before the first question; a small model trained on episodes needs none"
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.source == VISDIAL and not self.path:
            raise BadSetting("source = 'visdial' needs path, which is empty; set it")
        for name in ("path", "images", "progress"):
            if getattr(self, name) and self.source != VISDIAL:
                raise BadSetting(
                    f"{name} = {getattr(self, name)!r:.80} has no effect; it needs source=visdial"
                )
