"""Files of preferences as recorded episodes: the forms of TRL's data sets, refused records, judgements."""

import json
import re
import warnings

import pytest

from helpers.bench.study_runs import run
from helpers.models.everyday import assistant, user
from loquent.bench.study import sheets
from loquent.core.settings import Remark
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.task import Generation
from loquent.training.recipes.sections import TrainingSettings
from loquent.training.recorded.preferences import REWARD, Preferences, kind_of

HOSTILE = 'a "quoted" \\n line\nand <|im_end|> </s>\t\u2028 \u202e é 🎬 {braces} \x00 ,;\r\n end'
SYSTEM = {"role": "system", "content": "Be brief."}


def written(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def task_of(**options):
    return Generation(Generation.Options(**options))


def read(path, task=None, **settings):
    """The answers of a path and what is left out."""
    reader = Preferences(task or task_of(dataset="constant"), TrainingSettings(data=(str(path),), **settings))
    judged = kind_of(str(path)) == "judgements"
    chunks = reader.read_judgements([str(path)]) if judged else reader.read(str(path))
    return [answers for chunk in chunks for answers in chunk], dict(reader.left_out)


def shown(episodes):
    """The instruction and the prompt that the agent reads, and its answers with their preference."""
    texts = [[turn.text for turn in one.turns[:-1]] for one in episodes]
    assert len({one.row for one in episodes}) == len({(one.instruction, text[0]) for one, text in zip(
        episodes, texts, strict=True)}) == 1  # fmt: skip
    return (
        episodes[0].instruction,
        texts[0][0],
        *((text[-1], one.rewards[REWARD]) for one, text in zip(episodes, texts, strict=True)),
    )


PAIR = ((" good", 1.0), (" bad", 0.0))
FORMS = [
    ({"prompt": "q", "chosen": " good", "rejected": " bad"}, ("", "q", *PAIR)),
    ({"chosen": "q is good", "rejected": "q is bad"}, ("", "q is", *PAIR)),
    ({"prompt": [SYSTEM, user("q")], "chosen": [assistant(" good")], "rejected": [assistant(" bad")]},
     ("Be brief.", "q", *PAIR)),
    ({"chosen": [user("q"), assistant(" good")], "rejected": [user("q"), assistant(" bad")]},
     ("", "q", *PAIR)),
    # the prompt is a text beside lists that begin with it, as in ultrafeedback_binarized
    ({"prompt": "q", "chosen": [user("q"), assistant(" good")], "rejected": [user("q"), assistant(" bad")],
      "messages": [user("q"), assistant(" good")], "score_chosen": 8.5}, ("", "q", *PAIR)),
    ({"prompt": [user("q"), assistant("a"), user("r")], "chosen": [assistant(" good")],
      "rejected": [assistant(" bad")]}, ("", "user: q\nassistant: a\nuser: r", *PAIR)),
    ({"prompt": "q", "completion": " good", "label": True}, ("", "q", (" good", 1.0))),
    ({"prompt": [user("q")], "completion": [assistant(" bad")], "label": False}, ("", "q", (" bad", 0.0))),
]  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), FORMS)
def test_each_form_gives_answers_to_one_row(record, expected, tmp_path):
    ((answers,), left_out) = read(written(tmp_path / "pairs.jsonl", [record]))
    assert (shown(answers), left_out) == (expected, {})
    assert {(one.row, one.split, one.ended) for one in answers} == {("pairs-1", "train", "end")}


@pytest.mark.parametrize("record", [record for record, _ in FORMS if "completion" not in record])
def test_prompts_are_those_of_trl(record, tmp_path):
    trl = pytest.importorskip("trl.data_utils")
    theirs = trl.maybe_extract_prompt(record)
    ((answers,), _) = read(written(tmp_path / "pairs.jsonl", [record]))
    given = [theirs[name] for name in ("chosen", "rejected")]
    texts = [one if isinstance(one, str) else one[-1]["content"] for one in given]
    if isinstance(record.get("chosen"), str) and "prompt" not in record:  # theirs may end within a word
        assert [theirs["prompt"] + text for text in texts] == [record["chosen"], record["rejected"]]
        return
    assert [one.answers()[-1].text for one in answers] == texts
    if isinstance(theirs["prompt"], list):
        messages = [one for one in theirs["prompt"] if one["role"] != "system"]
        lines = [f"{one['role']}: {one['content']}" for one in messages]
        assert answers[0].turns[0].text == ("\n".join(lines) if len(lines) > 1 else messages[0]["content"])


