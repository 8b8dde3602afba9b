"""CoNLL columns, CoNLL-U, Reuters-21578, AAPD, questions: what is read, what is refused with file and line,
and real files.
"""

import gzip
import json
import zipfile

import pytest

from loquent import check, play
from loquent.adapters.gymnasium import Environment
from loquent.bench.annotation.sheets import form_of
from loquent.core.settings import Remark
from loquent.data.annotated.conll import conll
from loquent.errors import BadRow, BadSetting, UnknownName
from loquent.tasks.multilabel.task import MultiLabel
from loquent.tasks.multiple_choice.task import MultipleChoice
from loquent.tasks.tagging.task import Tagging

WORDS = "1\tThey\tthey\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"


def tagging(path, **options):
    return Tagging(Tagging.Options(source="path", path=str(path), **options))


def labelling(path, **options):
    return MultiLabel(MultiLabel.Options(source="path", path=str(path), **options))


def answering(path, **options):
    return MultipleChoice(MultipleChoice.Options(source="path", path=str(path), **options))


def folder(tmp_path, **files):
    """A folder with these files; a source is read once a process, so each has a folder of its own."""
    tmp_path.mkdir(exist_ok=True)
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return tmp_path


def every(task):
    return [row for split in task.spec.splits for row in _rows(task, split)]


def _rows(task, split):
    try:
        return task.rows(split)
    except LookupError:
        return ()


# CoNLL


def test_columns_by_tabs_and_by_spaces(tmp_path):
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP B-PER\n"
    folder(tmp_path, train__txt=text, testa__txt=text.replace("EU", "NATO"), testb__txt="a b\tO\n\n# \tO\n")
    world = tagging(tmp_path)
    assert world.labels == ("B-ORG", "B-PER", "O")
    assert world.scheme == "bio"
    assert [(row.id, row["tokens"], row["labels"]) for row in world.rows("train")] == [
        ("train-3", ("EU", "rejects"), ("B-ORG", "O")),
        ("train-6", ("Peter",), ("B-PER",)),
    ]
    assert world.rows("validation")[0]["tokens"] == ("NATO", "rejects")
    assert [row["tokens"] for row in world.rows("test")] == [("a b",), ("# ",)]
    assert tagging(tmp_path, prefixes="strip").labels == ("O", "ORG", "PER")


COMMENTED = """# newdoc
# sent_id = 1
# text = a b
a{0}X{0}O
b{0}Y{0}O

# {0}Z{0}O
c{0}Y{0}O

# comment with five cells
#tag{0}X{0}O
"""


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_comments_before_a_sentence_are_no_tokens(tmp_path, separator):
    world = tagging(folder(tmp_path, train__conll=COMMENTED.format(separator)))
    hash_sign = "#" if separator == " " else "# "
    assert [(row.id, row["tokens"]) for row in every(world)] == [
        ("train-4", ("a", "b")),
        ("train-7", (hash_sign, "c")),
        ("train-11", ("#tag",)),
    ]


def test_a_comment_with_as_many_cells_as_a_line_is_known_by_its_equals_sign(tmp_path):
    world = tagging(folder(tmp_path, train__conll="# id = 7\nEU NNP I-NP B-ORG\n"))
    assert [row["tokens"] for row in every(world)] == [("EU",)]
    assert world.labels == ("B-ORG",)
    (tmp_path / "b").mkdir()
    with pytest.raises(BadRow, match=r"train\.conll:2: this line has 4 columns"):
        tagging(folder(tmp_path / "b", train__conll="a O\n# not between sentences\nb O\n"))
    (tmp_path / "c").mkdir()
    assert [row["tokens"] for row in every(tagging(folder(tmp_path / "c", train__conll="# O\n")))] == [("#",)]


