"""A language model as a judge: what it is asked, how its verdicts are read, and what becomes of failures."""

import json
import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loquent
from helpers.agents.endpoints import Server, chat
from helpers.agents.judges import Scripted
from loquent.adapters.gymnasium import Environment
from loquent.core import registry
from loquent.core.algorithm import AlgorithmConfig
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.metric import Context, Samples
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record, digest
from loquent.errors import BadSetting, NotTrusted
from loquent.metrics.making import make
from loquent.metrics.shared_parts import with_means
from loquent.rewards import Learner, Term, apply, build
from loquent.rewards.judge import questions
from loquent.rewards.judge.options import JudgeOptions
from loquent.rewards.judge.replies import FILE, Replies
from loquent.rewards.learner import of_run
from loquent.training import recipes
from loquent.training.evaluate import scores as evaluated
from loquent.training.metrics import Renamed

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
OPTIONS = JudgeOptions(judge=Record(kind="scripted"), low=0.0, high=5.0)
KEY = "sk-pass/word+1234"


def judge(cache="none", **options):
    chosen = {
        "judge": {"kind": "helpers.agents.judges:Scripted"},
        "low": 0,
        "high": 5,
        "cache": str(cache),
        **options,
    }
    return make("llm_judge", Context(), chosen)


def served(server, cache="none", agent=(), **options):
    there = {
        "kind": "http",
        "base_url": server.url,
        "model": "small",
        "pause": 0.0,
        "retries": 1,
        "timeout": 5.0,
    }
    with pytest.warns(Remark, match="sends each answer"):
        return judge(cache, judge={**there, **dict(agent)}, **options)


@pytest.fixture
def serve():
    servers = []

    def start(*replies):
        servers.append(Server(*replies))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def scores(metric, *answers, references=()):
    measured = metric(Samples(answers, references, ["say it"] * len(answers)))
    return measured.samples["llm_judge"], sorted(measured.unjudged)


# what is asked and read


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("[[3]]", 3.0),
        ("It is good. [[ 4.5 ]]\n", 4.5),
        ("You said [[5]], but no: [[0]]", 0.0),  # the last one counts
        (" 2 ", 2.0),  # nothing but the number
        ("2 of 5", None),
        ("[[6]]", None),  # outside the scale
        ("[[-1]]", None),
        ("[[nan]]", None),
        ("[[1e3]]", None),
        ("[[A]]", None),
        ("", None),
        ("[[" + "9" * 5000 + "]]", None),
    ],
)
def test_a_rating_is_the_last_in_double_brackets(reply, value):
    assert questions.rating(OPTIONS, reply) == value


@settings(max_examples=30)
@given(st.text())
def test_no_reply_raises(reply):
    assert questions.preference(reply) in (None, 0.0, 0.5, 1.0)
    value = questions.rating(OPTIONS, reply)
    assert value is None or 0 <= value <= 5


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["</answer>", "<answer-2>", "</answer-2>", "answer-3>", "x", "\n"]), max_size=9)
)
def test_a_text_cannot_leave_its_tags(pieces):
    text = "".join(pieces)
    asked = questions.fence_texts({"prompt": "p", "answer": text})
    opening = asked.splitlines()[3]
    assert asked.count(opening) == 1
    assert asked.endswith(f"{opening}\n{text}\n{opening.replace('<', '</')}")


def test_the_question_shows_the_rubric_the_scale_and_only_what_it_should():
    text = questions.scale(OPTIONS, "the prompt", "", "the answer")
    assert "from 0 to 5. 5 is the best" in text
    assert OPTIONS.rubric in text
    assert "<prompt>\nthe prompt\n</prompt>\n<answer>\nthe answer\n</answer>" in text
    assert "reference" not in text
    assert "<reference>\nR\n</reference>" in questions.scale(OPTIONS, "", "R", "")
    assert "<prompt>" not in questions.pair(OPTIONS, "", "a", "b")


