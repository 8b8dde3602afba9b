"""Datasets in their published formats: prompts and linearisations word for word, the hub, and bad files."""

import gzip
import json
import warnings

import pytest

from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora import tables
from loquent.tasks.generation.corpora.table import DATASETS, NAMES
from loquent.tasks.generation.rows import IMDB_TEST, Options
from loquent.tasks.generation.task import Generation

BUILTIN = [name for name, dataset in DATASETS.items() if dataset.builtin]


def rows(split="train", **options):
    return Generation(Options(**options)).rows(split)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def cell(value, header=False, span=1):
    return {"value": value, "is_header": header, "column_span": span, "row_span": 1}


TABLE = [
    [cell("Name", True), cell("Height", True, span=2)],
    [cell("", True), cell("m", True), cell("ft", True)],
    [cell("World Trade Center", True), cell("121"), cell("397")],
]
TOTTO = {
    "table": TABLE,
    "table_page_title": "Long Beach",
    "table_section_title": "Towers",
    "table_section_text": "",
    "highlighted_cells": [[2, 0], [2, 2]],
    "example_id": -5,
    "overlap_subset": True,
    "sentence_annotations": [{"final_sentence": "It is 397 ft."}, {"final_sentence": "397 feet high."}],
}
CELLS = (
    "<table> <cell> World Trade Center <col_header> Name </col_header> <col_header>  </col_header> </cell> "
    "<cell> 397 <col_header> Height </col_header> <col_header> ft </col_header> "
    "<row_header> World Trade Center </row_header> </cell> </table>"
)
TITLES = "<page_title> Long Beach </page_title> <section_title> Towers </section_title> "
FULL = (
    "<table> <row> <cell> Name </cell> <cell> Height <row_header> Name </row_header> </cell> </row> "
    "<row> <cell>  <col_header> Name </col_header> </cell> "
    "<cell> m <col_header> Height </col_header> <row_header>  </row_header> </cell> "
    "<cell> ft <col_header> Height </col_header> <row_header>  </row_header> <row_header> m </row_header> "
    "</cell> </row> "
    "<row> <highlighted_cell> World Trade Center <col_header> Name </col_header> <col_header>  </col_header> "
    "</highlighted_cell> "
    "<cell> 121 <col_header> Height </col_header> <col_header> m </col_header> "
    "<row_header> World Trade Center </row_header> </cell> "
    "<highlighted_cell> 397 <col_header> Height </col_header> <col_header> ft </col_header> "
    "<row_header> World Trade Center </row_header> </highlighted_cell> </row> </table>"
)


@pytest.mark.parametrize(("representation", "form"), [("subtable", CELLS), ("fulltable", FULL)])
def test_a_table_is_linearised_twice_word_for_word(tmp_path, representation, form):
    path = write(tmp_path, {"totto_train_data.jsonl": jsonl(*[TOTTO] * 5)})
    row = rows(dataset="totto", source="path", path=path, representation=representation)[0]
    assert row["prompt"] == form + TITLES + form
    assert row["references"] == ("It is 397 ft.", "397 feet high.")
    assert row["table"][2] == ("World Trade Center", "121", "397")
    assert (row["highlighted_cells"], row["overlap_subset"]) == (((2, 0), (2, 2)), True)


def test_a_wide_header_belongs_to_each_column_it_covers():
    grid = tables.cells(TABLE)
    assert [(one.begin, one.end) for one in grid[0]] == [(0, 1), (1, 3)]
    narrow = tables.cells([[cell("Name", True), cell("Height", True)], *TABLE[1:]])
    text = tables.linearise(narrow, [(2, 2)], ["", ""], "subtable")
    assert "Height" not in text  # it can fail: without the span the header covers one column
    assert "Height" in tables.linearise(grid, [(2, 2)], ["", ""], "subtable")