def test_other_columns(tmp_path):
    path = folder(tmp_path, train__conll="a\tX\tO\nb\tY\tO\n", dev__conll="c\tX\tO\n")
    world = tagging(path, label_field="1")
    assert world.labels == ("X", "Y")
    for field, words in (
        ("3", "has 3 columns; there is no column 3"),
        ("upos", "it must be the number of a column"),
    ):
        with pytest.raises(BadSetting, match=words):
            tagging(path, label_field=field)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\tO\nb\tX\tO\n", r"train\.conll:2: this line has 3 columns: .*; it must have 2"),
        ("a\tO\n\n\tO\n", r"train\.conll:3: the field 'tokens' holds ''"),
        ("a\tO\nb\t\n", r"train\.conll:2: the field 'labels' holds ''"),
        ("", "is empty"),
    ],
)
def test_bad_columns_are_named_with_their_line(tmp_path, text, words):
    with pytest.raises(BadRow, match=words):
        tagging(folder(tmp_path, train__conll=text))


def test_a_sentence_that_is_too_long_is_named(tmp_path):
    with pytest.raises(
        BadRow, match=r"train\.conll:3: the sentence has 3 tokens; it must have at most max_tokens = 2"
    ):
        tagging(folder(tmp_path, train__conll="a\tO\n\na\tO\nb\tO\nc\tO\n"), max_tokens=2)


def test_conllu_words_without_ranges_and_empty_nodes(tmp_path):
    lines = ["# sent_id = s1", "# text = They don't"]
    lines += [
        f"{number}\t{form}\t{form}\t{upos}\tT{number}\t_\t_\t_\t_\t_"
        for number, form, upos in (("1", "They", "PRON"), ("2-3", "don't", "_"))
    ]
    lines += [
        f"{number}\t{form}\t{form}\t{upos}\tT{number}\t_\t_\t_\t_\t_"
        for number, form, upos in (("2", "do", "AUX"), ("2.1", "x", "X"))
    ]
    lines += ["3\tn't\tnot\tPART\tT3\t_\t_\t_\t_\t_", "", "1\t10 000\t_\tNUM\tT1\t_\t_\t_\t_\t_"]
    path = folder(tmp_path, **{"en-ud-train__conllu": "\n".join(lines) + "\n"})
    world = tagging(path)
    rows = {row.id: (row["tokens"], row["labels"]) for row in every(world)}
    assert rows == {
        "s1": (("They", "do", "n't"), ("PRON", "AUX", "PART")),
        "train-9": (("10 000",), ("NUM",)),
    }
    assert tagging(path, label_field="xpos").labels == ("T1", "T2", "T3")
    assert tagging(path, label_field="XPOS").labels == ("T1", "T2", "T3"), "as the format writes it"
    with pytest.raises(BadSetting, match="did you mean 'upos'"):
        tagging(path, label_field="upo")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            WORDS + "3\tdo\tdo\tAUX\t_\t_\t_\t_\t_\t_\n",
            r"train\.conllu:2: the word 'do' has the id '3'; it must be 2",
        ),
        (WORDS.replace("\t", " "), r"train\.conllu:1: this line has 1 columns; in CoNLL-U it must have 10"),
        (
            f"# sent_id = a\n{WORDS}\n# sent_id = a\n{WORDS}",
            r"train\.conllu:5: the id 'a' occurs at .*train\.conllu:2 too",
        ),
    ],
)
def test_bad_conllu_is_named_with_its_line(tmp_path, text, words):
    with pytest.raises(BadRow, match=words):
        tagging(folder(tmp_path, train__conllu=text))


def test_json_lines_of_sentences(tmp_path):
    path = folder(
        tmp_path,
        train__jsonl='{"id": "x", "words": ["a", "b"], "tags": ["X", "Y"], "weight": 2}\n{"words": "a  b", '
        '"tags": "X Y"}\n',
    )
    world = tagging(path, token_field="words", label_field="tags")
    assert {row.id: row["tokens"] for row in every(world)} == {"x": ("a", "b"), "train-2": ("a", "b")}
    with pytest.raises(BadRow, match=r"train\.jsonl:1: the field 'tokens' is missing"):
        tagging(path)


# files and splits


