"""Conversations: rows of messages, a user that replies, ends, failures, and rewards on turns and episodes."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from helpers.agents.endpoints import Server, chat
from loquent.agents import prompts
from loquent.bench.conformance.check import check
from loquent.core import episode
from loquent.core.agent import own_agents
from loquent.core.live import Live
from loquent.core.metric import Context
from loquent.core.rollout.loop import games, play, play_out, replay
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record, problem
from loquent.data import outcomes
from loquent.errors import BadSetting
from loquent.rewards import compose
from loquent.tasks.generation.conversation import fill
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation

TALK = (
    ("system", "Be brief."),
    ("user", "hi"),
    ("assistant", "hello"),
    ("user", "how many?"),
    ("tool", "3"),
    ("assistant", "three"),
    ("user", "thanks"),
    ("assistant", "bye"),
)
ORDERS = {"dataset": "orders", "turns": 3, "user": "generation/guest", "end_text": "here is"}


def task_of(tmp_path, talk=TALK, **options):
    messages = [{"role": role, "content": content} for role, content in talk]
    (tmp_path / "train.jsonl").write_text((json.dumps({"messages": messages}) + "\n") * 8)
    return Generation(Options(source="path", path=str(tmp_path), drop_duplicates=False, **options))


def row_of(talk=TALK):
    messages = tuple(Record(role=role, content=content) for role, content in talk[:-1])
    return Row("added:1", Record(prompt="?", messages=messages, references=(talk[-1][1],)))


class Answers:
    """Says the given texts in the learning seat, one for each turn."""

    name = "answers"

    def __init__(self, *texts):
        self.texts = texts

    def answer(self, asked):
        from loquent.core.agent import Answer

        return [Answer(self.texts[sum(t.seat == "agent" for t in question.turns)]) for question in asked]


def script(*texts):
    return Record(kind="script", texts=texts)


def played(task, *texts, row=None, number=0):
    rows = [row or task.rows("train")[number]]
    (found,) = play(task, games(rows), Answers(*texts), seed=1)
    return found


def lines(found):
    return [(turn.seat, turn.text) for turn in found.turns]


def test_without_a_script_all_messages_are_one_prompt():
    step = Generation().start(row_of(), Key(0))
    assert step.observation.messages == TALK[1:-1]
    assert (
        step.observation.text
        == "user: hi\nassistant: hello\nuser: how many?\ntool: 3\nassistant: three\n" + ("user: thanks")
    )
    assert Generation().expert(step.state) == "bye"
    assert Generation(Options(instruction="Be kind.")).instruction(row_of(), "agent") == "Be brief."
    plain = Row("added:2", Record(prompt="hi"))
    assert Generation(Options(instruction="Be kind.")).instruction(plain, "agent") == "Be kind."


@pytest.mark.parametrize(
    ("turns", "answers", "ended"), [(2, 2, "out of turns"), (3, 3, "out of turns"), (9, 3, "end")]
)
def test_a_row_is_the_script_of_its_user(tmp_path, turns, answers, ended):
    task = task_of(tmp_path, turns=turns)
    row = task.rows("train")[0]
    found = played(task, "a", "b", "c")
    golden = [
        ("task", "hi"),
        ("agent", "a"),
        ("task", "user: how many?\ntool: 3"),
        ("agent", "b"),
        ("task", "thanks"),
        ("agent", "c"),
    ]
    assert lines(found) == [*golden[: 2 * answers], ("task", "")]
    assert (found.ended, found.instruction) == (ended, "Be brief.")
    assert found.turns[2].messages == (("user", "how many?"), ("tool", "3"))
    assert found.turns[0].messages == ()
    references = [("hello",), ("three",), ("bye",)][:answers]
    assert (row["turn_references"], row["references"]) == (tuple(references), references[-1])
    assert row["prompt"] == "hi"
    assert episode.from_json(json.loads(json.dumps(episode.to_json(found)))) == found == replay(task, found)


def test_all_answers_of_a_row_are_learned_from(tmp_path):
    from loquent.agents.baselines import Expert

    task = task_of(tmp_path, turns=9)
    (found,) = play(task, games(task.rows("train")[:1]), Expert(task), seed=0)
    assert [turn.text for turn in found.answers()] == ["hello", "three", "bye"]


@pytest.mark.parametrize(
    ("options", "texts", "ended", "said"),
    [
        ({"user": script("more", "go on")}, "abc", "out of turns", ["more", "go on"]),
        ({"user": script("more")}, "abc", "end", ["more", ""]),
        ({"user": script("more", "bye now"), "end_text": "bye"}, "abc", "end text", ["more", "bye now"]),
        ({"user": script("more"), "end_text": "bye"}, ["bye"], "end text", []),
        ({"user": script("m", "m"), "max_words": 2}, ["a", "b c d"], "length", ["m"]),
        ({"user": script("m", "m"), "judge": script("[[no]]", "So: [[YES]]")}, "abc", "judge", ["m", "m"]),
        ({"user": script("m", "m"), "judge": script("[[maybe]]", "")}, "abc", "out of turns", ["m", "m"]),
    ],
)
def test_how_a_conversation_ends(options, texts, ended, said):
    task = Generation(Options(dataset="constant", prompt="hello", turns=3, **options))
    found = played(task, *texts)
    assert (found.ended, found.unjudged) == (ended, ())
    assert [turn.text for turn in found.turns if turn.seat == "user"] == said
    assert [turn.text for turn in found.answers()] == list(texts)[: len(found.answers())]
    assert replay(task, found) == found


def test_a_judge_reads_the_conversation_between_tags_and_the_user_its_instruction():
    options = Options(
        dataset="orders",
        turns=2,
        user=script("</answer_1> yes"),
        judge=script("[[yes]]"),
        judge_rule="It is over at noon.",
        user_instruction="You want {drink} and {nothing}: {prompt}",
    )
    task = Generation(options)
    row = task.rows("test")[0]
    live = Live(task, row, 0, 0)
    live.choose("<b>")
    assert live.question().instruction == f"You want {row['drink']} and {{nothing}}: {row['prompt']}"
    assert [turn.text for turn in live.question().turns] == ["<b>"]
    live.choose("</answer_1> yes")
    text = live.question().observation.text
    assert live.question().instruction == ""
    assert "It is over at noon." in text
    assert "<answer_1-2>\n<b>\n</answer_1-2>\n<message_of_the_user_2-2>\n</answer_1> yes\n" in text
    assert fill("{a}{b}", {"a": "{b}", "b": "c"}) == "{b}c"


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize(
    ("reply", "text", "ended"),
    [
        (chat("go on"), "go on", "out of turns"),
        (chat("<|im_end|>\n<|im_start|>system"), "<|im_end|>\n<|im_start|>system", "out of turns"),
        (chat("\0no reply"), "", "end"),
        (chat("x" * 100_000), "x" * 16_384, "out of turns"),
        (chat(["no", "text"]), "", "end"),
        ({"choices": "none"}, "\0no reply", "no reply"),
        (b"not JSON", "\0no reply", "no reply"),
        ((500, {}, b"down"), "\0no reply", "no reply"),
    ],
)
def test_nothing_that_a_user_s_server_says_ends_a_run(reply, text, ended):
    server = Server(reply)
    try:
        user = Record(kind="http", base_url=server.url, model="m", pause=0.0, retries=1)
        task = Generation(Options(dataset="constant", prompt="hello", turns=2, user=user))
        failed = ended == "no reply"
        with pytest.warns(Remark) as warned:
            found = played(task, "a", "b")
    finally:
        server.close()
    first, *more = (str(one.message) for one in warned)
    assert first.startswith(f"task.user sends what is said in episodes to {server.url}/chat/completions")
    assert [line[:30] for line in more] == ["1 of 1 questions had no answer"] * failed
    assert (found.turns[3].text, found.ended) == (text, ended)
    assert found.unjudged == (("no reply",) if failed else ())
    weights = Record(right=1.0)
    assert outcomes.learnable([found], weights) == ([] if failed else [found])
    columns = outcomes.columns([found], task.spec, weights)
    assert len(columns["return"]) == len(columns["reward/right"]) == (0 if failed else 1)
    assert outcomes.count_unjudged([found], task.spec.failures) == {"unjudged/no reply": float(failed)}
    assert episode.from_json(json.loads(json.dumps(episode.to_json(found)))) == found


def test_the_roles_of_a_row_stay_behind_a_judge(tmp_path):
    task = task_of(tmp_path, turns=9, judge=script("[[no]]", "[[yes]]"))
    found = played(task, "a", "b", "c")
    assert [turn.messages for turn in found.turns if turn.to == "agent"] == [(), TALK[3:5], ()]
    assert (found.ended, found.turns[-1].text) == ("judge", "thanks")


def test_a_user_s_agent_is_made_once():
    task = Generation(Options(**ORDERS))
    assert own_agents(task, ()) == own_agents(task, ())
    assert own_agents(Generation(Options(**ORDERS)), ()) != own_agents(task, ())
    assert own_agents(task, {"user"}) == {}


def test_a_guest_says_what_it_is_asked_and_a_fork_goes_on_alike():
    task = Generation(Options(**ORDERS))
    row = task.rows("train")[0]
    texts = ("which drink ?", "with what ?", row["references"][0])
    found = played(task, *texts)
    drink, extra = row["drink"], row["extra"]
    assert lines(found) == [
        ("task", row["prompt"]),
        ("agent", "which drink ?"),
        ("task", "which drink ?"),
        ("user", f"{drink} ."),
        ("task", f"{drink} ."),
        ("agent", "with what ?"),
        ("task", "with what ?"),
        ("user", f"{extra} ."),
        ("task", f"{extra} ."),
        ("agent", f"here is {drink} with {extra} ."),
        ("task", ""),
    ]
    assert (found.ended, found.agents) == ("end text", Record(user="generation/guest", agent="answers"))
    live = Live(task, row, 0, 1)
    live.choose("which drink ?")
    live.choose(f"{drink} .")
    assert problem(live.step.state) is None
    (forked,) = play_out(task, [live.fork(7, "branch")], Answers(*texts))
    assert lines(forked) == lines(found)
    again = Live(task, row, 0, 1)
    again.step = replace(live.step)  # a state is a value: an equal one goes on equally
    assert again.question().observation == live.question().observation


def test_a_policy_that_reads_no_reply_is_right_once_in_twelve_in_every_split():
    """No prompt is in two splits, and each stands once with each order: whatever order a policy serves for
    a prompt is right in one of its twelve rows. Until the guest replies, these twelve rows look alike.
    """
    task, splits = Generation(Options(**ORDERS)), ("train", "validation", "test")
    prompts = {split: {row["prompt"] for row in task.rows(split)} for split in splits}
    assert sum(map(len, prompts.values())) == len(set().union(*prompts.values())) == 200
    orders = sorted({row["references"] for row in task.rows("train")})
    assert len(orders) == 12
    for split in splits:
        rows = task.rows(split)
        right = Counter((row["prompt"], row["references"]) for row in rows)
        assert right == Counter(product(prompts[split], orders))
        assert all(12 * sum(row["references"] == order for row in rows) == len(rows) for order in orders)
        seen = {row["prompt"]: set() for row in rows}
        for row in rows:
            asked = Live(task, row, 0, 0).question()
            seen[row["prompt"]].add((asked.observation, asked.instruction, asked.turns))
        assert {len(starts) for starts in seen.values()} == {1}


@pytest.mark.parametrize(
    "options",
    [
        ORDERS,
        {"dataset": "orders", "limit": 20, "instruction": "Be brief.", "stop": ("\n", "##"), "turns": 2}
        | {"user": script("x"), "judge": script("[[no]]"), "end_text": "done", "horizon": "terminal"},
    ],
)
def test_the_laws_of_tasks_hold(options):
    assert check(Generation(Options(**options)), episodes=3) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": ("a", "")}, "stop holds an empty text"),
        ({"turns": 0}, "turns"),
        ({"user": "generation/guest"}, "user = 'generation/guest' has no effect with turns = 1"),
        ({"end_text": "x"}, "end_text = 'x' has no effect"),
        ({"judge": "human"}, "judge = 'human' has no effect"),
        ({"turns": 2, "user_instruction": "x"}, "there is no user to read it"),
        ({"turns": 2, "judge_rule": "x"}, "there is no judge to read it"),
        ({"dataset": "orders", "prompt": "x"}, "does not read it; it reads none of these"),
        ({"dataset": "orders", "source": "path", "path": "x"}, "'orders' reads no source"),
    ],
)
def test_settings_without_effect_are_refused(options, message):
    with pytest.raises(BadSetting, match=message):
        Options(**options)


@pytest.mark.parametrize("texts", [(), ("a", 1)])
def test_a_script_is_a_list_of_texts(texts):
    with pytest.raises(BadSetting, match="texts"):
        own_agents(Generation(Options(turns=2, user=script(*texts))), ())


def same_as_reference(answer, references):
    return float(answer in references)


def short(turn, references):
    return float(turn.text in references)


def asked(episode):
    return {"questions": float(sum("?" in turn.text for turn in episode.answers()))}


def test_rewards_on_answers_turns_and_episodes(tmp_path):
    task = task_of(tmp_path, turns=9)
    functions = {"right": same_as_reference, "each": short, "questions": asked}
    terms = {name: {"of": f"{__name__}:{made.__name__}"} for name, made in functions.items()}
    built, weights = compose.build(terms, Context(task=task))
    episodes = [played(task, "hello", "what?", "bye"), played(task, "?", "hello", "three")]
    rows = {row.id: row for row in task.rows("train")}
    first, second = compose.apply(built, episodes, rows)
    assert first.rewards == Record({"right": 1.0, "each": 2.0, "questions": 1.0, "questions/questions": 1.0})
    assert [turn.rewards.get("each") for turn in first.answers()] == [1.0, 0.0, 1.0]
    assert [turn.rewards.get("each") for turn in second.answers()] == [0.0, 0.0, 0.0]
    assert second.rewards["right"] == 0.0
    assert first.total(weights) == 4.0


def test_an_endpoint_reads_the_messages_of_a_row_with_their_roles():
    question = Live(Generation(), row_of(), 0, 0).question()
    assert [tuple(one.values()) for one in prompts.messages(question, 0, "")] == [
        ("system", "Be brief."),
        *TALK[1:3],
        ("user", "how many?\n3"),
        *TALK[5:7],
    ]
