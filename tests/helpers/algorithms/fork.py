"""A game of two words in which cloning and one step of improvement fail, and its solution in closed form (τ
is ILQL's expectile).

`b` ends it at -1.5. `a` is answered by `o`; then `d` ends it at -3, `e` at 0. Recorded: six games of b, five
of a d, one of a e. Each word is one token and the end of the answer another; γ = 0.99 a token, rewards stand
on the answer's end.
"""

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from loquent.core.agent import Answer
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.format.ilql import MARKERS
from loquent.models.format.names import Ilql
from loquent.models.tokens.batch import token_batch
from loquent.pretrained import LanguageModel, hidden

GAMMA = 0.99
WORDS = "abdeoz"  # z is never said
RECORDED = 6 * (("b",),) + 5 * (("a", "d"),) + (("a", "e"),)
ENDS = {"b": -1.5, "d": -3.0, "e": 0.0}


class Fork(Task):
    """See above; any other word ends the game at -9."""

    spec = TaskSpec(id="fork", rewards=Record(score=1.0), invalid=("no word here",))

    def rows(self, split):
        return [Row(f"{split}{i}") for i in range(len(RECORDED))]

    def first(self, row, rng):
        return Opening("ab", Observation(""))

    def read(self, state, text):
        return text if text in tuple(state) else Invalid("no word here", text)

    def play(self, state, move):
        if move == "a":
            return Outcome("de", Observation("o"))
        return Outcome("", Observation(""), Record(score=ENDS.get(move, -9.0)), "said")


TASK = Fork()


class Said:
    """Says the words it is given, one after the other."""

    name = "recorded"

    def __init__(self, words):
        self.words = words

    def answer(self, asked):
        return [Answer(self.words[sum(turn.seat == "agent" for turn in one.turns)], "end") for one in asked]


class Greedy:
    """Says what maximises log π + beta * (target Q - V), token by token, to the end of an answer."""

    name = "greedy"

    def __init__(self, actor, beta):
        self.actor, self.beta = actor, beta

    @torch.no_grad()
    def answer(self, asked):
        return [Answer(self._say(one), "end") for one in asked]

    def _say(self, one):
        actor, said = self.actor, []
        prompt = actor.format.prompt(one.instruction, one.turns, one.observation.seat, 32)[0]
        while len(said) < 4:
            tokens = torch.tensor([[*prompt, *said]])
            values = actor.values
            own = hidden(actor.policy, tokens)
            online, target = (
                own if part is None else hidden(part, tokens)
                for part in (values.value_trunk, values.target_trunk)
            )
            target = online if values.target_trunk is None else target
            logits = actor.policy.get_output_embeddings()(own)[0, -1]
            said.append(
                int(
                    (logits + self.beta * (values.target_q(target)[0, -1] - values.v(online)[0, -1])).argmax()
                )
            )
            if said[-1] in actor.format.end:
                break
        return actor.format.text(said, prompt)


def language(seed=0, layers=2, width=64, dropout=0.0) -> LanguageModel:
    """A small GPT-2 over the words and ILQL's markers."""
    vocabulary = {token: i for i, token in enumerate((*MARKERS, *WORDS))}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="</eod>",
        pad_token="</eod>",
        additional_special_tokens=list(MARKERS[:4]),
    )
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    sizes = {
        "vocab_size": len(vocabulary),
        "n_positions": 128,
        "n_embd": width,
        "n_layer": layers,
        "n_head": 4,
    }
    with borrow_generators(Key(seed, ("fork",))):
        module = GPT2LMHeadModel(
            GPT2Config(**sizes, **rates, bos_token_id=4, eos_token_id=4, pad_token_id=4)
        ).eval()
    return LanguageModel(module, tokenizer)


def actor(seed=0, **of_language) -> Actor:
    """A small actor that reads the game in ILQL's own format."""
    made = language(seed, **of_language)
    return Actor.build(
        made, critic="none", reference="none", format=Ilql(made.tokenizer), key=Key(seed, ("actor",))
    )


def recorded(model):
    """The twelve recorded games as a batch."""
    played = [
        one
        for row, words in zip(TASK.rows("train"), RECORDED)
        for one in play(TASK, games([row]), Said(words), seed=0)
    ]
    return token_batch(played, model.format, TASK.spec.rewards, max_length=32).to(torch.float32)


def closed(tau) -> dict[str, float]:
    """The values that the losses lead to."""
    low = -3 * GAMMA
    first = low * 5 * (1 - tau) / (5 - 4 * tau)  # V(s1): the expectile of five times low and once 0
    a, b = GAMMA**2 * first, GAMMA * -1.5
    better, worse = max(a, b), min(a, b)
    start = tau * better + (1 - tau) * worse  # of two equally frequent values
    return {"V(s1)": first, "Q(s0,a)": a, "Q(s0,b)": b, "V(s0)": start, "Q(s1,d)": low, "Q(s1,e)": 0.0}


def greedy_return(agent) -> float:
    """The mean return of an agent that draws nothing."""
    return (
        sum(
            one.total(TASK.spec.rewards)
            for one in play(TASK, games(TASK.rows("test")[:3]), agent, seed=0, split="test")
        )
        / 3
    )