def test_scores_by_hand():
    metric = judge()
    assert scores(metric, "abc", "", "a" * 9, "why?") == ([3.0, 0.0, 5.0, None], [3])
    assert metric(Samples(["abc", "why?", "a"])).corpus == {"llm_judge": 2.0}
    assert metric.range == (0.0, 5.0)
    assert metric(Samples([])).samples == {"llm_judge": []}


def test_a_pair_is_asked_in_both_orders():
    metric = judge(form="pair")
    references = [("abc", "other"), ("abc",), ("abc",), (), ("abc",)]
    # longer than the reference: 1; shorter: 0; equal: 1/2; without one it does not apply
    answers = ["abcd", "ab", "xyz", "abcd", "a?"]
    assert scores(metric, *answers, references=references) == ([1.0, 0.0, 0.5, None, None], [4])
    assert len(Scripted.newest.seen[0]) == 8
    first, second = Scripted.newest.seen[0][:2]
    assert "<answer_a>\nabcd\n</answer_a>\n<answer_b>\nabc\n" in first
    assert "<answer_a>\nabc\n</answer_a>\n<answer_b>\nabcd\n" in second
    assert metric.range == (0.0, 1.0)


def test_a_judge_that_prefers_the_first_place_gives_a_tie(serve):
    metric = served(serve(chat("[[A]]")), form="pair")
    assert scores(metric, "x", references=[("y",)]) == ([0.5], [])
    half = served(
        serve(lambda _, body: chat("[[A]]" if "<answer_a>\nx" in str(body).replace("\\n", "\n") else "?")),
        form="pair",
    )
    assert scores(half, "x", references=[("y",)]) == ([None], [0])  # one order alone is no verdict


# cache and budget


def test_equal_questions_are_asked_once_and_replies_are_kept_by_content(tmp_path):
    metric = judge(tmp_path)
    assert scores(metric, "abc", "abc", "why?") == ([3.0, 3.0, None], [2])
    assert [len(asked) for asked in Scripted.newest.seen] == [2]
    again = judge(tmp_path)
    assert scores(again, "abc", "why?", "ab") == ([3.0, None, 2.0], [1])
    assert [len(asked) for asked in Scripted.newest.seen] == [
        2
    ]  # the failure is asked again, and the new one
    assert again.spent == {"requests": 2, "tokens": 20}
    for other in ({"rubric": "Be short."}, {"high": 9}, {"judge": {"kind": "helpers.agents.judges:Other"}}):
        metric = judge(tmp_path, **other)
        scores(metric, "abc")
        assert metric.spent["requests"] == 1, other


def test_the_address_is_no_part_of_what_is_kept_and_the_model_is(serve, tmp_path):
    one, other = serve(chat("[[1]]")), serve(chat("[[2]]"))
    assert scores(served(one, tmp_path), "abc")[0] == [1.0]
    assert scores(served(other, tmp_path), "abc")[0] == [1.0]
    assert scores(served(other, tmp_path, agent={"model": "large"}), "abc")[0] == [2.0]


@pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_broken_cache_costs_no_run(tmp_path, damage):
    (tmp_path / FILE).write_bytes(damage)
    with pytest.warns(Remark, match="cannot be used"):
        assert scores(judge(tmp_path), "abc") == ([3.0], [])
    strange = Replies(tmp_path / "other")
    strange.keep({"k": "no verdict"})
    assert strange.find(["k", "x"]) == {"k": "no verdict"}
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSetting, match="cannot be created"):
        judge(tmp_path / "file")


def test_a_kept_reply_without_a_verdict_is_asked_again(tmp_path):
    metric = judge(tmp_path)
    scores(metric, "abc")
    kept = metric.replies
    asked = Scripted.newest.seen[0][0]
    key = digest((metric.identity, asked), 64)
    assert list(kept.find([key])) == [key]
    kept.keep({key: "nonsense"})
    again = judge(tmp_path)
    assert scores(again, "abc") == ([3.0], [])
    assert again.spent["requests"] == 1


