"""A language model of a folder as an agent, and as a judge."""

import shutil

import pytest

from helpers.agents import tiny_judge
from loquent.core.agent import Answer, Attempting, Question, make
from loquent.core.episode import TASK, Turn
from loquent.core.metric import Context, Samples
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadSetting, BrokenAgent
from loquent.metrics.making import make as make_metric

pytest.importorskip("torch")
OPTIONS = {"low": 0, "high": 5, "rubric": "Be brief."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_judge.write(tmp_path_factory.mktemp("judge")))


def question(text, number=0):
    return Question(str(number), (Turn(TASK, text, to="agent"),), Observation(text), Key(0).child(number))


def test_it_answers_and_fails_on_a_long_prompt_alone(folder):
    agent = make({"kind": "folder", "path": folder, "max_new_tokens": 8}, None)
    assert isinstance(agent, Attempting)
    asked = [question("Rate it."), question("word " * 400, 1), question("Rate that.", 2)]
    first, long, second = agent.attempt(asked)
    assert isinstance(long, BrokenAgent)
    assert "more than the 312 tokens" in str(long)
    again = agent.answer([asked[0], asked[2]])
    assert [first.text, second.text] == [answer.text for answer in again] == ["[[4]]"] * 2
    assert isinstance(first, Answer)
    assert agent.tokens > len(first.tokens.ids) + len(second.tokens.ids)


def test_a_judge_in_a_folder(folder, tmp_path):
    judge = {"kind": "folder", "path": folder, "max_new_tokens": 8}
    metric = make_metric("llm_judge", Context(), {"judge": judge, "cache": str(tmp_path), **OPTIONS})
    samples = Samples(["good film", "dull", "x " * 300], prompts=["it was"] * 3)
    measured = metric(samples)
    assert measured.samples["llm_judge"] == [4.0, 4.0, None]
    assert measured.unjudged == {2}
    again = make_metric("llm_judge", Context(), {"judge": judge, "cache": str(tmp_path), **OPTIONS})
    assert again(samples.take([0, 1])).samples["llm_judge"] == [4.0, 4.0]
    assert again.spent["requests"] == 0


def test_another_model_in_the_same_folder_is_another_judge(folder, tmp_path):
    copied = tmp_path / "judge"
    shutil.copytree(folder, copied)
    judge = {"kind": "folder", "path": str(copied), "max_new_tokens": 8}

    def identity():
        return make_metric("llm_judge", Context(), {"judge": judge, "cache": "none", **OPTIONS}).identity

    before = identity()
    assert identity() == before
    config = copied / "generation_config.json"
    config.write_text(config.read_text() + " ")
    assert identity() != before


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BadSetting, match=r"path = .* is not the folder of a language model"):
        make({"kind": "folder", "path": str(tmp_path)}, None)
