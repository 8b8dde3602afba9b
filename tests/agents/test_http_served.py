"""A run that was exported and is served by `transformers serve` plays through HTTP as the local agent does,
word for word.
"""

import shutil

import pytest

from helpers.agents import served, tiny_judge
from loquent.agents.exact import Exact
from loquent.cli import main as cli
from loquent.core.agent import make
from loquent.core.episode import TASK
from loquent.core.metric import Context, Samples
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadSetting
from loquent.metrics.making import make as make_metric
from loquent.models.format.names import Chat, Plain
from loquent.training import by_name
from loquent.training.run import load_run

pytest.importorskip("torch")
pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
TOKENS = 8  # that an answer may have
CONTEXT = 56  # so few that the oldest guesses of a game do not fit


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of an exported run that has learned some words and marks, beside its run."""
    folder = tmp_path_factory.mktemp("exported")
    collected = [
        "collect",
        "wordle",
        "limit=20",
        "feedback=letters",
        "instruct=false",
        "--agent",
        "wordle/random_mixture",
    ]
    assert (
        cli.main([*collected, "agent.prob_smart=0.25", "--episodes", "200", "--out", str(folder / "games")])
        == 0
    )
    shape = [
        "model.layers=1",
        "model.width=32",
        "model.heads=2",
        f"model.context={CONTEXT}",
        f"training.data=[{folder / 'games'}]",
    ]
    learn = [
        "training.updates=60",
        "training.episodes=32",
        "algorithm.learning_rate=0.02",
        "algorithm.warmup=0",
        "training.checkpoint_every=60",
    ]
    recipe = ["wordle_bc", "task.limit=20", "training.final_episodes=2", *shape, *learn]
    assert cli.main(["train", *recipe, "--out", str(folder / "run")]) == 0
    assert cli.main(["export", str(folder / "run"), str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where `transformers serve` listens; it reads a model when the first request names it."""
    with served.transformers_server(tmp_path_factory.mktemp("served")) as server:
        yield server


def local(exported):
    return load_run(exported.parent / "run").agent(method="greedy", max_new_tokens=TOKENS)


class Noted:
    """An agent whose answers are kept, but for why they stopped: the server says "length" of one whose last
    token is the end.
    """

    def __init__(self, agent):
        self.agent, self.name, self.answers = agent, agent.name, {}

    def answer(self, asked):
        given = self.agent.answer(asked)
        self.answers |= {
            (one.game, len(one.turns)): (answer.text, answer.dropped) for one, answer in zip(asked, given)
        }
        return given


def played(task, agent):
    noted = Noted(agent)
    play(task, games(task.rows("test")[:5]), noted, seed=0, split="test")
    return noted.answers


def over_http(exported, url, task, **options):
    told = {
        "base_url": url,
        "model": str(exported),
        "temperature": 0.0,
        "max_tokens": TOKENS,
        "concurrency": 2,
        "retries": 0,
        **options,
    }
    return make("http", task, told)


def test_a_served_run_gives_the_local_agent_s_greedy_answers_through_both_interfaces(address, exported):
    task, url = load_run(exported.parent / "run").task(), served.wait(address)
    right = played(task, local(exported))
    assert len({text for text, _ in right.values()}) > 3, "the model says many things"
    assert any(dropped for _, dropped in right.values()), "and some games are longer than its context"
    for api in ("completions", "chat"):
        agent = over_http(exported, url, task, api=api)
        assert played(task, agent) == right, api
    assert agent.exact is not None
    chosen = over_http(exported, url, task, api="completions", tokenizer=str(exported), format="plain")
    assert played(task, chosen) == right


def test_a_served_model_judges_as_the_model_in_its_folder(address, tmp_path):
    folder = str(tiny_judge.write(tmp_path / "judge"))
    there = {
        "kind": "http",
        "base_url": served.wait(address),
        "model": folder,
        "api": "completions",
        "format": "plain",
    }
    here = {"kind": "folder", "path": folder, "max_new_tokens": TOKENS}
    samples = Samples(["good film", "dull", "x " * 300], prompts=["it was"] * 3)
    for judge in (
        {**there, "tokenizer": folder, "temperature": 0.0, "max_tokens": TOKENS, "retries": 0},
        here,
    ):
        options = {"judge": judge, "low": 0, "high": 5, "rubric": "Be brief.", "cache": "none"}
        metric = make_metric("llm_judge", Context(), options)
        measured = metric(samples)
        assert (measured.samples["llm_judge"], measured.unjudged) == ([4.0, 4.0, None], {2}), judge["kind"]
        assert 0 < metric.spent["tokens"] < 1000