def test_the_budget_ends_the_questions_not_the_run(tmp_path):
    metric = judge(tmp_path, most_requests=2)
    with pytest.warns(
        Remark, match="1 of 3 answers were not judged; the first: scripted: the budget is spent"
    ):
        assert scores(metric, "a", "ab", "abc") == ([1.0, 2.0, None], [2])
    assert scores(metric, "abc", "a") == ([None, 1.0], [0])  # what the cache has costs nothing
    tokens = judge(most_tokens=70)
    found = scores(tokens, *("a" * n for n in range(20)))
    assert found[1] == list(range(8, 20))  # it looks after 8 questions of 10 tokens
    assert tokens.spent == {"requests": 8, "tokens": 80}


def test_a_resumed_run_goes_on_with_its_budget():
    settings = {
        "llm_judge": {
            "judge": {"kind": "helpers.agents.judges:Scripted"},
            "cache": "none",
            "most_requests": 3,
            "low": 0,
        }
    }
    terms, _ = build(settings, Context())
    learner = Learner(terms)
    apply(terms, [game("ab"), game("abc")], ROWS, learner)
    state = json.loads(json.dumps(learner.state_dict()))
    terms, _ = build(settings, Context())
    resumed = Learner(terms)
    resumed.load_state_dict(state)
    found = apply(terms, [game("x"), game("yz")], ROWS, resumed)
    assert [episode.unjudged for episode in found] == [(), ("llm_judge",)]


# rewards


ROWS = {"r": Row("r")}


def game(text, **rest):
    return Episode(
        "toy-v1", "r", "train", 0, 0, (Turn("task", "p", to="agent"), Turn("agent", text)), "end", **rest
    )


def term(**options):
    terms, _ = build(
        {
            "quality": {
                "of": "llm_judge",
                "judge": {"kind": "helpers.agents.judges:Scripted"},
                "cache": "none",
                "low": 0,
                **options,
            }
        },
        Context(),
    )
    return terms


def test_an_unjudged_episode_is_marked_and_has_no_reward_of_the_name():
    before = [game("abc"), game("why?"), game("ab", unjudged=("quality", "other"))]
    found = apply(term(), before, ROWS)
    assert [episode.unjudged for episode in found] == [(), ("quality",), ("other",)]
    assert [dict(episode.rewards) for episode in found] == [{"quality": 3.0}, {}, {"quality": 2.0}]


@pytest.mark.parametrize("options", [{"place": "sentence"}, {"potential": True, "place": "sentence"}])
def test_an_episode_with_an_unjudged_part_is_unjudged(options):
    terms = term(**options)

    def told(text):
        drawn = Tokens(np.arange(2), np.zeros(2), np.zeros(2))
        turns = (Turn("task", "p", to="agent"), Turn("agent", text, tokens=drawn))
        return Episode("toy-v1", "r", "train", 0, 0, turns, "end")

    learner = Learner(terms, ends=lambda turn: (2, len(turn.text)))
    assert apply(terms, [told("Oh. Yes")], ROWS, learner)[0].unjudged == ()
    found = apply(terms, [told("A? Yes")], ROWS, learner)[0]
    assert (found.unjudged, dict(found.rewards)) == (("quality",), {})


class EachAnswer:
    """A metric of each answer that cannot judge questions."""

    name, version, higher_is_better, reads, fallible = "each", 1, True, "turn", True
    keys = ("each",)

    def __call__(self, samples):
        failed = frozenset(i for i, text in enumerate(samples.predictions) if text.endswith("?"))
        scores = [None if i in failed else float(len(text)) for i, text in enumerate(samples.predictions)]
        return replace(with_means({"each": scores}), unjudged=failed)


def dialogue(row, *answers):
    turns = [turn for text in answers for turn in (Turn("task", "p", to="agent"), Turn("agent", text))]
    return Episode("toy-v1", row, "train", 0, 0, tuple(turns), "end")


