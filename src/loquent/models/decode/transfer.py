"""Engines by name, and the transfer of a policy's weights to them."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np

from loquent.core import registry
from loquent.core.episode import TASK, Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadSetting, BrokenEngine
from loquent.models.actor import Actor
from loquent.models.decode.engine import LoopEngine
from loquent.models.decoding_settings import OURS, Decoding
from loquent.models.engine import BOUNDS, Ask, Drawn, Engine, Given, refuse
from loquent.models.format.names import Format
from loquent.models.score.action_scores import answer_logprobs
from loquent.pretrained import lora, prompt_room
from loquent.pretrained.pytorch.torch_private import version as changes_of

PROBES = (("a", "b"), ("What is the colour of the sky?", " It is blue."), ("1 2 3 4 5 6 7 8", " 9 10 11 12"))


def engine_of(name: str, module: Any, format: Format) -> Engine:
    """A new engine with the weights of a module: ours, or the one that "module:Name" names.

    Raises:
        BadSetting: the name is not that of an engine.
        BrokenEngine, EngineCannot: as in `transfer`.
    """
    kind: Any = LoopEngine if name == OURS else registry.import_name(name)
    if not (isinstance(kind, type) and issubclass(kind, Engine)):
        raise BadSetting(
            f"decoding.engine = {name!r} names {kind!r:.80}; it must be {OURS!r}, or the module:Name of a "
            "class derived from loquent.models.engine.Engine"
        )
    engine: Engine = kind(module, format)
    transfer(engine, module, format, 0)
    return engine


def engine_for(actor: Actor, decoding: Decoding | None, version: int) -> Engine:
    """The engine that an actor draws with, which has the actor's newest weights.

    It is made at its first use, and closed with the actor. A remark says if its draws cannot be repeated.

    Args:
        version: the number of the actor's update; 0 if nobody counts.
    """
    name = OURS if decoding is None else decoding.engine
    changes = changes_of(actor.policy.parameters())
    if name not in actor.engines:
        engine = engine_of(name, actor.policy, actor.format)
        weakref.finalize(actor, engine.close)
        if not engine.can.exact_keys:
            message = (
                f"{name!r} has no exact keys: a resumed run plays the same rows, but draws other answers"
            )
            warnings.warn(f"decoding.engine = {message}", Remark, stacklevel=2)
        actor.engines[name] = engine, changes
    engine, known = actor.engines[name]
    if (engine.version, known) != (version, changes):  # a learner may not count its updates
        transfer(engine, actor.policy, actor.format, version)
        actor.engines[name] = engine, changes
    return engine


def transfer(engine: Engine, module: Any, format: Format, version: int) -> None:
    """Load a module's weights into an engine, and compare its log-probabilities with the module's.

    An engine that runs the module itself only takes the number.

    Raises:
        EngineCannot: the module has adapters, which the engine does not take.
        BrokenEngine: log-probabilities of the probe texts differ by more than `BOUNDS` allows.
    """
    if engine.can.shared_weights:
        engine.version = version
        return
    if lora.is_adapted(module):
        refuse(engine, {"adapters": "model.lora.rank > 0"})
    engine.load(module.state_dict(), version)
    given = [_given(format, module, *texts) for texts in PROBES]
    difference = engine.probe(given, answer_logprobs(module, given, format.pad))
    bound = BOUNDS[str(module.dtype).removeprefix("torch.")]
    if not difference <= bound:  # NaN is refused too
        raise BrokenEngine(
            f"the engine {engine.name} gives log-probabilities that differ from the policy's by "
            f"{difference:.3g} nats after its weights were loaded (version {version}); at most {bound:g} is "
            f"rounding in {module.dtype}; check how the engine loads weights and scores"
        )


def _given(format: Format, module: Any, text: str, answer: str) -> Given:
    """A probe text with its answer."""
    ids = np.array(format.answer(answer), dtype=np.int64)
    room = prompt_room(module, len(ids))
    prompt, _ = format.prompt("", (Turn(TASK, text, to="agent"),), "agent", room)
    ask = Ask(prompt, Key(0, ("probe",)), Decoding(max_new_tokens=len(ids)))
    return ask, Drawn(Tokens(ids, np.zeros(len(ids)), None), "end")