def test_secret_annotations_leave_a_row_without_references(tmp_path):
    secret = {name: value for name, value in TOTTO.items() if name != "sentence_annotations"}
    path = write(tmp_path, {"train.jsonl": jsonl(*[TOTTO] * 5), "unlabeled_test.jsonl": jsonl(secret)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)  # the same table stands in both splits
        row = rows("test", dataset="totto", source="path", path=path)[0]
    assert row["references"] == ()
    assert row["text"] == row["prompt"]
    task = Generation()
    step = task.start(row, Key(0))
    assert task.expert(step.state) is None
    assert task.act(step, "a guess").ended == "end"


SET = {"concept_set": "dog#ball#run", "scene": ["A dog runs to a ball.", "The dog runs with its ball. "]}


def test_concepts_become_a_prompt_and_each_sentence_a_row(tmp_path):
    other = {"concept_set": "cat#pet", "scene": ["I pet a cat.", "The cat is a pet."], "reason": ["n/a"]}
    path = write(tmp_path, {"commongen.train.jsonl": jsonl(SET), "commongen.dev.jsonl": jsonl(other)})
    train, dev = (
        rows(split, dataset="commongen", source="path", path=path) for split in ("train", "validation")
    )
    assert [row["prompt"] for row in train] == ["generate a sentence with: dog ball run."] * 2
    assert [row["references"] for row in train] == [
        ("A dog runs to a ball.",),
        ("The dog runs with its ball.",),
    ]
    assert dev[0]["references"] == ("I pet a cat.", "The cat is a pet.")
    assert dev[0]["concepts"] == ("cat", "pet")
    summarize = rows(dataset="commongen", source="path", path=path, prompt="summarize: {concepts} ")
    assert summarize[0]["prompt"] == "summarize: dog ball run "


def test_the_prompts_of_rl4lms_word_for_word(tmp_path):
    """The strings of the specification's check E6."""
    path = write(tmp_path / "sets", {"train.jsonl": jsonl({"concept_set": "a#b#c", "scene": ["A b c."]})})
    (row,) = rows(dataset="commongen", source="path", path=path)
    assert row["prompt"] == "generate a sentence with: a b c."
    path = write(tmp_path / "dialogues", {"dialogues_train.txt": "u1 __eou__ u2 __eou__ u3 __eou__\n"})
    (row,) = rows(dataset="daily_dialog", source="path", path=path, context=2)
    assert (row["prompt"], row["references"]) == ("u1 <EOU> u2  <EOU>", (" u3 <EOU>",))


def test_articles_and_abstracts(tmp_path):
    news = {"article": "One two three four five six.", "highlights": "Count to six .\nThen stop .", "id": "7"}
    path = write(tmp_path / "news", {"train.jsonl": jsonl(*[news] * 5)})
    row = rows(dataset="cnn_daily_mail", source="path", path=path)[0]
    assert row["prompt"] == "Summarize: One two three four five six."
    assert row["references"] == ("Count to six .\nThen stop .",)
    short = rows(dataset="cnn_daily_mail", source="path", path=path, source_words=3)[0]
    assert short["prompt"] == "Summarize: One two three"
    paper = {"source": ["We count.", "It works."], "target": ["Counting works.", "We count well."]}
    path = write(tmp_path / "papers", {"train.jsonl": jsonl(*[paper] * 5)})
    row = rows(dataset="scitldr", source="path", path=path)[0]
    assert (row["prompt"], row["references"]) == ("Summarize: We count. It works.", tuple(paper["target"]))


def test_translations_as_json_lines_and_as_parallel_files(tmp_path):
    pair = {"translation": {"en": "Good day.", "de": "Guten Tag."}}
    path = write(tmp_path / "lines", {"train.jsonl": jsonl(*[pair] * 5)})
    row = rows(dataset="wmt16", source="path", path=path)[0]
    assert (row["prompt"], row["references"]) == ("translate English to German: Good day.", ("Guten Tag.",))
    path = write(
        tmp_path / "files",
        {
            "europarl-v7.de-en.en": "Yes.\n\nNo.\n",
            "europarl-v7.de-en.de": "Ja.\nUnd\nNein.\n",
            "newstest2015-ende-src.en.sgm": '<doc>\n<seg id="1">Here &amp; now.</seg>\n</doc>\n',
            "newstest2015-ende-ref.de.sgm": '<doc>\n<seg id="1">Hier &amp; jetzt.</seg>\n</doc>\n',
        },
    )
    with pytest.warns(Remark, match="1 pairs have a blank side"):
        train = rows(dataset="wmt16", source="path", path=path)
    assert [row["references"][0] for row in train] == ["Ja.", "Nein."]
    assert rows("validation", dataset="wmt16", source="path", path=path)[0]["references"] == (
        "Hier & jetzt.",
    )


TALK = {
    "train.tags.en-de.en": "<url>http://x</url>\n<title>T</title>\nThank you.\n It works.\n",
    "train.tags.en-de.de": "<url>http://x</url>\n<title>T</title>\nDanke.\n Es geht.\n",
    "IWSLT17.TED.dev2010.en-de.en.xml": '<doc>\n<seg id="1"> A dev line. </seg>\n</doc>\n',
    "IWSLT17.TED.dev2010.en-de.de.xml": '<doc>\n<seg id="1"> Eine Zeile. </seg>\n</doc>\n',
    "IWSLT17.TED.tst2010.en-de.en.xml": '<seg id="1"> One. </seg>\n<seg id="2"> Two. </seg>\n',
    "IWSLT17.TED.tst2010.en-de.de.xml": '<seg id="1"> Eins. </seg>\n<seg id="2"> Zwei. </seg>\n',
    "IWSLT17.TED.tst2011.en-de.en.xml": '<seg id="1"> Three. </seg>\n',
    "IWSLT17.TED.tst2011.en-de.de.xml": '<seg id="1"> Drei. </seg>\n',
}


def test_the_talks_of_iwslt(tmp_path):
    options = {"dataset": "iwslt2017", "source": "path", "path": write(tmp_path, TALK)}
    assert [row["prompt"] for row in rows(**options)] == [
        "translate English to German: Thank you.",
        "translate English to German: It works.",
    ]
    assert [row["references"] for row in rows("validation", **options)] == [("Eine Zeile.",)]
    assert [row["references"][0] for row in rows("test", **options)] == ["Eins.", "Zwei.", "Drei."]


QAPS = (
    "document_id,set,question,answer1,answer2\n"
    "d1,train,Who is the Mole?,Sullivan. ,It is Colin Sullivan\n"
    "d2,test,Where?,Boston,In Boston\n"
)
SUMMARIES = 'document_id,set,summary\nd1,train,"Sullivan is a mole, it says."\nd2,test,Set in Boston.\n'


def test_questions_on_summaries(tmp_path):
    path = write(tmp_path / "csv", {"qaps.csv": QAPS, "third_party/wikipedia/summaries.csv": SUMMARIES})
    (row,) = rows(dataset="narrative_qa", source="path", path=path)
    assert row["prompt"] == r"who is the mole? \n sullivan is a mole, it says."
    assert row["references"] == ("sullivan.", "it is colin sullivan")
    lines = "Who? \\n (Title) A tale.\tAnn\nWho? \\n (Title) A tale.\tIt is Ann\nWhy? \\n B.\tno\n"
    path = write(tmp_path / "tsv", {"train.tsv": lines, "dev.tsv": "Why? \\n C.\tyes\n"})
    first, second = rows(dataset="narrative_qa", source="path", path=path)
    assert first["prompt"] == r"who? \n (title) a tale."
    assert (first["references"], second["references"]) == (("ann", "it is ann"), ("no",))


DIALOGUE = "Hi . __eou__ Hello . __eou__ How are you ? __eou__ Fine . __eou__\n"


def test_dialogues(tmp_path):
    path = write(
        tmp_path,
        {
            "train/dialogues_train.txt": DIALOGUE,
            "train/dialogues_act_train.txt": "1 1 2 1\n",
            "train/dialogues_emotion_train.txt": "0 0 0 4\n",
            "validation/dialogues_validation.txt": DIALOGUE.replace("Hi", "Hey"),
        },
    )
    first, last = rows(dataset="daily_dialog", source="path", path=path, context=2)
    assert first["prompt"] == "Hi . <EOU> Hello .  <EOU>"
    assert first["references"] == (" How are you ? <EOU>",)
    assert (first["intent"], first["emotion"]) == ((2,), (0,))
    assert last["prompt"] == " Hello . <EOU> How are you ?  <EOU>"
    assert (last.id, last["intent"], last["emotion"]) == ("train-1/1", (1,), (4,))
    with pytest.raises(BadSetting, match="has no row"):  # no dialogue has more than five utterances
        rows(dataset="daily_dialog", source="path", path=path)


HUB = {
    "commongen": ({"concepts": ["dog", "run"], "target": "A dog runs.", "references": []}, "A dog runs."),
    "cnn_daily_mail": ({"article": "News.", "highlights": "None.", "id": "1"}, "None."),
    "scitldr": ({"source": ["We."], "target": ["Us."], "paper_id": "p"}, "Us."),
    "totto": (TOTTO | {"overlap_subset": "True"}, "It is 397 ft."),
    "wmt16": ({"translation": {"de": "Ja.", "en": "Yes."}}, "Ja."),
    "iwslt2017": ({"translation": {"de": "Ja.", "en": "Yes."}}, "Ja."),
    "narrative_qa": (
        {
            "document": {"id": "d", "summary": {"text": "A tale.", "title": "T"}},
            "question": {"text": "Who?"},
            "answers": [{"text": "Ann"}, {"text": "Bo"}],
        },
        "ann",
    ),
    "daily_dialog": ({"dialog": list("abcdef"), "act": [1] * 6, "emotion": [0] * 6}, "f<EOU>"),
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_dataset_in_the_hubs_format(dataset, tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    record, reference = HUB[dataset]
    folder = tmp_path / "hub"
    folder.mkdir()
    for split in ("train", "test"):
        parquet.write_table(arrow.Table.from_pylist([record] * 5), folder / f"{split}-00000-of-00001.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)  # all rows are equal
        (row,) = rows("test", dataset=dataset, source="hub", name=str(folder), limit=1)
    assert row["references"][0] == reference


def test_the_hub_is_pinned_or_asks_for_a_commit():
    pinned = Options(dataset="cnn_daily_mail", source="hub").text_source
    assert (pinned.name, pinned.subset, len(pinned.revision)) == ("abisee/cnn_dailymail", "3.0.0", 40)
    assert Options(dataset="imdb", source="hub").text_source.name == "stanfordnlp/imdb"
    for name, dataset in DATASETS.items():
        if dataset.hub.revision:
            assert Options(dataset=name, source="hub").text_source.revision == dataset.hub.revision
        else:
            with pytest.raises(BadSetting, match=f"{dataset.hub.name}.* is not pinned"):
                Options(dataset=name, source="hub")
            assert Options(dataset=name, source="hub", revision="a" * 40).text_source.name == dataset.hub.name


def test_the_splits_of_imdb_are_the_papers(tmp_path):
    """20,000, 5,000 and 5,000, disjoint, and equal at each loading (spec E6)."""
    for split in ("train", "test"):
        texts = (f"{split} review number {i} is short" for i in range(25_000))
        with gzip.open(tmp_path / f"{split}.txt.gz", "wt") as file:
            file.write("".join(f"{text}\n" for text in texts))
    options = {"dataset": "imdb", "source": "path", "path": str(tmp_path)}
    found = {split: rows(split, **options) for split in ("train", "validation", "test")}
    assert [len(part) for part in found.values()] == [20_000, 5_000, IMDB_TEST]
    assert len({row["text"] for part in found.values() for row in part}) == 30_000
    first = found["test"][0]
    assert (len(first["prompt"].split()), len(first["text"].split())) == (3, 6)


ODD = "A  film\nof two  halves , I  say."


@pytest.mark.parametrize(("dataset", "prompt"), [("imdb", "A  film\nof two "), ("texts", "A  film\nof two")])
def test_the_halves_of_imdb_are_counted_in_blanks(tmp_path, dataset, prompt):
    file = write(tmp_path, {"train.jsonl": jsonl(*[{"text": f"{ODD} {i}"} for i in range(5)])})
    for row in rows(dataset=dataset, source="path", path=file):
        parts = row["text"].split(" ")
        assert row["prompt"] == prompt
        assert (row["prompt"] == " ".join(parts[: int(len(parts) * 0.5)])) == (dataset == "imdb")
        assert row["prompt"] + row["references"][0] == row["text"]


def test_a_constant_prompt_has_no_references():
    task = Generation(Options(dataset="constant", prompt="<|endoftext|>"))
    assert {row["prompt"] for row in task.rows("train")} == {"<|endoftext|>"}
    assert task.rows("test")[0]["references"] == ()
    assert task.act(task.start(task.rows("test")[0], Key(0)), "1 2 3").ended == "end"


@pytest.mark.parametrize("dataset", BUILTIN)
def test_built_in_rows_are_disjoint_and_of_the_published_form(dataset):
    task = Generation(Options(dataset=dataset))
    parts = {split: task.rows(split) for split in task.spec.splits}
    contents = {
        split: {frozenset(row["concepts"]) if "concepts" in row.fields else row["prompt"] for row in part}
        for split, part in parts.items()
    }
    assert not contents["train"] & contents["test"]
    assert not contents["train"] & contents["validation"]
    assert not contents["validation"] & contents["test"]
    for split, part in parts.items():
        assert len(part) >= 300
        assert len({row.id for row in part}) == len(part)
        for row in part[:200]:
            assert len(set(row["references"])) == len(row["references"])
            assert len(row["references"]) >= (3 if split == "test" else 1)
            assert not {"{", "}"} & set(row["prompt"] + "".join(row["references"]))
    assert parts["train"][0] == Generation(Options(dataset=dataset, limit=0)).rows("train")[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "commongen", "prompt": "say {words}"}, r"names the part 'words'.* \{concepts\}"),
        ({"dataset": "commongen", "prompt": "say"}, "names no part"),
        ({"dataset": "commongen", "source_words": 3}, "'commongen' does not read it; it reads prompt"),
        ({"dataset": "totto", "text_field": "body"}, "does not read it"),
        ({"prompt": "{text}"}, "'texts' does not read it"),
        ({"dataset": "constant", "source": "hub", "name": "x"}, "reads no source"),
        ({"dataset": "common_gen"}, "commongen"),
        ({"dataset": "wmt16", "context": 3}, "does not read it"),
        ({"dataset": "totto", "path": "x"}, "belongs to a source of kind 'path'"),
    ],
)
def test_bad_options_are_refused_when_made(options, message):
    with pytest.raises(BadSetting, match=message):
        Options(**options)


def test_scitldr_has_no_built_in_rows():
    with pytest.raises(BadSetting, match="no built-in rows; set source: path"):
        rows(dataset="scitldr")


BAD = [
    ("commongen", {"train.jsonl": jsonl(SET, {"concept_set": "a#b"})}, r"train.jsonl.*2.*no sentence"),
    ("commongen", {"train.jsonl": jsonl({"scene": ["x"]})}, r"the concepts are None"),
    ("commongen", {"train.jsonl": jsonl({"concept_set": 3})}, r"'concept_set' is .*must hold a text"),
    ("cnn_daily_mail", {"train.jsonl": jsonl({"article": "a"})}, r"summaries in 'highlights' are None"),
    ("cnn_daily_mail", {"train.jsonl": jsonl({"highlights": "a"})}, r"'article' is missing"),
    ("scitldr", {"train.jsonl": jsonl({"source": [1], "target": ["x"]})}, r"must be a text or a list"),
    ("totto", {"train.jsonl": jsonl(TOTTO | {"highlighted_cells": [[9, 0]]})}, r"highlighted_cells.*9"),
    ("totto", {"train.jsonl": jsonl(TOTTO | {"table": "x"})}, r"'table' is 'x'; it must be a list of rows"),
    ("totto", {"train.jsonl": jsonl(TOTTO | {"table": [[{"value": 1}]]})}, r"a cell is .*must have a text"),
    ("wmt16", {"train.jsonl": jsonl({"translation": {"en": "x"}})}, r"mapping with `en` and `de`"),
    ("wmt16", {"train.en": "a\nb\n", "train.de": "a\n"}, r"2 sentences and train.de has 1"),
    ("wmt16", {"train.en": "a\n"}, r"the German file of this English file is missing"),
    ("wmt16", {"news.en": "a\n", "news.de": "a\n"}, r"this name tells no split"),
    (
        "narrative_qa",
        {"qaps.csv": QAPS.replace("d2", "d9"), "summaries.csv": SUMMARIES},
        r"document 'd9' is unknown",
    ),
    ("narrative_qa", {"train.tsv": "no tab\n"}, r"train.tsv.*1.*must hold a question"),
    ("narrative_qa", {"train.jsonl": "{}"}, r"must hold qaps.csv and summaries.csv"),
    (
        "daily_dialog",
        {"dialogues_train.txt": DIALOGUE, "dialogues_act_train.txt": "1 x\n"},
        r"must be integers",
    ),
    (
        "daily_dialog",
        {"dialogues_train.txt": DIALOGUE, "dialogues_act_train.txt": "1 1\n"},
        r"4 utterances and 2",
    ),
    (
        "daily_dialog",
        {"dialogues_train.txt": DIALOGUE, "dialogues_act_train.txt": "1 1 2 1\n1\n"},
        r"no dialogue",
    ),
    ("daily_dialog", {"train.txt": DIALOGUE}, r"must hold dialogues_train.txt"),
    ("imdb", {"notes.md": "x"}, r"holds no split"),
]


@pytest.mark.parametrize(("dataset", "files", "message"), BAD)
def test_a_bad_file_is_named_with_its_place(dataset, files, message, tmp_path):
    with pytest.raises((BadRow, BadSetting), match=message):
        rows(dataset=dataset, source="path", path=write(tmp_path, files))


REAL = {
    "commongen": ("commongen", (4352, 500, 493)),
    "scitldr": ("summarization_scitldr/SciTLDR-A", (700, 200, 250)),
    "cnn_daily_mail": ("summarization_scitldr/cnn_dm_style", (700, 200, 250)),
    "totto": ("totto_style_fetaqa", (700, 250, 250)),
    "wmt16": ("wmt16_en_de", (3000, 800, 800)),
    "narrative_qa": ("narrativeqa", (1787, 598, 736)),
    "daily_dialog": ("daily_dialog", None),
}


@pytest.mark.data
@pytest.mark.parametrize("dataset", REAL)
def test_the_real_files_are_read_and_played(dataset, beside):
    name, sizes = REAL[dataset]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        task = Generation(Options(dataset=dataset, source="path", path=str(beside / "data" / name)))
        parts = [task.rows(split) for split in task.spec.splits]
    assert sizes is None or tuple(map(len, parts)) == sizes
    assert all(parts)
    for part in parts:
        row = part[-1]
        step = task.start(row, Key(0))
        assert task.act(step, task.expert(step.state)).state.answer == row["references"][0]


@pytest.mark.data
def test_the_real_tables_of_totto(beside):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        task = Generation(Options(dataset="totto", source="path", path=str(beside / "data" / "totto")))
        row = task.rows("validation")[0]
    once = (
        "<table> <cell> 76 <col_header> # </col_header> <col_header> 74 </col_header> "
        "<col_header> 75 </col_header> </cell> <cell> Daniel Henry Chamberlain "
        "<col_header> Governor </col_header> <row_header> 76 </row_header> </cell> <cell> December 1, 1874 "
        "<col_header> Took Office </col_header> <row_header> 76 </row_header> </cell> </table>"
    )
    titles = (
        "<page_title> List of Governors of South Carolina </page_title> "
        "<section_title> Governors under the Constitution of 1868 </section_title> "
    )
    assert row["prompt"] == once + titles + once
    assert len(row["references"]) == 3
    assert [len(task.rows(split)) for split in task.spec.splits] == [8, 10, 5]
    assert all(row["references"] == () for row in task.rows("test"))


def test_the_names_are_listed_in_the_docs_order():
    assert NAMES[:2] == ("texts", "imdb")
    assert set(BUILTIN) == set(DATASETS) - {"scitldr"}


def test_a_loading_script_is_never_run(tmp_path):
    pytest.importorskip("datasets")
    folder = tmp_path / "scripted"
    folder.mkdir()
    (folder / "scripted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    with pytest.raises(BadSetting, match="cannot be loaded"):
        rows(dataset="commongen", source="hub", name=str(folder))
    assert not (tmp_path / "ran").exists()