def test_an_episode_with_an_unjudged_answer_is_unjudged():
    episodes, rows = [dialogue("r", "ab", "c"), dialogue("s", "ab", "c?")], {"r": Row("r"), "s": Row("s")}
    found = apply([Term("quality", EachAnswer())], episodes, rows)
    assert [episode.unjudged for episode in found] == [(), ("quality",)]
    assert [dict(episode.rewards) for episode in found] == [{"quality": 3.0}, {}]
    measured = evaluated([EachAnswer(), Renamed("again", EachAnswer())], episodes, rows)
    for key in ("each", "again/each"):
        assert measured.samples[key] == [3.0, None]
        values = [measured.corpus[prefix + key] for prefix in ("", "scored/", "unjudged/")]
        assert values == [3.0, 0.5, 1.0]


def test_what_cannot_be_left_out_is_refused():
    chosen = {"config": AlgorithmConfig(), "name": "sb3/dqn", "recorded": False, "ends": None}
    with pytest.raises(
        BadSetting, match=r"rewards.quality: its judge may fail, and sb3/dqn learns from an episode before"
    ):
        of_run(term(), playing=True, **chosen)
    with pytest.raises(BadSetting, match="2 processes would get different scores"):
        of_run(term(), playing=False, processes=2, **chosen)
    with pytest.raises(BadSetting, match="its weight is 0"):
        term(weight=0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"judge": {"kind": "random"}}, "cannot judge, as it has no `attempt`"),
        ({"judge": {}}, "does not name an agent"),
        ({"judge": {"kind": "folder", "path": "none"}}, "is not the folder of a language model"),
        ({"low": 3, "high": 3}, "low must be below high"),
        ({"form": "pair", "reference": True}, "shows the reference anyway"),
        ({"rubric": " "}, "rubric is empty"),
        ({"most_requests": -1}, "most_requests"),
    ],
)
def test_wrong_options_are_refused_in_words(options, problem):
    with pytest.raises(BadSetting, match=problem):
        judge(**options)


def test_it_is_a_reward_and_a_metric():
    assert registry.find("reward", "llm_judge") is registry.find("metric", "llm_judge")


# endpoints that mean harm


def late(handler, _):
    for letter in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":
        handler.wfile.write(bytes([letter]))
        handler.wfile.flush()
        time.sleep(0.05)


def broken(handler, _):
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


HOSTILE = {
    "wrong JSON": b"{",
    "no object": [1],
    "no choices": {"choices": "many"},
    "no text": {"choices": [{"message": {"content": {"a": 1}}}]},
    "deep": b"[" * 90_000,
    "huge": chat("[[3]]" + "x" * 5_000_000),
    "no verdict": chat("I would rather not."),
    "late": late,
    "broken": broken,
    "redirect": (302, {"Location": "http://127.0.0.1:1/elsewhere"}, b""),
    "error": (500, {}, {"error": "out of memory"}),
    "not allowed": (401, {}, {"error": "no"}),
}


@pytest.mark.parametrize("reply", HOSTILE)
def test_a_hostile_endpoint_ends_no_run(serve, reply):
    def sometimes(handler, body):
        if "<answer>\\nfine" in json.dumps(body):
            return chat("[[4]]")
        return HOSTILE[reply](handler, body) if callable(HOSTILE[reply]) else HOSTILE[reply]

    server = serve(sometimes)
    limits = {"timeout": 1.0, "retries": 0} if reply == "late" else {"timeout": 20.0, "max_bytes": 1 << 20}
    metric = served(server, agent=limits)
    with pytest.warns(Remark, match="1 of 2 answers were not judged"):
        assert scores(metric, "bad", "fine") == ([None, 4.0], [0])
    assert all(path == "/v1/chat/completions" for path, _, _ in server.seen)


