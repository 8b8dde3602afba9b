"""The law of engines, as a tool: what an engine draws and scores is what the learner scores."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from loquent.bench.conformance.walks import Tally
from loquent.core.episode import TASK, Turn
from loquent.core.seeding import Key
from loquent.models.decode.sampling import choose
from loquent.models.decode.transfer import engine_of
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import BOUNDS, Ask, Engine, Given, Logprobs, Nucleus, draw, greatest_difference
from loquent.models.format.names import Format
from loquent.models.score.action_scores import answer_logprobs
from loquent.models.tokens.trie import Trie
from loquent.pretrained import logits, pad_rows, prompt_room

TEXTS = ("a", "b c d e", "one two three four five six seven eight nine")
LEGAL = ("a", "b", "a b")
EACH, NEW = 2, 6  # answers to each text, and their most tokens
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sampled": ("", {}),
    "temperature 0.7": ("", {"temperature": 0.7}),
    "greedy": ("", {"method": "greedy"}),
    "top-k": ("supports", {"top_k": 5}),
    "top-p": ("supports", {"top_p": 0.8, "temperature": 1.3}),
    "top-k and top-p": ("supports", {"top_k": 9, "top_p": 0.7}),
    "minimum length": ("supports", {"min_new_tokens": 4}),
    "nucleus": ("nucleus", {}),
    "legal texts": ("legal", {}),
}  # the capability that a case needs, and its decoding


def problems(name: str, module: Any, format: Format, cases: Collection[str] = tuple(CASES)) -> list[str]:
    """What an engine does that breaks the law; empty if it keeps the law.

    Law: for prompts of several lengths, temperatures and supports, the log-probabilities of the engine's
    draws, and those that it gives to them afterwards, are the learner's within `BOUNDS`. Recorded supports
    are those that the learner's logits give (compared in float32 and float64). With exact keys, equal keys
    give equal draws. After `load` of other weights, both are those of the new weights.

    Args:
        name: "ours", or the "module:Name" of an engine.
        module: the learner's module; it is copied.
        cases: names of `CASES`.
    """
    learner, tally = copy.deepcopy(module).eval(), Tally()
    engine = engine_of(name, copy.deepcopy(module), format)
    try:
        _check(engine, learner, format, cases, tally)
        weights = _other(learner)
        learner.load_state_dict(weights)
        engine.load(weights, 1)
        _check(engine, learner, format, cases, tally, "after load: ")
    finally:
        engine.close()
    return tally.problems


def _check(
    engine: Engine, learner: Any, format: Format, cases: Collection[str], tally: Tally, place: str = ""
) -> None:
    can = vars(engine.can)
    for case in cases:
        capability, settings = CASES[case]
        if not capability or can[capability]:
            asks = _asks(learner, format, case, Decoding(max_new_tokens=NEW, **settings))
            given = list(zip(asks, draw(engine, asks), strict=True))
            for problem in _problems(engine, learner, format, given):
                tally.add(f"{place}{case}: {problem}")


def _asks(module: Any, format: Format, case: str, decoding: Decoding) -> list[Ask]:
    """The requests of a case: each text several times, with a key for each."""
    room = prompt_room(module, decoding.max_new_tokens)
    legal = Trie([format.answer(text) for text in LEGAL]) if case == "legal texts" else None
    nucleus = Nucleus(top_p=0.6) if case == "nucleus" else None
    prompts = [format.prompt("", (Turn(TASK, text, to="agent"),), "agent", room)[0] for text in TEXTS]
    return [
        Ask(ids, Key(0, ("engine", number, i)), decoding, legal=legal, nucleus=nucleus)
        for number, ids in enumerate(prompts)
        for i in range(EACH)
    ]


def _problems(engine: Engine, learner: Any, format: Format, given: Sequence[Given]) -> Iterable[str]:
    bound = BOUNDS[str(learner.dtype).removeprefix("torch.")]
    ours, tokens = answer_logprobs(learner, given, format.pad), [answer.tokens for _, answer in given]
    for (ask, answer), own in zip(given, tokens, strict=True):
        count, most = len(own.ids), ask.decoding.max_new_tokens
        ends = ask.legal is not None or (count > 0 and int(own.ids[-1]) in format.end)
        cut = answer.stopped == "length"
        if cut == ends or not (count == most or (0 < count < most and ends)):
            yield f"an answer of {count} tokens, the last {own.ids[-1:]}, stopped by {answer.stopped!r}"
        if own.version != engine.version:
            yield f"tokens have the version {own.version}, and the engine {engine.version}"
    recorded = [Logprobs(own.drawn_logprob, own.policy_logprob) for own in tokens]
    for what, worst in (
        ("the recorded log-probabilities", greatest_difference(recorded, ours)),
        ("its scores of its own draws", engine.probe(given, ours)),
    ):
        if not worst <= bound:
            yield f"{what} differ from the learner's by {worst:.3g} nats; at most {bound:g} is rounding"
    if learner.dtype in (torch.float32, torch.float64) and not all(
        np.array_equal(_recorded(learner, one), _replayed(learner, format, one)) for one in given
    ):
        yield "the recorded supports are not those of the learner's logits"
    if engine.can.exact_keys:
        again = draw(engine, [ask for ask, _ in reversed(given)])[::-1]
        if any(not np.array_equal(one.tokens.ids, own.ids) for one, own in zip(again, tokens, strict=True)):
            yield "the same keys give other draws in another order"


def _recorded(learner: Any, given: Given) -> Any:
    """The recorded support of each token, [n, V]."""
    tokens = given[1].tokens
    if tokens.support is not None:
        return tokens.support.dense_mask().numpy()
    return np.ones((len(tokens.ids), learner.get_input_embeddings().weight.shape[0]), dtype=bool)


@torch.no_grad()
def _replayed(learner: Any, format: Format, given: Given) -> Any:
    """The support of each token by the learner's own logits, [n, V]; of a masked token the recorded one."""
    ask, answer = given
    ids, decoding = answer.tokens.ids.tolist(), ask.decoding
    if ask.nucleus is not None or ask.legal is not None:
        return _recorded(learner, given)
    tokens, _ = pad_rows([[*ask.ids, *ids]], format.pad, learner.device)
    first = len(ask.ids) - 1
    own = logits(learner, tokens)[0, first : first + len(ids)]
    banned = torch.zeros_like(own, dtype=torch.bool)
    banned[: decoding.min_new_tokens, sorted(format.end)] = True
    sampled = decoding.method == "sample"
    filters = {name: getattr(decoding, name) for name in ("temperature", "top_k", "top_p") if sampled}
    return choose(own, None, banned=banned, limit=format.vocabulary, **filters).support.dense_mask().numpy()


@torch.no_grad()
def _other(module: Any) -> dict[str, torch.Tensor]:
    """Other weights of a module: each matrix a little larger, so that every log-probability moves."""
    return {
        name: tensor * 1.1 if tensor.is_floating_point() and tensor.ndim > 1 else tensor.clone()
        for name, tensor in module.state_dict().items()
    }
