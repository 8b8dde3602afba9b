"""The contract of an engine: who draws tokens for a policy, and scores given answers.

Ours is `models.decode.engine.LoopEngine`; `decoding.engine` names another one as "module:Name". Agents ask
engines through `draw`, which first refuses what the engine cannot do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Tokens
from loquent.core.seeding import Key
from loquent.core.task import Stopped
from loquent.errors import BrokenEngine, EngineCannot
from loquent.models.decoding_settings import Decoding

if TYPE_CHECKING:
    from torch import nn

    from loquent.models.format.names import Format
    from loquent.models.tokens.trie import Trie
    from loquent.models.values.perturb import Perturbation

Weights = Mapping[str, Any] | Path
"""The policy's tensors by the names of its state dict, or a folder of safetensors files with these names."""
BOUNDS = {"float64": 1e-8, "float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}
"""The most, in nats, that a log-probability of an engine may differ from the learner's, by dtype.

A logit of 30 has an error of up to .008 in float16 and of .06 in bfloat16, before layers add theirs.
"""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What an engine can do."""

    supports: bool = False  # top-k, top-p and a minimum length; the support of each token is recorded
    nucleus: bool = False  # a masking policy, whose nucleus is part of the support (NLPO)
    perturbation: bool = False  # values that perturb the policy
    legal: bool = False  # legal texts alone, by a trie of ids
    stop: bool = False  # stop strings
    beams: bool = False  # beam search
    compile: bool = False  # compiled steps of decoding
    pairs: bool = False  # encoder-decoders
    conditioning: bool = False  # the number that a learner puts into its module while it acts
    adapters: bool = False  # weights with low-rank adapters beside them
    kept_states: bool = False  # keeps states between the turns of a game, and reads only the new tokens
    exact_keys: bool = False  # equal keys give equal draws, whatever is drawn beside them
    shared_weights: bool = False  # runs the learner's own module, so that nothing is loaded in training


@dataclass(frozen=True)
class Nucleus:
    """NLPO's masking policy (arXiv:2210.01241, section 4.2): only tokens in its nucleus may be drawn.

    If `model` is None, the policy masks itself. The ids in `always` are never masked, but a minimum length or
    legal words may still forbid them. With `top_p >= 1` and no `top_k` nothing is masked, and the model is
    not run.
    """

    model: nn.Module | None = None
    top_p: float = 1.0
    top_k: int = 0
    min_keep: int = 1
    always: tuple[int, ...] = ()

    def keeps_all(self, vocabulary: int) -> bool:
        """Whether the nucleus masks no token."""
        return self.top_p >= 1 and (self.top_k == 0 or self.top_k >= vocabulary)


@dataclass(frozen=True, eq=False)
class Ask:
    """A request for one answer.

    Args:
        ids: the prompt, at least one id; of an encoder-decoder both sides, which
            `pretrained.encoder_decoders.sides` splits.
        key: the random stream of the answer, for engines with exact keys.
        decoding: how the answer is drawn, and its most tokens.
        stop: the answer ends as soon as its text contains one of these strings.
        legal: the ids of the legal answers; None: any answer.
        nucleus: a masking policy, or None.
        perturbation: values that perturb the policy, or None.
        game: the name of the episode, for caches that may be dropped at any moment.
    """

    ids: Sequence[int]
    key: Key
    decoding: Decoding
    stop: tuple[str, ...] = ()
    legal: Trie | None = None
    nucleus: Nucleus | None = None
    perturbation: Perturbation | None = None
    game: str = ""

    @property
    def wants(self) -> dict[str, str]:
        """The capabilities that this request needs, each with the setting that asks for it."""
        decoding, settings = self.decoding, dict[str, str]()
        limits = {"min_new_tokens": decoding.min_new_tokens > 0}
        if decoding.method == "sample":
            limits |= {"top_k": decoding.top_k > 0, "top_p": decoding.top_p < 1}
        for name in (name for name, limited in limits.items() if limited):
            settings["supports"] = f"decoding.{name} = {getattr(decoding, name)}"
        if decoding.method == "beam":
            settings["beams"] = "decoding.method = 'beam'"
        if decoding.compile:
            settings["compile"] = "decoding.compile = true"
        if self.nucleus is not None:
            settings["nucleus"] = "the algorithm's masking policy (algorithm.top_p, algorithm.top_k)"
        if self.perturbation is not None and not self.perturbation.neutral:
            settings["perturbation"] = f"algorithm.adv_beta = {self.perturbation.adv_beta}"
        if self.legal is not None:
            settings["legal"] = "decoding.legal = true"
        if any(self.stop):
            settings["stop"] = f"the task's stop strings {self.stop!r:.60}"
        if self.ids and self.ids[0] < 0:
            settings["pairs"] = "the encoder-decoder in model.path or model.shape"
        return settings


@dataclass(frozen=True, eq=False)
class Drawn:
    """The drawn tokens of an answer, end token included, and the reason why it stopped.

    `tokens` has n ids, their log-probabilities in nats, the support of each, and the version of the weights.
    """

    tokens: Tokens
    stopped: Stopped


Given = tuple[Ask, Drawn]
"""A request with an answer, whose tokens and supports are scored as they are."""


class Logprobs(NamedTuple):
    """Log-probabilities of the n tokens of an answer, in nats, float64 [n]."""

    drawn: NDArray[np.floating[Any]]  # in the support, with the temperature and the perturbation
    policy: NDArray[np.floating[Any]] | None  # in the full softmax; None: the engine does not know it


class Engine(ABC):
    """Who draws tokens for a policy. It is made as `Class(module, format)`, for the learner's module.

    Law: its log-probabilities are the learner's within `BOUNDS`, for the weights of the last `load`
    (`loquent.bench.conformance.engines.problems` checks it).

    name: for messages. version: the number of the weights that it draws with, below 0 before the first load.
    """

    name: str
    can: Capabilities
    version: int = -1

    def __init__(self, module: Any, format: Format) -> None:
        self.module, self.format = module, format

    @abstractmethod
    def draw(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Drawn]]:
        """The answer to each request with the request's number, in any order, without dropout."""

    @abstractmethod
    def score(self, given: Sequence[Given]) -> Sequence[Logprobs]:
        """The log-probabilities of given answers, in order, without dropout and without a gradient."""

    @abstractmethod
    def load(self, weights: Weights, version: int) -> None:
        """Copy new weights and take their number.

        Raises:
            BadModel: names, shapes or types differ from those of the engine's network.
        """

    def probe(self, given: Sequence[Given], ours: Sequence[Logprobs]) -> float:
        """The greatest difference between the engine's and the learner's log-probabilities, in nats."""
        return greatest_difference(self.score(given), ours)

    def close(self) -> None:  # noqa: B027 - most engines hold nothing outside this process
        """Free what the engine holds outside this process; it draws no more."""


def greatest_difference(theirs: Sequence[Logprobs], ours: Sequence[Logprobs]) -> float:
    """The greatest difference of two engines' log-probabilities, in nats; NaN if a number is NaN."""
    differences = [
        np.abs(one - other)
        for pair in zip(theirs, ours, strict=True)
        for one, other in zip(*pair, strict=True)
        if one is not None and other is not None
    ]
    return float(np.concatenate([np.zeros(1), *differences]).max())


def refuse(engine: Engine, wants: Mapping[str, str]) -> None:
    """Refuse what an engine cannot do.

    Args:
        wants: the names of capabilities, each with the setting that asks for it.

    Raises:
        EngineCannot: the engine lacks a capability.
    """
    can = vars(engine.can)
    for capability, setting in wants.items():
        if not can[capability]:
            able = ", ".join(name for name, is_able in can.items() if is_able) or "nothing of the kind"
            raise EngineCannot(
                f"the engine {engine.name} has no {capability!r}, which {setting} needs; it can: {able}; "
                "change the setting, or set decoding.engine to 'ours'"
            )


def draw(engine: Engine, asks: Sequence[Ask]) -> list[Drawn]:
    """The answers to requests in their order.

    Raises:
        EngineCannot: the engine lacks a capability that a request needs; nothing is drawn.
        BrokenEngine: the engine did not answer each request once, or an answer has a wrong length.
    """
    for ask in asks:
        refuse(engine, ask.wants)
    numbered = list(engine.draw(asks))
    answers = dict(numbered)
    if len(numbered) != len(asks) or answers.keys() != set(range(len(asks))):
        raise BrokenEngine(
            f"the engine {engine.name} gave {len(numbered)} answers to {len(asks)} requests, with the "
            f"numbers {sorted(answers)!r:.80}; it must answer each request once; mend its `draw`"
        )
    for number, ask in enumerate(asks):
        count, stopped = len(answers[number].tokens.ids), answers[number].stopped
        if not 0 < count <= ask.decoding.max_new_tokens or stopped not in get_args(Stopped):
            raise BrokenEngine(
                f"the engine {engine.name} gave an answer of {count} tokens, stopped by {stopped!r:.40}; it "
                f"must have 1 to {ask.decoding.max_new_tokens} and stop by one of {get_args(Stopped)}; mend "
                "its `draw`"
            )
    return [answers[number] for number in range(len(asks))]
