"""`loquent score`: files in, tables, JSON and samples out; errors that name file and line."""

import json
import subprocess
import sys

import pytest

from loquent.cli import main as cli
from loquent.cli.commands import score

OWN = '''
from dataclasses import dataclass

from loquent.core.metric import Measured
from loquent.core.options import takes
from loquent.core.settings import setting


@dataclass(frozen=True, kw_only=True)
class Options:
    case: bool = setting(True, "whether case counts")


@takes(Options, "own_metric:exact")
def exact(context, options):
    return Exact(options.case)


class Exact:
    """Equal to one of the references."""

    name, version, higher_is_better, keys = "exact", 1, True, ("exact", "exact/table")

    def __init__(self, case):
        self.fold = str if case else str.lower

    def __call__(self, samples):
        same = [
            float(self.fold(p) in map(self.fold, own)) if own else None
            for p, own in zip(samples.predictions, samples.references)
        ]
        there = [one for one in same if one is not None]
        tables = {"exact/table": float(sum("table" in row.fields for row in samples.rows))}
        return Measured({"exact": same}, {"exact": sum(there) / len(there), **tables} if there else {})


def wrong(context):
    return 5


class Boom(Exact):
    def __init__(self, context):
        pass

    def __call__(self, samples):
        return {}["score"]


def folded(context, case=True):
    return Exact(case)
'''
SAID = ["A b", "a", "B", "c", "the film was good", "the film was dull", "d", "e"]
RIGHT = ["a b", "a", "x", "", "good", "dull", "d", "e"]


@pytest.fixture
def files(folder):
    (folder / "own_metric.py").write_text(OWN)
    (folder / "said.jsonl").write_text(
        "".join(json.dumps({"text": text, "id": f"s{i}"}) + "\n" for i, text in enumerate(SAID))
    )
    (folder / "said.txt").write_text("\n".join(SAID) + "\n")
    (folder / "right.jsonl").write_text(
        "".join(json.dumps({"references": [text] if text else [], "table": [[1]]}) + "\n" for text in RIGHT)
    )
    (folder / "right.txt").write_text("\n".join(RIGHT) + "\n")
    return folder


def run(capsys, *words):
    code = cli.main(["score", *words])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def test_the_last_line_holds_the_corpus_by_key(files, capsys):
    code, lines, _ = run(
        capsys, "--metrics", "own_metric:exact,lexicon", "said.jsonl", "right.jsonl", "--json"
    )
    found = json.loads(lines[-1])
    assert code == 0
    assert found["corpus"] == {"exact": 3 / 7, "exact/table": 8.0, "lexicon/balance": 0.0}
    assert found["scored"] == {"exact": 7, "lexicon/balance": 2}
    assert (found["n"], found["predictions"], found["references"]) == (8, "said.jsonl", ["right.jsonl"])
    assert found["intervals"]["exact"]["low"] < 3 / 7 < found["intervals"]["exact"]["high"]
    assert found["intervals"]["exact/table"]["why"].startswith("this metric depends on duplicates")
    assert found["resampling"] == {"method": "percentile", "resamples": 1000, "level": 0.95, "seed": 0}
    assert lines[0] == "n = 8, 1 without a reference"
    low, high = (f"{found['intervals']['exact'][end]:.4g}" for end in ("low", "high"))
    assert lines[1].split() == ["exact", "0.4286", f"[{low},", f"{high}]", "of", "7"]


def test_plain_text_scores_as_json_lines_do(files, capsys):
    """The same texts; only the tables, which plain text cannot hold, are missing."""
    found = [
        json.loads(run(capsys, "--metrics", "own_metric:exact", said, right, "--json")[1][-1])
        for said in ("said.jsonl", "said.txt")
        for right in ("right.jsonl", "right.txt")
    ]
    assert [one["corpus"]["exact/table"] for one in found] == [8, 0, 8, 0]
    assert len({json.dumps([one["corpus"]["exact"], one["intervals"]["exact"]]) for one in found}) == 1


def test_several_files_give_several_references(files, capsys):
    (files / "more.txt").write_text("A b\n\n\n\n\n\n\n\n")
    first, both = (
        json.loads(run(capsys, "--metrics", "own_metric:exact", "said.txt", *right, "--json")[1][-1])[
            "corpus"
        ]
        for right in (["right.txt"], ["right.txt", "more.txt"])
    )
    assert (first["exact"], both["exact"]) == (3 / 7, 4 / 7)


