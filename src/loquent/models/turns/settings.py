"""The settings of a network that chooses among a task's actions."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import setting
from loquent.core.values import EMPTY, Record
from loquent.data.features.making import resolved
from loquent.errors import BadSetting

VIEWS = {"vector": "", "objects": "objects", "cnn": "image", "patches": "image", "vilt": "image"}
LILGYM = "2211.01994 and the released code"


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What a network reads of an observation, its layers, and how it chooses.

    Raises:
        BadSetting: two settings contradict each other.
    """

    network: str = setting(
        "vector",
        "vector: layers on the vector of a featurizer; objects: attention over the rows of a view and the "
        "words of a sentence; cnn: a convolutional network beside a sentence; patches: a transformer over "
        "words and patches of an image; vilt: a ViLT model",
        choices=tuple(VIEWS),
    )
    view: str = setting(
        "", "the task's view of rows or of the image; empty: `objects` or `image`, as the network needs"
    )
    text: tuple[str, ...] = setting(
        (), "fields of the observation whose values, joined by spaces, are the sentence; empty: its text"
    )
    numbers: tuple[str, ...] = setting(
        (), "fields of the observation that are numbers or booleans, and that the network reads beside"
    )
    blind: bool = setting(False, "hide the sentence: the network reads an empty text (an ablation)")
    features: Record = setting(
        EMPTY,
        "the featurizer of sentences, as {kind: contextual, model: bert-base-uncased, layer: mean}; empty: "
        "words are embedded and encoded by layers that learn here (for `vector`: hashed n-grams)",
    )
    words: int = setting(
        64, "words of a sentence that the network reads at most; more are cut off at the end", low=1
    )
    path: str = setting("", "the Hugging Face name or folder of a ViLT model")
    revision: str = setting("", "the revision of a Hugging Face name")
    width: int = setting(64, "hidden size of the layers that learn here", low=4)
    layers: int = setting(2, "attention blocks, or hidden layers of `vector` and of `cnn`", low=1)
    heads: int = setting(4, "attention heads", low=1)
    patch: tuple[int, ...] = setting((10, 10), "height and width of a patch of the image, in pixels")
    critic: str = setting(
        "head",
        "the value function: a head on the policy's encoder, or a network of its own",
        choices=("head", "network"),
    )
    value: str = setting(
        "linear",
        "the output of the value function; tanh cannot exceed 1, as in the released code of lilGym",
        choices=("linear", "tanh"),
    )
    choose: str = setting(
        "auto",
        "the policy's output: a logit for each action, or for each number of each part of an action; auto: "
        "parts beyond 1,000 actions",
        choices=("auto", "actions", "parts"),
    )
    legal: bool = setting(True, "never choose an illegal action")
    sampled: bool = setting(False, "whether evaluation samples actions, instead of the best one")
    device: str = setting("cpu", "the device of the network", choices=("auto", "cpu", "cuda"))

    def check_network(self) -> None:
        """Raise BadSetting if two settings contradict each other."""
        if self.network in ("objects", "patches") and self.width % self.heads:
            raise BadSetting(
                f"width = {self.width} must be a multiple of heads = {self.heads}; change one of them"
            )
        if (self.network == "vilt") != bool(self.path):
            raise BadSetting(
                f"network = {self.network!r} with path = {self.path!r}: a ViLT model needs a path, and other "
                "networks have none; set both or neither"
            )
        if self.view and self.network == "vector":
            raise BadSetting(
                f"view = {self.view!r} has no effect with network = 'vector'; remove it, or choose another "
                "network"
            )
        if self.features and self.network in ("patches", "vilt"):
            raise BadSetting(
                f"features = {dict(self.features)} has no effect with network = {self.network!r}, which "
                "reads words; remove it"
            )
        if len(self.patch) != 2 or not all(type(size) is int and size >= 1 for size in self.patch):
            raise BadSetting(f"patch = {list(self.patch)} must be two sizes of at least 1, such as [10, 10]")

    def resolved_features(self) -> Record:
        """The settings of the featurizer with all defaults; empty where sentences are encoded here."""
        return resolved(self.features) if self.features or self.network == "vector" else EMPTY
