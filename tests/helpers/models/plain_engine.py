"""A second engine, for tests: a plain loop without caches on a copy of the learner's network; and its twins
that break the law.
"""

import copy
from dataclasses import replace

import numpy as np
import torch

from loquent.core.episode import Tokens
from loquent.models.decode.sampling import choose
from loquent.models.decode.weights import copy_weights
from loquent.models.engine import Capabilities, Drawn, Engine, Logprobs
from loquent.models.tokens.support import Support, restricted_logprob


class PlainLoop(Engine):
    name = "plain loop"
    can = Capabilities(supports=True, stop=True, exact_keys=True)
    loads = []  # the versions that all engines of this kind were given

    def __init__(self, module, format):
        super().__init__(copy.deepcopy(module).eval(), format)

    @torch.no_grad()
    def draw(self, asks):
        for number in reversed(range(len(asks))):
            yield number, self.answer(asks[number])

    def answer(self, ask):
        decoding, ids, choices, stopped = ask.decoding, [], [], "length"
        uniform = ask.key.child("decode").generator().random(decoding.max_new_tokens)
        sampled = decoding.method == "sample"
        filters = {name: getattr(decoding, name) for name in ("temperature", "top_k", "top_p") if sampled}
        while len(ids) < decoding.max_new_tokens and stopped == "length":
            logits = self.logits([*ask.ids, *ids])[-1:]
            banned = torch.zeros_like(logits, dtype=torch.bool)
            banned[:, sorted(self.format.end)] = len(ids) < decoding.min_new_tokens
            number = torch.tensor(uniform[len(ids) : len(ids) + 1]) if sampled else None
            choices.append(choose(logits, number, banned=banned, limit=self.format.vocabulary, **filters))
            ids.append(int(choices[-1].ids))
            text = self.format.text(ids, ask.ids)
            stopped = (
                "end" if ids[-1] in self.format.end
                else "stop" if any(string in text for string in ask.stop if string)
                else "length"
            )  # fmt: skip
        drawn, policy = (
            np.array([float(getattr(choice, name)) for choice in choices])
            for name in ("drawn_logprob", "policy_logprob")
        )
        support = Support.cat([choice.support for choice in choices])
        return Drawn(Tokens(np.array(ids), drawn, policy, support, self.version), stopped)

    @torch.no_grad()
    def score(self, given):
        scores = []
        for ask, answer in given:
            tokens = answer.tokens
            logits = self.logits([*ask.ids, *tokens.ids.tolist()])[len(ask.ids) - 1 : -1].double()
            kept, temperature = None, 1.0
            if tokens.support is not None:
                kept = tokens.support.dense_mask()
                temperature = torch.from_numpy(tokens.support.temperature)[:, None]
            taken = torch.from_numpy(tokens.ids)[:, None]
            columns = restricted_logprob(logits, kept, temperature), logits.log_softmax(-1)
            scores.append(Logprobs(*(column.gather(1, taken)[:, 0].numpy() for column in columns)))
        return scores

    def load(self, weights, version):
        copy_weights(self.module, weights)
        self.version = version
        self.loads.append(version)

    def logits(self, ids):
        return self.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


class Stale(PlainLoop):
    """Takes the number of new weights, and keeps the old ones."""

    def load(self, weights, version):
        self.version = version


class Untempered(PlainLoop):
    """Says the log-probabilities of temperature 1, whatever it drew with."""

    def answer(self, ask):
        answer = super().answer(ask)
        return Drawn(replace(answer.tokens, drawn_logprob=answer.tokens.policy_logprob), answer.stopped)


class Unsupported(PlainLoop):
    """Records no support."""

    def answer(self, ask):
        answer = super().answer(ask)
        return Drawn(replace(answer.tokens, support=None), answer.stopped)


class Wide(PlainLoop):
    """Draws from one more token than top-k allows, and says so."""

    def answer(self, ask):
        top_k = ask.decoding.top_k
        return super().answer(replace(ask, decoding=replace(ask.decoding, top_k=top_k + bool(top_k))))


class Unkeyed(PlainLoop):
    """Draws by a counter of its own instead of the keys."""

    count = 0

    def answer(self, ask):
        self.count += 1
        return super().answer(replace(ask, key=ask.key.child(self.count)))


class Ended(PlainLoop):
    """Says that every answer ended."""

    def answer(self, ask):
        return Drawn(super().answer(ask).tokens, "end")


class Unversioned(PlainLoop):
    def answer(self, ask):
        answer = super().answer(ask)
        return Drawn(replace(answer.tokens, version=0), answer.stopped)


class Nan(PlainLoop):
    """Scores that are not numbers."""

    def score(self, given):
        return [Logprobs(scores.drawn * np.nan, None) for scores in super().score(given)]


class Forgetful(PlainLoop):
    """Leaves one request without an answer."""

    def draw(self, asks):
        return iter(list(super().draw(asks))[1:])


class Nothing(PlainLoop):
    can = Capabilities()


class Empty(PlainLoop):
    """Answers without a token."""

    def answer(self, ask):
        return Drawn(Tokens(np.empty(0, dtype=np.int64), np.empty(0), None), "end")


class Long(PlainLoop):
    """Draws more tokens than it may."""

    def answer(self, ask):
        return super().answer(replace(ask, decoding=replace(ask.decoding, max_new_tokens=9)))


class Odd(PlainLoop):
    """Stops for a reason that no task knows."""

    def answer(self, ask):
        return Drawn(super().answer(ask).tokens, "abort")