def test_an_exported_folder_plays_here_in_the_format_it_was_trained_with(exported, tmp_path):
    task = load_run(exported.parent / "run").task()
    assert isinstance(by_name.agent(str(exported), task).format, Plain)
    chat = tmp_path / "chat"
    shutil.copytree(exported, chat)
    (chat / "loquent.json").write_text('{"format": "chat"}')
    ends = "{% if add_generation_prompt %}<|end|>assistant:{% endif %}"
    (chat / "chat_template.jinja").write_text(
        "{% for m in messages %}<|end|>{{ m.role }}:{{ m.content }}<|end|>{% endfor %}" + ends
    )
    assert isinstance(by_name.agent(str(chat), task).format, Chat)
    (chat / "loquent.json").write_text('{"format": 3}')
    with pytest.raises(BadSetting, match="export the run again"):
        by_name.agent(str(chat), task)


def test_prompts_are_the_ids_that_a_local_agent_reads(exported):
    task, agent = load_run(exported.parent / "run").task(), local(exported)
    exact = Exact(str(exported), "auto", "completions", TOKENS)
    assert exact.room == agent.room

    class Looking:
        name = "looking"

        def answer(self, asked):
            for one in asked:
                ids, first = agent.format.prompt(one.instruction, one.turns, one.observation.seat, agent.room)
                assert (exact.prompt(one, 0), exact.first(one, 0)) == (list(ids), first)
                assert exact.prompt(one, first) == list(ids)
            return agent.answer(asked)

    [episode, *_] = play(task, games(task.rows("test")[:3]), Looking(), seed=0, split="test")
    assert {turn.seat for turn in episode.turns} == {TASK, "agent"}


def test_a_server_that_takes_no_ids_is_sent_their_text(exported, serve):
    def texts_only(_, body):
        fine = {"choices": [{"text": "crane", "finish_reason": "stop"}]}
        return fine if isinstance(body["prompt"], str) else (400, {}, {"detail": "prompt must be a string."})

    task = load_run(exported.parent / "run").task()
    server = serve(texts_only)
    agent = over_http(exported, server.url, task, api="completions")
    played(task, agent)
    kinds = [type(body["prompt"]) for _, _, body in server.seen]
    assert kinds.count(list) <= 5, "once refused, ids are not sent again"
    takes = serve({"choices": [{"text": " crane ", "finish_reason": "stop"}]})
    agent = over_http(exported, takes.url, task, api="completions", strip=True)
    assert {text for text, _ in played(task, agent).values()} == {" crane "}, (
        "what a local agent says is not stripped"
    )
    assert {type(body["prompt"]) for _, _, body in takes.seen} == {list}


def test_a_text_that_the_tokenizer_reads_otherwise_is_sent_with_a_remark(exported):
    exact = Exact(str(exported), "auto", "completions", TOKENS)
    ids = exact.tokenizer("<|end|>ab")["input_ids"]
    assert exact.tokenizer(exact._text(ids))["input_ids"] == ids
    apart = [
        *exact.tokenizer("<|end|>")["input_ids"],
        *exact.tokenizer("a")["input_ids"],
        0,
        *exact.tokenizer("b")["input_ids"],
    ]
    assert exact.tokenizer(exact._text(apart))["input_ids"] == apart
    exact.tokenizer = type(
        "Adds", (), {"decode": exact.tokenizer.decode, "__call__": lambda self, text: {"input_ids": [7, 7]}}
    )()
    with pytest.warns(Remark, match="answers may differ"):
        exact._text(ids)


def test_folders_that_say_nonsense_are_refused_in_words(exported, tmp_path):
    bad = tmp_path / "bad"
    shutil.copytree(exported, bad)
    for said, error in (
        ("[" * 10_000, BadCheckpoint),
        ("3", BadCheckpoint),
        ('{"format": "other"}', BadSetting),
        ('{"format": ["plain"]}', BadSetting),
    ):
        (bad / "loquent.json").write_text(said)
        with pytest.raises(error, match="export the run again"):
            Exact(str(bad), "auto", "chat", TOKENS)
    with pytest.raises(BadSetting, match=f"max_tokens = {CONTEXT} leaves no room"):
        Exact(str(exported), "auto", "chat", CONTEXT)
    (bad / "loquent.json").write_text(
        '{"template_is_exact": false, "format": "plain", "evaluation": {"max_prompt_tokens": 20}}'
    )
    with pytest.warns(Remark, match="api=completions"):
        assert Exact(str(bad), "auto", "chat", TOKENS).room == 20