@pytest.mark.parametrize(
    "line",
    [
        ["--metrics", "own_metric:exact", "said.txt", "right.txt", "own_metric:exact.case=false"],
        ["said.txt", "--metrics=own_metric:exact", "right.txt", "--json", "own_metric:exact.case=false"],
        ["said.txt", "own_metric:exact.case=false", "right.txt", "--metrics=own_metric:exact"],
    ],
)
def test_options_of_a_metric_stand_anywhere(files, capsys, line):
    found = json.loads(run(capsys, *line, "--json")[1][-1])
    assert found["corpus"]["exact"] == 4 / 7
    assert found["metrics"] == {"own_metric:exact": {"case": False}}


def test_two_of_one_kind_have_names_of_their_own(files, capsys):
    words = [
        "--metrics",
        "strict=own_metric:exact,loose=own_metric:exact",
        "said.txt",
        "right.txt",
        "loose.case=false",
        "--json",
    ]
    corpus = json.loads(run(capsys, *words)[1][-1])["corpus"]
    assert (corpus["strict/exact"], corpus["loose/exact"]) == (3 / 7, 4 / 7)


def test_samples_are_json_lines(files, capsys):
    run(
        capsys,
        "--metrics",
        "own_metric:exact,lexicon",
        "said.jsonl",
        "right.jsonl",
        "--samples",
        "scores.jsonl",
        "--resamples",
        "0",
    )
    lines = [json.loads(line) for line in (files / "scores.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [f"s{i}" for i in range(8)]
    assert [line["scores"]["exact"] for line in lines] == [0, 1, 0, None, 0, 0, 1, 1]
    assert [line["scores"]["lexicon/balance"] for line in lines][3:6] == [None, 1.0, -1.0]
    assert lines[0]["text"] == "A b"


def test_intervals_are_those_of_the_seed(files, capsys):
    def interval(*words):
        return json.loads(
            run(capsys, "--metrics", "own_metric:exact", "said.txt", "right.txt", "--json", *words)[1][-1]
        )["intervals"]["exact"]

    one = interval("--seed", "1", "--resamples", "101", "--level", "0.7")
    assert one == interval("--seed", "1", "--resamples", "101", "--level", "0.7")
    different = [
        interval(),
        interval("--level", "0.5"),
        interval("--interval", "bca", "--level", "0.7"),
        interval("--seed", "2", "--level", "0.7"),
    ]
    assert all(other != different[0] for other in different[1:])
    none = json.loads(
        run(capsys, "--metrics", "own_metric:exact", "said.txt", "right.txt", "--json", "--resamples", "0")[
            1
        ][-1]
    )
    assert (none["intervals"], none["resampling"]) == ({}, None)


@pytest.mark.parametrize("metrics", ["own_metric:exact", "lexicon,own_metric:exact"])
def test_a_metric_that_needs_references_says_so(files, capsys, metrics):
    code, lines, said = run(capsys, "--metrics", metrics, "said.txt")
    assert (code, lines) == (2, [])
    assert said.startswith(
        "BadSetting: --metrics own_metric:exact: references are needed, and no sample has any; give "
        "a file of references"
    )


def test_a_metric_that_reads_no_references_may_have_no_score(files, capsys):
    (files / "neutral.txt").write_text("a dog\n")
    code, lines, said = run(capsys, "--metrics", "lexicon", "neutral.txt")
    assert (code, said) == (1, "nothing was scored: no metric applies to these texts\n")
    assert "lexicon: no score" in lines[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("lexikon said.txt", "UnknownName: no metric is named 'lexikon'. Did you mean 'lexicon'?"),
        ("lexicon,,judge said.txt", "BadSetting: --metrics lexicon,,judge: '' names no metric"),
        ("lexicon,lexicon said.txt", "BadSetting: --metrics lexicon,lexicon: 'lexicon' stands twice"),
        ("a=lexicon,b= said.txt", "BadSetting: --metrics a=lexicon,b=: 'b=' names no metric"),
        (
            "lexicon said.txt lexicon.pat=x",
            "BadSetting: lexicon: lexicon has no setting 'pat'. Nearest: path",
        ),
        (
            "lexicon said.txt lexicon.include_prompt=5",
            "BadSetting: lexicon: lexicon.include_prompt must be true or false, got 5; the default is True",
        ),
        ("lexicon said.txt path=x", "BadSetting: 'path=x' is neither a file nor METRIC.option=value"),
        (
            "lexicon said.txt diversity.n=2",
            "BadSetting: 'diversity.n=2' is neither a file nor METRIC.option=value",
        ),
        ("diversity said.txt diversity.n=99", "BadSetting: diversity: "),
        (
            "own_metric:none said.txt",
            "BadSetting: 'own_metric:none': the module own_metric has no 'none'; it was read from ",
        ),
        ("own_metric:wrong said.txt", "BadSetting: own_metric:wrong made 5, which is no metric"),
        (
            "c=own_metric:folded said.txt c.case=true c.foo=1",
            "BadSetting: the metric own_metric:folded takes no option foo; ",
        ),
        (
            "perplexity said.txt",
            "BadSetting: perplexity needs the language model of a run, and there is no model here",
        ),
        (
            "judge said.txt",
            "BadSetting: judge is trained on the labelled rows of a task, and there is no task here",
        ),
        ("lexicon said.txt --samples said.txt", "BadSetting: --samples said.txt is one of the files to read"),
        ("lexicon said.txt --samples none/x", "FileNotFoundError: none/x"),
        ("lexicon none.txt", "BadRow: none.txt: there is no such file"),
        ("lexicon .", "BadRow: .: this is a folder"),
        ("lexicon said.jsonl torn.jsonl", "BadRow: torn.jsonl:2: this line is not JSON"),
        ("lexicon said.jsonl latin.txt", "BadRow: latin.txt:1: this line is not UTF-8"),
        ("lexicon right.jsonl", "BadRow: right.jsonl:1: the field `text` is missing"),
        ("lexicon said.jsonl said.jsonl", "BadRow: said.jsonl:1: the field `references` is missing"),
        (
            "lexicon said.jsonl short.txt",
            "BadRow: short.txt:2: the file ends after 2 samples, and said.jsonl holds 8",
        ),
        ("lexicon empty.txt", "BadRow: empty.txt: the file is empty"),
    ],
)
def test_a_mistake_is_one_clear_line(files, capsys, words, says):
    (files / "torn.jsonl").write_text('{"references": []}\n{"refe')
    (files / "latin.txt").write_bytes("né\n".encode("latin-1"))
    (files / "short.txt").write_text("a\nb\n")
    (files / "empty.txt").touch()
    code, lines, said = run(capsys, "--metrics", *words.split())
    assert (code, lines) == (2, [])
    assert said.startswith(says)
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("--resamples", "99"), ("--resamples", "-1"), ("--level", "0.3"), ("--level", "1"), ("--interval", "t")],
)
def test_what_makes_no_interval_is_refused(option, value, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["score", "--metrics", "lexicon", "said.txt", option, value])
    assert stop.value.code == 2
    assert f"error: {option} must be" in capsys.readouterr().err


