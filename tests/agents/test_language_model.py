from dataclasses import dataclass

import numpy as np
import pytest
import torch

from loquent.agents.language_model import LanguageModelAgent, before_first
from loquent.core.actions import Texts, bitset
from loquent.core.agent import Agent, Question
from loquent.core.episode import TASK, Turn
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.engine import Nucleus
from loquent.models.format.names import Plain
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.batch import token_batch
from loquent.pretrained import build, load

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
WORDS = ("crane", "slate", "crate", "plumb", "fjord", "the end")


@dataclass(frozen=True)
class Options:
    turns: int = 3


class Parrot(Task):
    """Hears a word, for so many turns; each answer is repeated to its speaker."""

    Options = Options
    spec = TaskSpec(id="parrot", instruction="Say something.", rewards=Record(said=1.0))
    actions = Texts(WORDS)

    def rows(self, split):
        return tuple(
            Row(f"{split}-{i}", Record(word=word))
            for i, word in enumerate(("hello", "a", "naïve 字", "word " * 9))
        )

    def first(self, row, rng):
        return Opening(0, Observation(row["word"], legal=bitset([0, 2, 5], len(WORDS)), stop=("\n", "end.")))

    def read(self, state, text):
        return text

    def play(self, state, move):
        legal = bitset([state % 2, 3], len(WORDS))
        ended = "enough" if state + 1 >= self.options.turns else None
        return Outcome(
            state + 1,
            Observation(f"\nyou said {move}\n", legal=legal, stop=("\n", "end.")),
            Record(said=1.0 * len(move)),
            ended,
        )


def language(device="cpu", dtype="float64", context=128):
    return build(
        [" ".join(WORDS), "hello word\nyou said"] * 20,
        vocabulary=290,
        layers=1,
        width=32,
        heads=2,
        context=context,
        key=Key(0),
        device=device,
        dtype=dtype,
    )


def agent_of(model, how=None, **options):
    decoding = Decoding(**{"max_new_tokens": 8, **(how or {})})
    return LanguageModelAgent(model.module, Plain(model.tokenizer), decoding, **options)


def said(episodes):
    return [[turn.text for turn in episode.answers()] for episode in episodes]


@pytest.mark.parametrize("device", DEVICES)
def test_it_plays_and_its_tokens_are_what_it_said(device):
    model = language(device)
    agent = agent_of(model, {"temperature": 1.2, "top_k": 40})
    assert isinstance(agent, Agent)
    episodes = play(Parrot(), games(Parrot().rows("train"), each=3), agent, seed=1)
    assert len(episodes) == 12
    for turn in (turn for episode in episodes for turn in episode.answers()):
        text = agent.format.text(turn.tokens.ids.tolist(), [0, 1])
        assert turn.text == before_first(text, ("\n", "end."))
        assert turn.stopped in ("end", "stop", "length")
        assert (turn.stopped == "end") == (int(turn.tokens.ids[-1]) in agent.format.end)
        assert (turn.stopped == "stop") == ("\n" in text or "end." in text)
        ids = torch.from_numpy(turn.tokens.ids)
        assert turn.tokens.support.dense_mask()[torch.arange(len(ids)), ids].all()
    assert {turn.stopped for episode in episodes for turn in episode.answers()} >= {"length"}
    batch = token_batch(episodes, agent.format, Record(said=1.0), max_length=128)
    with torch.no_grad():
        scores = action_scores(model.module, batch.to(device))
    # a batch keeps float32
    assert (scores.drawn.cpu() - batch.drawn_logprob[batch.is_action]).abs().max() < 1e-5


def test_many_live_games_or_one_say_the_same():
    task, agent = Parrot(), agent_of(language())
    wanted = said(play(task, games(task.rows("train"), each=2), agent, seed=3))
    assert said(play(task, games(task.rows("train"), each=2), agent, seed=3, live=1)) == wanted
    assert (
        said(play(task, games(task.rows("train"), each=2), agent_of(language(), {"live": 2}), seed=3, live=3))
        == wanted
    )
    assert said(play(task, games(task.rows("train"), each=2), agent, seed=4)) != wanted


def test_legal_words_only():
    task, model = Parrot(), language()
    for how in ({}, {"method": "greedy"}):
        agent = agent_of(model, {"max_new_tokens": 40, "legal": True, **how})
        for episode in play(task, games(task.rows("train"), each=5), agent, seed=0):
            for turn, legal in zip(
                episode.answers(), ({"crane", "crate", "the end"}, {"crane", "plumb"}, {"slate", "plumb"})
            ):
                assert turn.text in legal
                assert turn.stopped == "end"
    short = agent_of(model, {"max_new_tokens": 2, "legal": True})
    with pytest.raises(BadSetting, match=r"= 2 with legal = true: the longest legal action has \d+ tokens"):
        list(play(task, games(task.rows("train")), short, seed=0))
    free = play(task, games(task.rows("train")), agent_of(model), seed=0)
    assert not any(text in WORDS for texts in said(free) for text in texts)