def test_which_file_is_which_split(tmp_path):
    one = '{"tokens": ["%s"], "labels": ["O"]}\n'
    path = folder(
        tmp_path, train__jsonl=one % "a", test_hidden__jsonl=one % "b", test__jsonl=one % "c", README__md="no"
    )
    assert [row["tokens"] for row in tagging(path).rows("test")] == [("c",)]
    two = folder(tmp_path / "two", my_dev__jsonl=one % "d", your_dev__jsonl=one % "e")
    with pytest.raises(
        BadSetting, match=r"my_dev\.jsonl and your_dev\.jsonl could both hold the split 'validation'"
    ):
        tagging(two)
    (tmp_path / "none").mkdir()
    with pytest.raises(BadSetting, match="it must hold files named train"):
        tagging(tmp_path / "none")
    with pytest.raises(BadSetting, match="there is no such file"):
        tagging(tmp_path / "nowhere")


def test_one_file_is_divided_and_a_split_is_set_aside(tmp_path):
    text = "".join(f'{{"tokens": ["w{i}"], "labels": ["O"]}}\n' for i in range(200))
    single = tagging(folder(tmp_path, all__jsonl=text) / "all.jsonl")
    sizes = [len(single.rows(split)) for split in ("train", "validation", "test")]
    assert sum(sizes) == 200
    assert sizes[0] > 130
    assert min(sizes) > 5
    only = tagging(folder(tmp_path / "only", train__jsonl=text))
    assert (len(only.rows("train")), len(only.rows("validation"))) == (160, 40)
    assert not {row.id for row in only.rows("train")} & {row.id for row in only.rows("validation")}
    assert len(tagging(tmp_path / "all.jsonl", limit=10).rows("train")) == 10


@pytest.mark.parametrize("make", [tagging, labelling])
def test_a_limit_leaves_the_labels_as_they_are(tmp_path, make):
    lines = [{"tokens": ["w"], "text": "w", "labels": [f"L{i:03}"]} for i in range(200)] + [
        {"tokens": ["w"] * 3, "text": "w", "labels": ["A", "B", "C"]}
    ]
    path = folder(tmp_path, train__jsonl="".join(json.dumps(line) + "\n" for line in lines))
    every_one, few = make(path), make(path, limit=5)
    assert few.labels == every_one.labels
    assert len(few.labels) == 203
    assert few.actions.texts == every_one.actions.texts
    assert [len(few.rows(split)) for split in ("train", "validation")] == [5, 5]
    # the most labels of any row are no matter of the limit either
    assert few.spec.turn_limit == every_one.spec.turn_limit
    if make is labelling:
        assert {row["weight"] for row in few.rows("train")} == {1.0}


@pytest.mark.parametrize(
    ("make", "record", "options"),
    [
        (tagging, {"words": ["a", "b"], "tags": ["X", "Y"]}, {"token_field": "words", "label_field": "tags"}),
        (labelling, {"body": "a b", "topics": ["X", "Y"]}, {"text_field": "body", "label_field": "topics"}),
    ],
)
def test_names_of_the_source_are_for_reading_it(tmp_path, make, record, options):
    world = make(folder(tmp_path, train__jsonl=f"{json.dumps(record)}\n" * 5), **options)
    row = world.rows("train")[0]
    env = Environment(world, form="index", view="dict")
    seen, info = env.reset(options={"sample": row})
    # the source's own names are understood too
    assert repr(env.reset(options={"sample": record})[0]) == repr(seen)
    assert info["row"] == row.id
    assert env.add_sample({**row.fields, "id": "new"}).fields == row.fields
    # the row's names come first
    assert world.row_from({**row.fields, **{name: ["Q"] for name in record}}).fields == row.fields
    form = form_of(world)
    assert form.annotate(form.blank({**row.fields, "id": "x"}), ("X", "Y")).fields == row.fields


