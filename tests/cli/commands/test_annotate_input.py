"""`loquent annotate` on what people type and on files of samples, good and bad.

Input from a pipe, everything else as a user has it.
"""

import io
import json
import re
import sys
import tempfile
from argparse import Namespace

import pytest

from loquent.cli import main as cli
from loquent.cli.commands.annotate import _samples
from loquent.core.options import dump
from loquent.training import recipes

pytest.importorskip("stable_baselines3")

TASKS = {
    "tagging": {"labels": ["other", "vowel"]},
    "multilabel": {"labels": ["corn", "wheat"], "max_steps": 3},
    "multiple_choice": {},
}


@pytest.fixture
def annotate(tmp_path, monkeypatch, capsys):
    """A function that writes samples and runs the command on them with what is typed.

    Returns the exit code, what was shown, and the errors.
    """
    monkeypatch.chdir(tmp_path)
    small = {"games": 2, "rollout": 4, "steps": 8, "minibatch": 4, "network": [8]}
    algorithm = {"kind": "sb3/ppo", "features": {"kind": "hashed", "dimension": 16}, **small}

    def run(kind, samples, typed, *more, **options):
        task = {"kind": kind, "source": "samples", "instruct": False, **TASKS[kind], **options}
        (tmp_path / "mine.yaml").write_text(
            dump({"task": task, "algorithm": algorithm, "training": {"updates": 3}})
        )
        (tmp_path / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        given = typed if isinstance(typed, bytes) else typed.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        code = cli.main(["annotate", "mine.yaml", "--samples", "samples.jsonl", "--out", "session", *more])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def kept(folder):
    """What was given, by id."""
    lines = [json.loads(line) for line in (folder / "session" / "annotations.jsonl").read_text().splitlines()]
    return {line["id"]: line["given"] for line in lines}


def test_labels_that_were_all_taken_away_stay_away(annotate, tmp_path):
    texts = [{"id": "s1", "text": "a text about corn"}]
    _, shown, _ = annotate("multilabel", texts, "q\n")
    suggested = re.search(r"labels: (.*)", shown)[1].split(", ")
    assert suggested != ["(none)"]  # else this test tells nothing
    _, shown, _ = annotate("multilabel", texts, "".join(f"-{label}\n" for label in suggested) + "q\n")
    assert "labels: (none)" in shown
    _, shown, _ = annotate("multilabel", texts, "\n")
    assert kept(tmp_path) == {"s1": []}


def test_two_samples_of_one_id_are_refused_with_both_lines(annotate, tmp_path):
    samples = [{"id": "x", "tokens": ["a"]}, {"id": "y", "tokens": ["b"]}, {"id": "x", "tokens": ["c"]}]
    code, _, why = annotate("tagging", samples, "q\n")
    assert code == 2
    assert "samples.jsonl:3: the sample 'x' stands already in line 1" in why
    assert not (tmp_path / "session").exists()
    code, _, why = annotate("tagging", [{"tokens": ["a"]}, {"tokens": ["a"]}], "q\n")  # without ids
    assert code == 2
    assert "samples.jsonl:2" in why


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("tagging", {"tokens": 5}, "'tokens' is 5"),
        ("tagging", {"tokens": None}, "'tokens' is None"),
        ("tagging", {"text": 5}, "'text' is 5"),
        ("tagging", {"tokens": {"a": "b"}}, "'tokens' is"),
        ("multilabel", {"text": None}, "text"),
        (
            "multiple_choice",
            {"question": "which?", "choices": ["a", "b"], "ids": 5},
            "two lists of the same length",
        ),
        ("multiple_choice", {"question": "which?", "choices": [None], "ids": None}, "the choice"),
        ("multiple_choice", {"question": "which?", "choices": 5}, "the choices are 5"),
        ("multiple_choice", {"question": "which?", "choices": None}, "the choices are None"),
        ("multiple_choice", {"question": {"stem": "which?", "choices": 7}}, "the choices are 7"),
        (
            "multiple_choice",
            {"question": "which?", "choices": {"text": 3, "label": 4}},
            "two lists of the same length",
        ),
    ],
)
def test_a_bad_sample_is_named_with_its_line(annotate, kind, fields, words):
    good = {
        "tagging": {"tokens": ["a"]},
        "multilabel": {"text": "a"},
        "multiple_choice": {"question": "which?", "choices": ["a", "b"]},
    }[kind]
    code, _, why = annotate(kind, [good, fields], "q\n")
    assert code == 2
    assert "samples.jsonl:2: " in why
    assert words in why


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("tagging", {"tokens": ["a"], "labels": 5}),
        ("tagging", {"tokens": ["a"], "labels": ["consonant"]}),
        ("tagging", {"tokens": ["a"], "labels": ["vowel", "vowel"]}),
        ("multilabel", {"text": "a", "labels": ["maize"]}),
        ("multiple_choice", {"question": "which?", "choices": ["a", "b"], "answer": "C"}),
        ("multiple_choice", {"question": "which?", "choices": ["a", "b"], "answerKey": None}),
    ],
)
@pytest.mark.parametrize("more", [(), ("--oracle",)])
def test_a_bad_annotation_is_named_with_its_line(annotate, kind, fields, more):
    blank = {name: value for name, value in fields.items() if name not in ("labels", "answer", "answerKey")}
    code, _, why = annotate(kind, [{**blank, "id": "good"}, fields], "q\n", *more)
    assert code == 2
    assert "samples.jsonl:2: " in why