@pytest.mark.parametrize("maker", ["jsonl", "jsonl.gz", "csv", "parquet", "folder", "pandas"])
def test_files_of_other_tools_give_the_same_answers(maker, tmp_path):
    datasets, pandas = pytest.importorskip("datasets"), pytest.importorskip("pandas")
    texts = HOSTILE.replace("\x00", "").replace("\r", "")  # a reader of CSV reads \n in its place
    records = [
        {"prompt": f"{texts} {i}", "chosen": f"good {texts}", "rejected": f"{texts}\\"} for i in range(3)
    ]
    table, path = datasets.Dataset.from_list(records), tmp_path / f"pairs.{maker}"
    write = {
        "jsonl": table.to_json,
        "jsonl.gz": lambda path: table.to_json(path, compression="gzip"),
        "csv": lambda path: pandas.DataFrame(records).to_csv(path, index=False),
        "parquet": table.to_parquet,
        "folder": lambda path: table.save_to_disk(path),
        "pandas": lambda path: pandas.DataFrame(records).to_json(path, orient="records", lines=True),
    }[maker]
    path = tmp_path / "pairs.json" if maker == "pandas" else path
    write(path)
    answers, _ = read(path)
    assert [shown(pair) for pair in answers] == [
        ("", one["prompt"], (one["chosen"], 1.0), (one["rejected"], 0.0)) for one in records
    ]


def test_hostile_texts_stay_to_the_letter(tmp_path):
    record = {"prompt": HOSTILE, "chosen": HOSTILE + "\ud800", "rejected": HOSTILE}
    ((answers,), _) = read(written(tmp_path / "pairs.jsonl", [record]))
    assert shown(answers) == ("", HOSTILE, (HOSTILE + "\ud800", 1.0), (HOSTILE, 0.0))


GOOD = {"prompt": "q", "chosen": "good", "rejected": "bad"}
LONG = [assistant("one"), user("r"), assistant("two")]
REFUSED = [
    ({"question": "q", "response_j": "a", "response_k": "b"},
     r"has no 'prompt', 'chosen', 'rejected'; .*columns: "
     r"\{question: prompt, response_j: chosen, response_k: rejected\}"),
    ({"prompt": "q", "chosen": "a"}, "has no 'rejected'; .*Fields here: prompt, chosen$"),
    ({"prompt": "q", "chosen": "a", "rejected": None}, "has no 'rejected'"),
    ({"chosen": "a", "rejected": "b"}, "have no common beginning, which would be the prompt"),
    (GOOD | {"chosen": 3}, "'chosen' is an int"),
    (GOOD | {"rejected": " "}, "'rejected' is empty"),
    (GOOD | {"chosen": [user("x")]}, "chosen"),
    ({"prompt": [user("q")], "chosen": LONG, "rejected": [assistant("two"), *LONG[1:2], assistant("x")]},
     "differ before their last message"),
    ({"prompt": "q", "completion": "a", "label": 1}, "'label' is 1; it must be true or false"),
    ({"prompt": "q", "completion": "a", "label": "yes"}, "'label' is 'yes'; it must be true or false"),
    ({"prompt": "q", "completion": "a"}, "has no 'label'"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "why"), REFUSED)
def test_a_malformed_record_names_its_file_and_line(record, why, tmp_path):
    path = written(tmp_path / "pairs.jsonl", [GOOD, record])
    with pytest.raises(BadRow, match=f"pairs.jsonl:2: .*{why}"):
        read(path)


def test_labels_of_tables_are_texts_and_columns_have_other_names(tmp_path):
    path = tmp_path / "kto.csv"
    path.write_text("ask,completion,label\nq,a,True\nq,b,false\n")
    answers, _ = read(path, task_of(columns=Record(ask="prompt")))
    assert [shown(one)[1:] for one in answers] == [("q", ("a", 1.0)), ("q", ("b", 0.0))]
    with pytest.raises(BadSetting, match=r"task.user = .*leave out task.user"):
        read(path, task_of(turns=2, user="random", columns=Record(ask="prompt")))


def test_equal_answers_are_left_out_and_counted(tmp_path):
    path = written(tmp_path / "pairs.jsonl", [GOOD, GOOD | {"rejected": "good"}, GOOD | {"chosen": "good!"}])
    answers, left_out = read(path, task_of(stop=("!",)))
    assert [one.row for pair in answers for one in pair] == ["pairs-1"] * 2 + ["pairs-3"] * 2
    assert left_out == {"equal answers": 1}
    reader = Preferences(task_of(), TrainingSettings(data=("x",)))
    assert reader.remark() == ""
    reader.left_out["equal answers"] = 2
    assert reader.remark() == "training.data: pairs that are left out: 2 (equal answers)"