def test_unknown_labels_are_named_with_their_line_and_in_few_words(tmp_path):
    with pytest.raises(
        BadRow, match=r"train\.conllu:1: the label 'PRON' is unknown; did you mean 'PRO'\? known: DET, PRO$"
    ):
        tagging(folder(tmp_path, train__conllu=WORDS), labels=("PRO", "DET")).rows("train")
    path = folder(
        tmp_path / "texts",
        train__jsonl='{"text": "a", "labels": ["L1"]}\n{"text": "a", "labels": ["L1", "M"]}\n',
    )
    with pytest.raises(BadRow, match=r"train\.jsonl:2: the label 'M' is unknown") as caught:
        labelling(path, labels=tuple(f"L{i}" for i in range(20_000))).rows("train")
    assert "and 19,960 more" in str(caught.value)
    assert len(str(caught.value)) < 1000
    with pytest.raises(BadRow, match="row train-0: the label 'O' is unknown"):
        Tagging(Tagging.Options(labels=("B-LOC",))).rows("train")


def test_a_column_that_is_chosen_by_its_name_in_conllu(tmp_path):
    world = tagging(folder(tmp_path, train__conllu=WORDS), label_field="xpos")
    assert world.row_from(world.rows("train")[0].fields)["labels"] == ("PRP",)
    assert world.row_from({"tokens": ["They"], "labels": ["PRP"]})["tokens"] == ("They",)


# texts