def test_an_error_in_a_metric_of_ones_own_is_one_line_with_its_place(files, capsys, monkeypatch):
    code, _, said = run(capsys, "--metrics", "own_metric:Boom", "said.txt")
    line = 1 + (files / "own_metric.py").read_text().splitlines().index('        return {}["score"]')
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("BrokenMetric: /")
    assert said.endswith(f"/own_metric.py:{line}: KeyError: 'score'; LOQUENT_DEBUG=1 shows the traceback\n")
    monkeypatch.setenv("LOQUENT_DEBUG", "1")
    with pytest.raises(KeyError):
        cli.main(["score", "--metrics", "own_metric:Boom", "said.txt"])


def test_without_metrics_or_with_an_unknown_option_it_exits_2(capsys):
    for words in (
        ["said.txt"],
        ["--metrics", "lexicon", "said.txt", "--sample=x"],
        ["--metrics", "lexicon", "said.txt", "-x"],
    ):
        with pytest.raises(SystemExit):
            cli.main(["score", *words, "--bogus"])
    assert "unrecognized arguments" in capsys.readouterr().err


def test_a_texts_own_marks_do_not_reach_the_terminal_nor_break_the_json(files, capsys):
    odd = ["\u001b[31m", "\u0000", "", "\u2028", "e\u0301👍🏽", "a " * 5000, "=1", "\ufeff"]
    (files / "odd.jsonl").write_text(
        "".join(json.dumps({"text": text, "references": [text]}) + "\n" for text in odd)
    )
    code, lines, _ = run(
        capsys,
        "--metrics",
        "own_metric:exact,lexicon,diversity",
        "odd.jsonl",
        "--json",
        "--samples",
        "odd-scores.jsonl",
        "--resamples",
        "100",
    )
    assert code == 0
    assert json.loads(lines[-1])["corpus"]["exact"] == 1.0
    assert [json.loads(line)["text"] for line in (files / "odd-scores.jsonl").read_text().splitlines()] == odd