def one(text="hello", stop=(), turns=(), instruction=""):
    observation = Observation(text, stop=stop)
    return Question(
        "g", (*turns, Turn(TASK, text, to="agent", observation=observation)), observation, Key(5), instruction
    )


def test_stop_strings_end_an_answer_where_they_are_complete():
    agent = agent_of(language(), {"max_new_tokens": 30})
    whole = agent.answer([one()])[0]
    text = agent.format.text(whole.tokens.ids.tolist(), [0])
    for length in (1, 2, 3):
        cut = text[3 : 3 + length]
        stopped = agent.answer([one(stop=(cut, "never said"))])[0]
        assert stopped.stopped == "stop"
        assert stopped.text == text[: text.find(cut)]
        n = len(stopped.tokens.ids)
        assert stopped.tokens.ids.tolist() == whole.tokens.ids[:n].tolist()
        assert cut in agent.format.text(whole.tokens.ids[:n].tolist(), [0])
        assert cut not in agent.format.text(whole.tokens.ids[: n - 1].tolist(), [0])
    assert agent.answer([one(stop=("",))])[0].text == text


def test_before_first():
    assert before_first("one. two\n", ("\n", ". ")) == "one"
    assert before_first("one", ("\n", "")) == "one"
    assert before_first("", ()) == ""


def test_long_games_lose_their_oldest_turns_not_the_run():
    model = language(context=40)
    agent = agent_of(model, {"max_new_tokens": 8})
    assert agent.room == 32
    turns = tuple(
        turn for i in range(30) for turn in (Turn(TASK, f"hello {i}", to="agent"), Turn("agent", "word"))
    )
    answer = agent.answer([one("crane?", turns=turns, instruction="Say")])[0]
    assert 1 <= len(answer.tokens.ids) <= 8
    with pytest.raises(BadModel, match="may have 32 tokens"):
        agent.answer([one("crane?", instruction="Say " * 60)])
    with pytest.raises(BadSetting, match="no room for a prompt"):
        agent_of(model, {"max_new_tokens": 40})


def test_a_vocabulary_larger_than_the_tokenizers_is_never_drawn():
    import transformers

    model = language()
    config = transformers.GPT2Config.from_dict(
        {**model.module.config.to_dict(), "vocab_size": model.vocabulary + 200}
    )
    wide = transformers.GPT2LMHeadModel(config).double().eval()
    agent = LanguageModelAgent(wide, Plain(model.tokenizer), Decoding(max_new_tokens=20))
    for answer in agent.answer([one(str(i)) for i in range(20)]):
        assert (answer.tokens.ids < model.vocabulary).all()
        assert not answer.tokens.support.is_everything


def test_nothing_is_asked_nothing_is_said_and_nothing_is_kept():
    agent = agent_of(language(), name="tiny")
    assert agent.answer([]) == []
    assert agent.name == "tiny"
    before = dict(vars(agent))
    first, again = agent.answer([one()])[0], agent.answer([one("other"), one()])[1]
    assert first.text == again.text
    assert np.abs(first.tokens.drawn_logprob - again.tokens.drawn_logprob).max() < 1e-9
    assert vars(agent) == before


def test_no_text_and_no_state_of_torch_is_disturbed():
    model = language()
    model.module.train()
    state = torch.get_rng_state()
    agent = agent_of(model, nucleus=Nucleus(None, top_p=0.5))
    answers = agent.answer([one("\ud800 <|end|> \x00"), one("")])
    assert all(isinstance(answer.text, str) for answer in answers)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.module.training


@pytest.mark.data
def test_real_weights_tell_a_story(beside):
    stories = load(beside / "models" / "stories260K", device="cpu")
    actor = Actor.build(
        stories,
        critic="none",
        reference="none",
        key=Key(0),
        decoding=Decoding(method="greedy", max_new_tokens=24),
    )
    agent = LanguageModelAgent(actor.policy, actor.format, actor.decoding)
    said = agent.answer([one("Once upon a time, there was a little")])[0]
    assert (
        said.text == " girl named Lily. She loved to play outside in the park. One day, s"[: len(said.text)]
    )
    assert len(said.text) > 30