SGML = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="1">
<TOPICS><D>grain</D><D>corn</D></TOPICS><TEXT><TITLE>A &lt;TITLE></TITLE><BODY>Some corn.
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="2" NEWID="2"><TOPICS></TOPICS>
<TEXT><BODY>No topic</BODY></TEXT></REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TEST" OLDID="3" NEWID="3"><TOPICS><D>oil</D></TOPICS>
<TEXT><BODY>Outside</BODY></TEXT></REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="NOT-USED" OLDID="4" NEWID="4"><TOPICS><D>oil</D></TOPICS>
<TEXT><BODY>Outside</BODY></TEXT></REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" OLDID="5" NEWID="5"><TOPICS><D>corn</D></TOPICS>
<TEXT TYPE="BRIEF">Only a line</TEXT></REUTERS>
"""


def test_reuters_in_its_own_files(tmp_path):
    (tmp_path / "reut2-000.sgm.gz").write_bytes(gzip.compress(SGML.encode("latin-1")))
    world = labelling(tmp_path)
    assert [(row.id, row["labels"], row["text"]) for row in every(world)] == [
        ("1", ("corn", "grain"), "A <TITLE>\nSome corn."),
        ("5", ("corn",), "Only a line"),
    ]
    (tmp_path / "reut2-000.sgm.gz").write_bytes(
        gzip.compress(SGML.replace(' NEWID="5"', "").encode("latin-1"))
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "reut2-001.sgm").write_text(SGML.replace(' NEWID="5"', ""))
    with pytest.raises(BadRow, match=r"reut2-001\.sgm:12: this document has no TOPICS"):
        labelling(tmp_path / "b")
    (tmp_path / "b" / "reut2-001.sgm").write_text("<html>")
    with pytest.raises(BadRow, match="not a file of Reuters-21578"):
        labelling(tmp_path / "b")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "Only a line</TEXT></REUTERS>\n",
            "Only a l",
            r"a\.sgm:12: this document has no </REUTERS>; the file is cut off",
        ),
        ("</BODY></TEXT>\n</REUTERS>", "</BODY></TEXT>\n", r"a\.sgm:2: this document has no </REUTERS>"),
        (
            '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="2"',
            '<REUTRS OLDID="2"',
            r"a\.sgm:7: this document has no <REUTERS",
        ),
        ("<TOPICS><D>corn</D>", "<TPICS><D>corn</D>", r"a\.sgm:12: this document has no <TOPICS>"),
    ],
)
def test_a_damaged_file_of_reuters_is_named_with_its_line(tmp_path, old, new, words):
    (tmp_path / "a.sgm").write_text(SGML.replace(old, new))
    with pytest.raises(BadRow, match=words):
        labelling(tmp_path)


def test_a_torn_archive_of_reuters_is_named(tmp_path):
    raw = bytearray(gzip.compress(SGML.encode()))
    raw[20:40] = b"\xff" * 20
    (tmp_path / "a.sgm.gz").write_bytes(raw)
    with pytest.raises(BadRow, match="this file cannot be read"):
        labelling(tmp_path)


def test_a_test_part_of_reuters_alone(tmp_path):
    (tmp_path / "reut2-021.sgm").write_text(SGML.replace('LEWISSPLIT="TRAIN"', 'LEWISSPLIT="TEST"'))
    world = labelling(tmp_path / "reut2-021.sgm")
    assert [row.id for row in world.rows("test")] == ["1", "5"]
    assert world.labels == ("corn", "grain")
    with pytest.raises(UnknownName, match=r"no split of multilabel is named 'train'.*Known: test"):
        world.rows("train")
    assert check(world, episodes=4) == []
    assert len(play(world, "expert", episodes=2, split="test")) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_a_part_of_reuters_that_nltks_list_names_may_be_missing_as_a_whole(tmp_path, packed):
    with zipfile.ZipFile(tmp_path / "reuters.zip", "w") as archive:
        archive.writestr("reuters/cats.txt", "training/1 grain corn\ntraining/3 oil\ntest/2 oil\n")
        archive.writestr("reuters/test/2", "OIL\n  fell")
        if not packed:
            archive.extractall(tmp_path)
    with pytest.warns(Remark, match="the folder training is missing, so its 2 documents are left out"):
        world = labelling(tmp_path / ("reuters.zip" if packed else "reuters"))
    assert [(row.id, row["labels"]) for row in every(world)] == [("2", ("oil",))]


def test_reuters_as_nltk_has_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "reuters.zip", "w") as archive:
        archive.writestr("reuters/cats.txt", "training/1 grain corn\ntest/2 oil\n")
        archive.writestr("reuters/training/1", "CORN\n  rose")
        archive.writestr("reuters/test/2", "OIL\n  fell")
    world = labelling(tmp_path / "reuters.zip")
    assert [(row.id, row["labels"], row["text"]) for row in every(world)] == [
        ("1", ("corn", "grain"), "CORN\n  rose"),
        ("2", ("oil",), "OIL\n  fell"),
    ]
    with zipfile.ZipFile(tmp_path / "torn.zip", "w") as archive:
        archive.writestr("cats.txt", "training/1 grain\n")
    with pytest.raises(BadRow, match=r"torn\.zip/cats\.txt:1: the document training/1 cannot be read"):
        labelling(tmp_path / "torn.zip")
    (tmp_path / "no.zip").write_text("x")
    with pytest.raises(BadRow, match="not a zip file"):
        labelling(tmp_path / "no.zip")


def test_a_blank_line_in_nltk_s_list_is_named(tmp_path):
    folder(tmp_path, cats__txt="training/1 grain\n\ntest/2 oil\n")
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "1").write_text("corn")
    with pytest.raises(BadRow, match=r"cats\.txt:2: this line is ''; it must have the form training/NUMBER"):
        labelling(tmp_path)


def test_texts_and_labels_line_by_line(tmp_path):
    path = folder(
        tmp_path,
        text_train="one text\ntwo texts\n",
        label_train="cs.IT math.IT\ncs.AI\n",
        text_test="three\n",
        label_test="cs.AI\n",
    )
    world = labelling(path)
    assert world.labels == ("cs.AI", "cs.IT", "math.IT")
    assert [(row["text"], row["labels"]) for row in world.rows("train")] == [
        ("one text", ("cs.IT", "math.IT")),
        ("two texts", ("cs.AI",)),
    ]
    with pytest.raises(BadRow, match=r"text_train:2: line 2 has no counterpart in label_train"):
        labelling(folder(tmp_path / "short", text_train="one text\ntwo texts\n", label_train="cs.IT\n"))


@pytest.mark.parametrize(
    ("gone", "left"), [("label_val.txt", "text_val.txt"), ("text_test.txt", "label_test.txt")]
)
def test_a_missing_half_of_a_split_is_named(tmp_path, gone, left):
    path = folder(
        tmp_path,
        **{f"{part}_{split}__txt": "x\n" for part in ("text", "label") for split in ("train", "val", "test")},
    )
    assert len(labelling(path).rows("validation")) == 1
    other = folder(
        tmp_path / "other", **{file.stem + "__txt": "x\n" for file in path.glob("*.txt") if file.name != gone}
    )
    with pytest.raises(
        BadSetting, match=f"the file {gone} is missing; the folder must hold it beside {left}"
    ):
        labelling(other)


def test_texts_in_csv_and_json_lines(tmp_path):
    path = folder(
        tmp_path, train__csv="body,tags\nsome text,a b\n", test__jsonl='{"body": "other", "tags": ["b"]}\n'
    )
    world = labelling(path, text_field="body", label_field="tags")
    assert [(row["text"], row["labels"]) for row in every(world)] == [
        ("some text", ("a", "b")),
        ("other", ("b",)),
    ]
    with pytest.raises(BadSetting, match="no reader for this kind of file"):
        labelling(folder(tmp_path, x__xml="<a/>") / "x.xml")


def test_questions_without_an_answer_are_named(tmp_path):
    path = folder(
        tmp_path,
        train__jsonl='{"question": "q", "choices": ["a", "b"], "answer": "A"}\n{"question": "q", "choices": '
        '["a"], "answer": "B"}\n',
    )
    with pytest.raises(BadRow, match=r"train\.jsonl:2: the answer is 'B'; it must be one of the choices A"):
        answering(path).rows("train")


# the hub's format, from a local folder


def test_classes_of_the_hub_are_read_by_their_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    names = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=["O", "B-PER"])),
        }
    )
    table = datasets.Dataset.from_dict(
        {"tokens": [["Ann", "ran"], ["he"]], "ner_tags": [[1, 0], [0]]}, features=names
    )
    (tmp_path / "data").mkdir()
    table.to_parquet(str(tmp_path / "data" / "train-0.parquet"))
    world = Tagging(Tagging.Options(source="hub", name=str(tmp_path), label_field="ner_tags"))
    assert world.labels == ("B-PER", "O")
    assert [(row["tokens"], row["labels"]) for row in every(world)] == [
        (("Ann", "ran"), ("B-PER", "O")),
        (("he",), ("O",)),
    ]


RECORDS = {
    tagging: {"tokens": ["w"], "labels": ["O"]},
    labelling: {"text": "w", "labels": ["a"]},
    answering: {"question": "q", "choices": ["a", "b"], "answer": "A"},
}


@pytest.mark.parametrize("make", RECORDS)
@pytest.mark.parametrize("hub", [False, True])
def test_splits_that_count_their_own_rows(tmp_path, make, hub):
    splits = ("train", "validation", "test")
    files = {split: [{"id": str(i), **RECORDS[make]} for i in range(3)] for split in splits}
    if hub:
        datasets = pytest.importorskip("datasets")
        (tmp_path / "data").mkdir()
        for split, records in files.items():
            datasets.Dataset.from_list(records).to_parquet(str(tmp_path / "data" / f"{split}-0.parquet"))
        task = {tagging: Tagging, labelling: MultiLabel, answering: MultipleChoice}[make]
        world = task(task.Options(source="hub", name=str(tmp_path)))
    else:
        lines = {
            f"{split}__jsonl": "".join(json.dumps(one) + "\n" for one in [*records, RECORDS[make]])
            for split, records in files.items()
        }
        world = make(folder(tmp_path, **lines))
    for split in splits:
        assert [row.id for row in world.rows(split)] == [
            f"{split}/0",
            f"{split}/1",
            f"{split}/2",
            *([] if hub else [f"{split}-4"]),
        ]
    assert world.row("test", "test/0") == world.rows("test")[0]


@pytest.mark.parametrize("hub", [False, True])
@pytest.mark.parametrize("answer", [{}, {"answerKey": ""}, {"answerKey": None}])
def test_a_split_whose_answers_are_not_told_is_set_aside(tmp_path, hub, answer):
    question = {"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}}
    files = {"train": [{**question, "answerKey": "B"}] * 6, "test": [{**question, **answer}] * 3}
    if hub:
        datasets = pytest.importorskip("datasets")
        (tmp_path / "data").mkdir()
        for split, records in files.items():
            datasets.Dataset.from_list([{"answerKey": None, **one} for one in records]).to_parquet(
                str(tmp_path / "data" / f"{split}-0.parquet")
            )
        world = MultipleChoice(MultipleChoice.Options(source="hub", name=str(tmp_path)))
    else:
        lines = {
            f"{split}__jsonl": "".join(json.dumps(one) + "\n" for one in records)
            for split, records in files.items()
        }
        world = answering(folder(tmp_path, **lines))
    with pytest.warns(
        Remark, match=r"the split 'test' is omitted: none of its 3 rows has an annotation \(.*test.*:1: "
    ):
        assert len(world.rows("train")) == 5
    with pytest.raises(UnknownName, match="Known: train, validation"):
        world.rows("test")


def test_a_question_without_its_answer_among_others_is_named(tmp_path):
    lines = [{"question": "q", "choices": ["a"], "answer": answer} for answer in ("A", "", "A")]
    path = folder(
        tmp_path,
        train__jsonl=json.dumps(lines[0]) + "\n",
        test__jsonl="".join(json.dumps(line) + "\n" for line in lines),
    )
    with pytest.raises(BadRow, match=r"test\.jsonl:2: the answer \('answer'\) is ''"):
        answering(path).rows("train")


def test_an_id_twice_in_one_split_is_named(tmp_path):
    line = json.dumps({"id": "x", **RECORDS[tagging]}) + "\n"
    with pytest.raises(BadRow, match=r"test\.jsonl:2: the id 'x' occurs at .*test\.jsonl:1 too"):
        tagging(folder(tmp_path, train__jsonl=line, test__jsonl=line * 2))
    tagging(folder(tmp_path / "one", train__jsonl=line, test__jsonl=line.replace('"x"', '"y"')))


def test_a_document_of_reuters_stands_in_one_split(tmp_path):
    (tmp_path / "a.sgm").write_text(SGML.replace('NEWID="5"', 'NEWID="1"'))
    with pytest.raises(BadRow, match=r"a\.sgm:12: the document 1 occurs at .*a\.sgm:2 too"):
        labelling(tmp_path)


@pytest.mark.parametrize(("numbers", "line"), [([[1, 0], [-1]], 2), ([[0, -1], [0]], 1)])
def test_a_class_that_the_hub_does_not_tell_is_no_label(tmp_path, numbers, line):
    datasets = pytest.importorskip("datasets")
    names = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "labels": datasets.List(datasets.ClassLabel(names=["O", "B-PER"])),
            "other": datasets.ClassLabel(names=["x"]),
        }
    )
    tokens = [["w"] * len(one) for one in numbers]
    table = datasets.Dataset.from_dict(
        {"tokens": tokens, "labels": numbers, "other": [-1] * len(numbers)}, features=names
    )
    (tmp_path / "data").mkdir()
    table.to_parquet(str(tmp_path / "data" / "train-0.parquet"))
    with pytest.raises(
        BadRow, match=rf"/train:{line}: the field 'labels' is \[.*None.*\], so labels are missing"
    ):
        Tagging(Tagging.Options(source="hub", name=str(tmp_path)))


# real data


@pytest.mark.data
def test_real_sentences(beside):
    wnut = tagging(beside / "data/wnut17")
    assert [len(wnut.rows(split)) for split in wnut.spec.splits] == [1500, 500, 600]
    assert (len(wnut.labels), wnut.scheme) == (13, "bio")
    assert (
        tagging(beside / "data/wnut17/conll2003_style").rows("test")[0]["tokens"]
        == wnut.rows("test")[0]["tokens"]
    )
    ewt = tagging(beside / "data/ud_english_ewt")
    assert [len(ewt.rows(split)) for split in ewt.spec.splits] == [2024, 501, 507]
    assert (
        " ".join(ewt.labels)
        == "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
    )
    assert ewt.rows("validation")[0].id == "reviews-105237-0001"


@pytest.mark.data
def test_real_texts(beside):
    reuters = labelling(beside / "data/nltk_data/corpora/reuters.zip")
    assert len(reuters.labels) == 90
    assert [len(reuters.rows(split)) for split in reuters.spec.splits] == [2400, 600, 1000]
    ids = [{row.id for row in reuters.rows(split)} for split in reuters.spec.splits]
    assert not ids[0] & ids[1]
    assert not (ids[0] | ids[1]) & ids[2]
    assert all(row["labels"] == tuple(sorted(row["labels"])) for row in every(reuters))
    own = {row.id: row for row in every(labelling(beside / "data/reuters21578"))}
    both = [row for row in every(reuters) if row.id in own]
    assert len(both) > 50
    # the two forms agree on every document in both
    assert all(own[row.id]["labels"] == row["labels"] for row in both)
    aapd = labelling(beside / "data/aapd")
    assert len(aapd.labels) == 54
    assert [len(aapd.rows(split)) for split in aapd.spec.splits] == [700, 300, 400]
    assert aapd.max_steps == 8


@pytest.mark.data
def test_real_questions(beside):
    qasc = answering(beside / "data/qasc")
    assert [len(qasc.rows(split)) for split in qasc.spec.splits] == [600, 160, 166]
    assert all(len(row["choices"]) == 8 and len(row["facts"]) == 2 for row in qasc.rows("train"))
    arc = answering(beside / "data/arc_challenge")
    assert [len(arc.rows(split)) for split in arc.spec.splits] == [700, 294, 450]
    with pytest.raises(
        BadRow, match=r"test_unlabelled_official\.jsonl\.gz:1: the field 'answerKey' is missing"
    ):
        answering(beside / "data/qasc/test_unlabelled_official.jsonl.gz").rows("train")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("# train\nEU B-ORG\nrejects O\n\nPeter B-PER\n", [["EU", "rejects"], ["Peter"]]),
        ("#id 1\nEU B-ORG\nrejects O\n", [["EU", "rejects"]]),
        ("EU\tB-ORG\n\nPeter\tB-PER\n\n# end\n", [["EU"], ["Peter"]]),
        ("#tag O\nEU B-ORG\nrejects O\n", [["#tag", "EU", "rejects"]]),
        ("# O\nEU O\n", [["#", "EU"]]),
    ],
)
def test_a_line_whose_end_is_no_label_is_a_comment(tmp_path, text, sentences):
    file = tmp_path / "rows.txt"
    file.write_text(text)
    assert [record["tokens"] for _, record in conll(file)] == sentences


# -- bad labels name the file and the line where they stand


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\tO\nb\tO\n\nc\tO\nd\tB-plce\n", 5, "the label 'B-plce' is unknown; did you mean 'B-place'"),
        ("a\tO\nb\t O\n", 2, "the label ' O' has spaces around it"),
    ],
)
def test_a_bad_label_of_a_sentence_names_its_own_line(tmp_path, text, line, words):
    (tmp_path / "emerging.dev.conll").write_text(text)
    allowed = ("O", "B-place") if "unknown" in words else ()
    with pytest.raises(BadRow, match=rf"emerging\.dev\.conll:{line}\b.*{words}"):
        tagging(tmp_path, labels=allowed).rows("validation")


def test_a_bad_label_of_aapd_names_the_file_of_labels(tmp_path):
    place = folder(tmp_path, text_train="one text\ntwo texts\n", label_train="cs.IT\ncs.IT cs.XX\n")
    with pytest.raises(BadRow, match=r"label_train:2\b.*the label 'cs.XX' is unknown"):
        labelling(place, labels=("cs.IT", "math.IT"))
    (tmp_path / "label_train").write_text("cs.IT\ncs.IT cs.IT\n")
    with pytest.raises(BadRow, match=r"label_train:2\b.*the label 'cs.IT' occurs twice"):
        labelling(place)
    (tmp_path / "label_train").write_text("cs.IT\ncs.IT\n")
    (tmp_path / "text_train").write_text("one text\n \n")
    with pytest.raises(BadRow, match=r"text_train:2\b.*no text"):
        labelling(place)