def test_a_user_runs_it(files, loquent):
    done = loquent(
        "score", "--metrics", "own_metric:exact", "said.jsonl", "right.jsonl", "--resamples", "100", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["corpus"]["exact"] == 3 / 7
    assert done.stderr == ""  # no bar where nobody watches


def test_asked_reads_names():
    assert score.parse_metrics("a, b=c ,own_metric:d") == {"a": {}, "b": {"of": "c"}, "own_metric:d": {}}


def test_list_metrics_says_what_each_needs(capsys):
    assert cli.main(["list", "metrics", "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    found = json.loads(last)
    assert set(found["needs"]) == set(found["names"])
    assert found["needs"]["diversity"] == ""
    # each line stands alone: they are sorted by name
    assert not [line for line in lines if "The same" in line]
    assert found["needs"]["perplexity"] == "a policy that plays (a run)"
    assert found["needs"]["sentiment"].startswith("a classifier's folder, or loquent[train]")
    assert any(
        line.startswith("text_perplexity")
        and "Needs loquent[train] and a language model's folder or name." in line
        for line in lines
    )


WITHOUT_EXTRA = """
import sys
for name in ("sacrebleu", "rouge_score", "nltk", "scipy"):
    sys.modules[name] = None
from loquent.cli.commands.list import needs, summary
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.errors import LoquentError, MissingExtra
for name in registry.names("metric"):
    try:
        registry.find("metric", name)(Context())(Samples(["a dog ran"], [["a dog runs"]], ["x"], [Row("a")]))
    except MissingExtra:
        print(name, needs(summary(registry.target("metric", name))))
    except LoquentError:
        pass
"""


def test_a_metric_that_needs_the_extra_with_its_defaults_is_listed_so():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA], capture_output=True, text=True, timeout=60, check=True
    )
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {"bleu", "rouge", "sacrebleu", "meteor"} <= set(found)
    assert all(need.startswith("loquent[metrics]") for need in found.values()), found
    assert found["rouge"] == "loquent[metrics], except with stem=false"
    assert found["bleu"] == "loquent[metrics], except with tokenizer=whitespace"


def test_samples_with_one_prompt_are_drawn_together(files, capsys):
    lines = [json.dumps({"text": text, "prompt": f"p{i % 4}"}) + "\n" for i, text in enumerate(SAID)]
    (files / "prompted.jsonl").write_text("".join(lines))
    _, lines, _ = run(
        capsys, "--metrics", "own_metric:exact,lexicon", "prompted.jsonl", "right.jsonl", "--json"
    )
    assert lines[0] == "n = 8 on 4 prompts, 1 without a reference"
    assert any("draws of all prompts, each with its samples, seed 0" in line for line in lines)
    found = json.loads(lines[-1])
    assert (found["n"], found["rows"]) == (8, 4)
    equal = [json.dumps({"text": text, "prompt": "p"}) + "\n" for text in SAID]
    (files / "one.jsonl").write_text("".join(equal))
    _, lines, _ = run(capsys, "--metrics", "own_metric:exact", "one.jsonl", "right.jsonl")
    assert not any("draws of" in line for line in lines), "no interval is printed"
    _, lines, _ = run(capsys, "--metrics", "own_metric:exact", "said.jsonl", "right.jsonl", "--json")
    assert json.loads(lines[-1])["rows"] == 8


@pytest.mark.parametrize(
    ("wrong_answers", "text"),
    [
        (20, "[0.9]: Wilson's interval of scores of 0 and 1 (exact_match)"),
        (2, "[0.9]: exact interval of scores of 0 and 1, of which fewer than 5 differ"),
    ],
)
def test_scores_of_0_and_1_name_their_interval(wrong_answers, text, tmp_path, capsys):
    lines = [
        json.dumps({"text": "no" if i < wrong_answers else "yes", "references": ["yes"]}) for i in range(60)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert cli.main(["score", str(tmp_path / "a.jsonl"), "--metrics", "exact_match", "--level", "0.9"]) == 0
    shown = capsys.readouterr().out
    assert text in shown
    assert "draws" not in shown