def test_finding_the_annotated_samples_takes_one_look_at_each():
    """What is called for a file grows as the file does: four times the samples, four times the calls."""

    def calls(n):
        task = "[O, V]"
        whole = recipes.load("tagging_ppo", [f"task.labels={task}", "task.source=samples"])
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(
                json.dumps({"id": str(i), "tokens": ["a"], "labels": ["O"]}) + "\n" for i in range(n)
            )
            file.flush()
            count = 0

            def counted(*event):
                nonlocal count
                count += 1

            sys.setprofile(counted)
            rows, right = _samples(Namespace(samples=file.name, oracle=True), whole)
            sys.setprofile(None)
        assert len(rows) == len(right) == n
        return count

    calls(10)  # what is made once a process
    assert calls(400) - calls(200) < 2.2 * (calls(200) - calls(100))


def test_bytes_that_are_no_text_lose_nothing(annotate, tmp_path):
    code, shown, why = annotate(
        "tagging", [{"id": "x", "tokens": ["a", "b"]}], b"1 vowel\n\xff\xfe\n2 vowel\xe9\n2 other\r\n\n"
    )
    assert (code, why) == (0, "")
    assert r"'\\xff\\xfe' is neither" in shown
    assert r"'vowel\\xe9' is no label" in shown
    assert kept(tmp_path) == {"x": ["vowel", "other"]}


def test_a_choice_may_be_called_as_a_command_is(annotate, tmp_path):
    asked = {"question": "which?", "choices": {"q": "this", "?": "that", "B": "those"}}
    code, shown, _ = annotate(
        "multiple_choice", [{**asked, "id": "x"}, {**asked, "id": "y"}], "B\nq\n\n?\n\n"
    )
    assert code == 0
    assert "? lists the ids; u undoes; the end of the input (Ctrl-D) leaves" in shown
    assert kept(tmp_path) == {"x": ["q"], "y": ["?"]}


def test_q_leaves_where_no_choice_is_called_so(annotate, tmp_path):
    _, shown, _ = annotate(
        "multiple_choice", [{"question": "which?", "choices": {"Q": "this", "B": "that"}}], "?\nq\n"
    )
    assert "? lists the ids; u undoes; q leaves" in shown
    assert "> Q B\n" in shown
    assert kept(tmp_path) == {}


def test_labels_of_several_words_are_given_and_listed_one_a_line(annotate, tmp_path):
    labels = ["noun phrase", "O", "verb  phrase"]
    code, shown, _ = annotate(
        "tagging",
        [{"id": "x", "tokens": ["a", "b", "c"]}],
        "?\n1-2 Noun Phrase\n3 verb  phrase\n\n",
        labels=labels,
    )
    assert code == 0
    assert "> noun phrase\nO\nverb  phrase\n" in shown
    assert kept(tmp_path) == {"x": ["noun phrase", "noun phrase", "verb  phrase"]}
    _, shown, _ = annotate(
        "multilabel", [{"id": "x", "text": "a"}], "?\nq\n", "--out", "other", labels=labels
    )
    assert "> noun phrase\nO\nverb  phrase\n" in shown


def test_corrections_and_whole_samples_are_undone(annotate, tmp_path):
    texts = [{"id": "s1", "tokens": ["a", "b"]}, {"id": "s2", "tokens": ["c"]}]
    typed = [
        "u",
        "1 vowel",
        "1 other",
        "u",
        "u",
        "2 vowel",
        "1-2 vowel",
        "u",
        "1 vowel",
        "",
        "u",
        "1-2 other",
        "",
        "1 other",
        "",
    ]
    code, shown, _ = annotate("tagging", texts, "\n".join(typed) + "\n", "--json")
    assert code == 0
    assert "there is nothing to undo" in shown
    assert "u undoes; q leaves" in shown
    assert shown.count("sample 1 of 2") == 2, "a sample that was given comes back"
    again = shown[shown.rindex("sample 1 of 2") :]
    assert re.findall(r"\d  [ab]  (\w+)", again)[:2] == ["vowel", "vowel"], "as it was given"
    assert kept(tmp_path) == {"s1": ["other", "other"], "s2": ["other"]}
    told = json.loads(shown.splitlines()[-1])
    assert (told["samples"], told["decisions"]) == (2, 3)


def test_a_choice_that_is_called_u_is_chosen_by_it(annotate, tmp_path):
    asked = {"id": "x", "question": "?", "choices": ["one", "two", "three"], "ids": ["a", "u", "z"]}
    code, shown, _ = annotate("multiple_choice", [asked], "z\nu\nundo\n\n")
    assert code == 0
    assert "? lists the ids; undo undoes; q leaves" in shown
    assert kept(tmp_path) == {"x": ["z"]}