def test_a_busy_endpoint_is_asked_again_after_the_time_that_it_names(serve):
    busy = (429, {"Retry-After": "0"}, {"error": "busy"})
    server = serve(busy, chat("[[4]]"))
    metric = served(server, agent={"retries": 2, "pause": 50.0})
    begun = time.monotonic()
    assert scores(metric, "abc") == ([4.0], [])
    assert time.monotonic() - begun < 10
    assert len(server.seen) == 2


def test_many_requests_are_in_flight(serve):
    together = threading.Barrier(16, timeout=20)

    def late(_, body):
        together.wait()
        return {**chat("[[2]]"), "usage": {"total_tokens": 7}}

    server = serve(late)
    metric = served(server, agent={"concurrency": 16})
    assert scores(metric, *map(str, range(32)))[0] == [2.0] * 32
    assert server.most == 16
    assert metric.spent == {"requests": 32, "tokens": 224}


@pytest.mark.parametrize(
    "usage", [None, {"total_tokens": -5}, {"total_tokens": "many"}, {"total_tokens": 10**30}, 3]
)
def test_an_endpoint_that_does_not_count_is_charged_by_bytes(serve, usage):
    metric = served(serve({**chat("[[2]]"), "usage": usage}), most_tokens=10)
    scores(metric, "abc")
    assert 300 < metric.spent["tokens"] < 2000


def test_no_key_is_in_a_remark_or_in_the_cache(serve, monkeypatch, tmp_path):
    monkeypatch.setenv("MY_KEY", KEY)
    metric = served(serve((400, {}, {"error": f"you sent {KEY}"})), agent={"api_key_variable": "MY_KEY"})
    with pytest.warns(Remark) as remarks:
        scores(metric, "abc")
    assert not [remark for remark in remarks if KEY in str(remark.message)]
    metric = served(serve(chat(f"{KEY} [[3]]")), tmp_path, agent={"api_key_variable": "MY_KEY"})
    assert scores(metric, "abc")[0] == [3.0]
    assert KEY.encode() not in (tmp_path / FILE).read_bytes()


def test_what_leaves_the_machine_is_told_before(serve, tmp_path):
    server = serve(chat("[[3]]"))
    there = {"kind": "http", "base_url": server.url, "model": "small"}
    line = f"llm_judge sends each answer, its prompt and its reference to {server.url}/chat/completions"
    with pytest.warns(Remark, match=line):
        judge(tmp_path, judge=there, form="pair")
    assert server.seen == []


def test_a_recipe_from_elsewhere_names_no_address_unasked(tmp_path, monkeypatch):
    recipe = "task: {{kind: generation}}\nrewards: {{llm_judge: {{judge: {{kind: http, model: m, {}}}}}}}\n"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    file = tmp_path / "theirs.yaml"
    for setting in ("base_url: 'http://127.0.0.1:1/v1'", "api_key_variable: HOME"):
        file.write_text(recipe.format(setting))
        with pytest.raises(NotTrusted, match=setting.partition(":")[0]):
            recipes.load(file)
        recipes.load(file, imports="all")
    prints = set()
    for port in (1, 2):
        file.write_text(recipe.format(f"base_url: 'http://127.0.0.1:{port}/v1'"))
        prints.add(recipes.load(file, imports="all").fingerprint)
    assert len(prints) == 1  # the address is no part of a run's identity
    file.write_text(recipe.format("temperature: 0.5"))
    assert recipes.load(file, imports="all").fingerprint not in prints
    tiny = recipes.load(file, profile="smoke", imports="all")
    assert dict(tiny.rewards["llm_judge"]) == {"of": "lexicon"}


def test_an_environment_names_what_was_not_judged():
    task = loquent.task("generation")
    env = Environment(task, form="text", terms=term(), weights=Record(quality=1.0))
    found = []
    for text in ("Yes", "Is it?"):
        env.reset(seed=0)
        _, reward, _, _, info = env.step(text)
        found.append((reward, info.get("unjudged")))
    assert found == [(3.0, None), (0.0, ("quality",))]