def test_pairs_of_the_task_s_own_file_are_those_of_the_split(tmp_path):
    records = [GOOD | {"prompt": f"q{i}", "kind": "ab"[i % 2]} for i in range(30)]
    path = written(tmp_path / "pairs.jsonl", records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        task = task_of(source="path", path=str(path))
        rows = {split: [row.id for row in task.rows(split)] for split in ("train", "validation", "test")}
        for split, ids in rows.items():
            answers, left_out = read(path, task, split=split)
            assert [pair[0].row for pair in answers] == ids
            assert left_out == {"rows of other splits": 30 - len(ids)}
        assert len(read(path)[0]) == 30  # of another file every record counts
        assert {pair[0].row for pair in read(path, only={"kind": "a"})[0]} == {
            f"pairs-{i}" for i in range(1, 31, 2)
        }
    folder = tmp_path / "folder"
    folder.mkdir()
    written(folder / "train.jsonl", records[:9])
    written(folder / "test.jsonl", records[9:])
    assert len(read(folder)[0]) == 9
    assert len(read(folder, split="test")[0]) == 21
    with pytest.raises(BadSetting, match=r"has the splits .* and training.split is 'validation'"):
        read(folder, split="validation")


def test_every_answer_of_a_conversation_is_one_of_the_agent(tmp_path):
    chosen, rejected = (
        [user("q"), assistant("one"), user(f"{text}?"), assistant(text)] for text in ("two", "three")
    )
    path = written(tmp_path / "pairs.jsonl", [{"chosen": chosen, "rejected": rejected}])
    with pytest.raises(BadRow, match=r"pairs.jsonl:1: .* differ before their last message"):
        read(path, task_of())
    ((good, bad),) = read(path, task_of(turns=2))[0]
    assert [[turn.text for turn in one.turns] for one in (good, bad)] == [
        ["q", "one", f"{text}?", text, ""] for text in ("two", "three")
    ]
    assert [[turn.rewards.get(REWARD) for turn in one.answers()] for one in (good, bad)] == [
        [None, 1.0],
        [None, 0.0],
    ]
    longer = [*chosen[:-1], assistant("two"), user("more"), assistant("four")]
    path = written(tmp_path / "long.jsonl", [{"chosen": longer, "rejected": [*longer[:-1], assistant("x")]}])
    with pytest.raises(
        BadRow, match=r"the conversation ends after task.turns = 2 answers, before the judged"
    ):
        read(path, task_of(turns=2))


def test_other_tasks_have_no_files_of_pairs(tmp_path):
    from loquent.tasks.wordle.task import Wordle

    with pytest.raises(BadSetting, match=r"wordle-v1 does not read files of preferences.*design.answers=4"):
        read(written(tmp_path / "pairs.jsonl", [GOOD]), Wordle())


VOTE = {"item": "r", "first": "a", "second": "b", "prompt": "q", "first_text": "good", "second_text": "bad"}


def test_judgements_are_read_as_reward_models_read_them(tmp_path):
    votes = [
        VOTE | {"rater": str(i), "preferred": p} for i, p in enumerate(("second", "first", "second", "tie"))
    ]
    votes += [VOTE | {"item": "s", "first_text": "even", "preferred": "tie"}]
    answers, left_out = read(written(tmp_path / "votes.jsonl", votes))
    assert [shown(pair) for pair in answers] == [("", "q", ("bad", 1.0), ("good", 0.0))]
    assert left_out == {"no majority, or equal texts": 1}
    asked = [VOTE | {"preferred": p, "question": q} for p, q in (("first", "kind"), ("second", "right"))]
    path = written(tmp_path / "asked.jsonl", asked)
    assert shown(read(path, data_question="right")[0][0])[2] == ("bad", 1.0)
    with pytest.raises(BadSetting, match="several questions"):
        read(path)
    no_texts = {name: value for name, value in VOTE.items() if "text" not in name} | {"preferred": "first"}
    with pytest.raises(BadRow, match=r"votes.jsonl:1: this preference has no texts"):
        read(written(tmp_path / "votes.jsonl", [no_texts]))


def test_the_sheets_of_a_study_give_the_messages_of_their_rows(tmp_path):
    rows = [
        {"messages": [SYSTEM, user("x"), assistant("y"), user(f"q{i}"), assistant("a")]} for i in range(2)
    ]
    for split in ("train", "test"):
        (tmp_path / "rows").mkdir(exist_ok=True)
        written(tmp_path / "rows" / f"{split}.jsonl", rows)
    task = task_of(source="path", path=str(tmp_path / "rows"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        prompts = [row["prompt"] for row in task.rows("test")]
        runs = [run(tmp_path / name, f"of {name}", prompts) for name in ("a", "b")]
        study = sheets.prepare(
            runs, tmp_path / "study", sheets.Plan(pairs=True, raters=1, questions=("best",))
        )
        sheet = study / "sheets" / "sheet-1.csv"
        lines = sheet.read_text(encoding="utf-8-sig").splitlines()
        sheet.write_text("\n".join([lines[0], *(re.sub(r",$", ",A", line) for line in lines[1:])]) + "\n")
        answers, _ = read(study, task)
    assert len(answers) == 2
    for pair in answers:
        assert shown(pair)[0] == "Be brief."
        shared = task.first(task.rows("test")[0], None).observation.messages[:-1]
        last = ("user", pair[0].turns[0].text.rpartition(" ")[2])
        assert pair[0].turns[0].messages == (*shared, last)
        assert {one.answers()[0].text for one in pair} == {"of a", "of b"}
