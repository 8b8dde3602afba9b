"""The settings of a network that chooses among a task's actions."""

from __future__ import annotations

from dataclasses import dataclass, fields

from loquent.core import registry
from loquent.core.settings import setting
from loquent.core.values import EMPTY, Record, freeze, plain
from loquent.data.features.making import resolve_settings
from loquent.errors import BadSetting
from loquent.pretrained.learning.turn_network import TurnNetwork

VIEWS = {"vector": "", "objects": "objects", "cnn": "image", "patches": "image", "vilt": "image"}
OVER_FEATURES = ("view", "text", "numbers", "blind", "features", "path", "revision")
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
        "words and patches of an image; vilt: a ViLT model; else the name of a network that a task brings "
        "or module:Name",
    )
    network_settings: Record = setting(EMPTY, "the settings of a network that a task brings")
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
    legal: bool = setting(True, "never choose an illegal action")
    stop_head: bool = setting(
        False,
        "learn P(the goal holds) in every visited state, and let it decide when to stop: training stops with "
        "this probability, evaluation from a threshold on, which is chosen on held-out rows; for tasks with "
        "`stop` and `goal`",
    )
    stop_weight: float = setting(
        0.5, "weight of the cross-entropy of this probability, on the layers that the choices share", low=0.0
    )
    stop_discount: float = setting(
        1.0,
        "the threshold has the highest mean of stop_discount^answers · return on held-out rows",
        low=0.0,
        high=1.0,
    )
    stop_rows: int = setting(300, "rows of training.evaluate_split that it is chosen on, at most", low=1)
    device: str = setting("cpu", "the device of the network", choices=("auto", "cpu", "cuda"))

    @property
    def task_network(self) -> type[TurnNetwork] | None:
        """The class of a network that a task brings; None for the networks over features."""
        return None if self.network in VIEWS else _brought(self.network)

    @property
    def learns_besides(self) -> int:
        """1 if the network learns something besides its choices, with gradient steps of its own; else 0."""
        cls = self.task_network
        return 0 if cls is None else int(cls.learns_besides(cls.fill_settings(self.network_settings)))

    def resolve_network(self) -> None:
        """Fill in the defaults of the network's own settings, or of the featurizer.

        Raises:
            BadSetting: there is no such network, or two settings contradict each other.
        """
        if self.network in VIEWS:
            self.check_network()
            object.__setattr__(self, "features", self.resolved_features())
            return
        cls = _brought(self.network)
        given = [name for name in OVER_FEATURES if getattr(self, name)]
        if given or not self.legal:
            name = given[0] if given else "legal"
            raise BadSetting(
                f"{name} = {getattr(self, name)!r:.80} has no effect with network = {self.network!r}, which "
                "reads and chooses in its own way; remove it"
            )
        settings = cls.fill_settings(self.network_settings)
        resolved = {field.name: getattr(settings, field.name) for field in fields(settings)}
        object.__setattr__(self, "network_settings", Record(freeze(plain(resolved))))

    def check_network(self) -> None:
        """Raise BadSetting if two settings contradict each other."""
        if self.network_settings:
            raise BadSetting(
                f"network_settings = {dict(self.network_settings)!r:.80} has no effect with network = "
                f"{self.network!r}; it is for a network that a task brings; remove it"
            )
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
        return resolve_settings(self.features) if self.features or self.network == "vector" else EMPTY


@dataclass(frozen=True, kw_only=True)
class PolicySettings(NetworkSettings):
    """The settings of a network with a policy and a value function."""

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
    sampled: bool = setting(False, "whether evaluation samples actions, instead of the best one")


def _brought(name: str) -> type[TurnNetwork]:
    """The class of a network by its registered name, or by "module:Name"."""
    known = registry.networks()
    if name not in known and ":" not in name:
        raise BadSetting(
            f"network = {name!r}; it must be one of {', '.join((*VIEWS, *known))}, or your own as module:Name"
        )
    cls = registry.import_name(known.get(name, name))
    if not (isinstance(cls, type) and issubclass(cls, TurnNetwork)):
        raise BadSetting(f"network = {name!r} is {cls!r:.80}; it must be a class derived from TurnNetwork")
    return cls
