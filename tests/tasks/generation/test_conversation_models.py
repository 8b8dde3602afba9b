"""Language models in conversations: prompts of templates, stop strings, and answers that are learned from."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from helpers.models.chat_templates import OURS, chat_format_of
from helpers.models.small_models import gpt2
from helpers.models.tokenizers_for_tests import chatml
from helpers.tasks.conversations import ORDERS, TALK, Answers, script, task_of
from loquent.agents.language_model import LanguageModelAgent
from loquent.core.agent import before_first
from loquent.core.live import Live
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import Chat
from loquent.models.tokens.batch import token_batch
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation
from loquent.training import recipes
from loquent.training.experience.cuts import cuts_of_evaluation
from loquent.training.train import train
from loquent.training.trainer import Trainer

LLAMA = (
    "<s>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
    "<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n"
    "{% endif %}"
)
OURS.setdefault("llama", LLAMA)


@pytest.mark.parametrize("name", ["keeps", "llama", "thinks"])  # ChatML, Llama 3, Qwen3
@pytest.mark.parametrize("turns", [1, 9])
def test_prompts_are_what_the_template_writes_for_the_messages(name, turns, tmp_path):
    talk = [(role, content) for role, content in TALK if role != "tool"]
    task = task_of(tmp_path, talk, turns=turns)
    format, tokenizer = chat_format_of(name)
    live = Live(task, task.rows("train")[0], 0, 0)
    places = [i for i, (role, _) in enumerate(talk) if role == "assistant"][-turns:]
    for place in places:
        asked = live.question()
        ids, first = format.prompt(asked.instruction, asked.turns, "agent", 1 << 20)
        messages = [{"role": role, "content": content} for role, content in talk[:place]]
        right = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert (list(ids), first) == (right, 0)
        live.choose(talk[place][1])
    assert live.step.ended == "end"


def test_every_answer_of_a_row_is_an_action_of_the_batch_and_none_of_the_prompt(tmp_path):
    format, _ = chat_format_of("keeps")
    for turns, said in ((9, ("hello", "three", "bye")), (1, ("bye",))):
        task = task_of(tmp_path, turns=turns)
        found = play(task, games(task.rows("train")[:1]), Answers(*said), seed=0)
        batch = token_batch(found, format, Record(), max_length=512)
        right = [i for text in said for i in format.answer(text)]
        assert batch.tokens[batch.is_action].tolist() == right


def test_an_answer_ends_before_its_stop_and_its_tokens_are_what_was_drawn():
    format = Chat(chatml())
    module = gpt2(vocabulary=format.vocabulary, context=256)

    def answers(*stop):
        options = Options(
            dataset="orders", limit=6, turns=2, user=script("go on"), horizon="terminal", stop=stop
        )
        decoding = Decoding(max_new_tokens=24, temperature=1.5)
        task = Generation(options)
        found = play(task, games(task.rows("test")), LanguageModelAgent(module, format, decoding), seed=3)
        return [episode.answers()[0] for episode in found]

    whole = answers()
    parts = [[format.text([int(i)]) for i in turn.tokens.ids] for turn in whole]
    pairs = [(a[-1:], b[:1]) for own in parts for a, b in pairwise(own[4:]) if a.isascii() and b.isascii()]
    across = next("".join(pair) for pair in pairs if all(pair) and "\ufffd" not in pair)  # two tokens
    exact = next(part for own in parts for part in own[2:] if len(part) > 1 and part.isascii())  # one token
    stopped = answers(across, exact)
    assert {turn.stopped for turn in stopped} > {"stop"}
    for one, other in zip(whole, stopped, strict=True):
        ids = other.tokens.ids
        assert np.array_equal(ids, one.tokens.ids[: len(ids)])  # the same draws, up to the stop
        text = format.text(ids.tolist())
        assert other.text == before_first(text, (across, exact))
        if other.stopped == "stop":
            assert not any(s in format.text(ids[:-1].tolist()) for s in (across, exact))
    batch = token_batch(play_once(stopped), format, Record(), max_length=512)
    drawn = [i for turn in stopped for i in turn.tokens.ids.tolist()]
    assert batch.tokens[batch.is_action].tolist() == drawn


def test_the_questions_of_a_judge_are_no_part_of_the_prompt():
    format = Chat(chatml())
    agent = LanguageModelAgent(
        gpt2(vocabulary=format.vocabulary, context=512), format, Decoding(max_new_tokens=16)
    )
    user, judge = script("go on", "and on"), script("[[no]]", "[[no]]")
    long = "The conversation is over when nobody speaks. " * 9
    task = Generation(Options(dataset="orders", turns=3, user=user, judge=judge, judge_rule=long))
    found = play(task, games(task.rows("test")[:2]), Answers("a", "b", "c"), seed=3)
    assert all(len(turn.text) > agent.room for turn in found[0].turns if turn.to == "judge")
    assert cuts_of_evaluation(agent, found, "test") == ""
    wordy = play(task, games(task.rows("test")[:2]), Answers("a", "b" * 2000, "c"), seed=3)
    assert cuts_of_evaluation(agent, wordy, "test").startswith("100% of the episodes")


def play_once(turns):
    from loquent.core.episode import TASK, Episode, Turn

    first = Turn(TASK, "hi", to="agent")
    return [
        Episode("t", f"r{i}", "test", 0, i, (first, turn, Turn(TASK, "", to="agent")), "end")
        for i, turn in enumerate(turns)
    ]


class Silent:
    """A user whose agent fails on every second question."""

    tokens, receiver, concurrency, name = 0, "", 1, "silent"

    def __init__(self, task):
        pass

    def answer(self, asked):
        return self.attempt(asked)

    def attempt(self, asked):
        from loquent.core.agent import Answer
        from loquent.errors import BrokenAgent

        odd = (int(question.game.rpartition("#")[2]) % 2 for question in asked)
        return [BrokenAgent("silent: no reply") if fails else Answer("tea .") for fails in odd]


SMALL = (
    "task.user={}",
    "task.horizon=terminal",
    "training.answers=4",
    "training.episodes=8",
    "algorithm.learning_rate=0.003",
)


def trainer_of(user):
    return Trainer(recipes.load("orders_grpo", [SMALL[0].format(user), *SMALL[1:]], profile="smoke"))


@pytest.mark.filterwarnings("ignore:.*questions had no answer")
def test_nobody_learns_from_a_conversation_whose_user_failed():
    trainer = trainer_of(f"{__name__}:Silent")
    logs = trainer.update()
    assert logs["rollout/unjudged/no reply"] == logs["rollout/left_out"] == 4.0
    twin = trainer_of(f"{__name__}:Silent")
    episodes = twin.experience.collect()
    assert [episode.ended == "no reply" for episode in episodes] == [i % 2 == 1 for i in range(8)]
    batch = twin.algorithm.prepare(twin.experience.batch(episodes[::2]))
    twin.experience.learn(batch)
    for own, other in zip(
        trainer.algorithm.parameters.values(), twin.algorithm.parameters.values(), strict=True
    ):
        assert torch.equal(own, other)


class Half(Silent):
    """A user whose agent fails on every second row."""

    def attempt(self, asked):
        from loquent.core.agent import Answer
        from loquent.errors import BrokenAgent

        odd = (int(question.game.partition("#")[0].rpartition("-")[2]) % 2 for question in asked)
        return [BrokenAgent("half: no reply") if fails else Answer("tea .") for fails in odd]


@pytest.mark.filterwarnings("ignore:.*questions had no answer")
def test_a_run_is_evaluated_on_the_conversations_whose_user_did_not_fail(tmp_path):
    more = ("training.updates=1", "training.evaluate_every=1", "training.evaluate_episodes=8")
    user = f"task.user={__name__}:Half"
    recipe = recipes.load(
        "orders_grpo", [user, *SMALL[1:], *more, "training.final_episodes=8"], profile="smoke"
    )
    run = train(recipe, tmp_path / "run", progress=False)
    values = run.files.evaluation()["values"]
    assert (values["unjudged/no reply"], values["ended/no reply"]) == (4.0, 0.5)
    assert values["return"] == values["reward/exact_match"] == 0.0


def test_a_run_with_a_user_goes_on_to_the_bit():
    whole, first = trainer_of("generation/guest"), trainer_of("generation/guest")
    for trainer in (whole, first):
        trainer.update()
    second = trainer_of("generation/guest")
    second.restore(first.state())
    ours, others = whole.experience.collect(), second.experience.collect()
    assert ours == others
    assert {turn.seat for episode in ours for turn in episode.turns} == {"task", "agent", "user"}
    assert Generation(Options(**ORDERS, horizon="terminal")).identity == ours[0].task
