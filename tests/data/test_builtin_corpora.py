"""The built-in corpora: their files, what makes them, and that making a task reads nothing else."""

import lzma
import re
import subprocess
import sys

import pytest

import loquent
from loquent.core.task import Row
from loquent.core.values import Record, digest
from loquent.data import corpora
from loquent.data.tables.splits import SPLITS
from loquent.errors import LoquentError
from tools.corpora.table import CORPORA, HOUSE
from tools.corpora.writing import encoded, records, write

SHIPPED = sorted(
    str(folder.relative_to(HOUSE) / line.split()[1])
    for sums in HOUSE.rglob(corpora.SUMS)
    for folder in [sums.parent]
    for line in sums.read_text().splitlines()
)
# the rows of all splits, as the generators made them before they became data
ROWS = [
    ("blocks", {"appearance": "tower", "start": "scratch"}, "48e6a2275447d6a8"),
    ("blocks", {"appearance": "tower", "start": "flip_it"}, "0e942cd860614771"),
    ("blocks", {"appearance": "scatter", "start": "scratch"}, "c7c2c1e5383b3d64"),
    ("blocks", {"appearance": "scatter", "start": "flip_it"}, "0e054e0b56466813"),
    (
        "blocks",
        {"appearance": "tower", "held_out": "templates", "exclude_unsolvable": True},
        "f17246ede2cda3f5",
    ),
    (
        "blocks",
        {"appearance": "scatter", "held_out": "templates", "exclude_unsolvable": True},
        "f4b1c35ebfc2fe0c",
    ),
    ("comments", {}, "748e12239e6db2ab"),
    ("dialogue", {}, "e2a342e8b54a00ab"),
    ("multilabel", {}, "a0d2cfaa1b973b49"),
    ("multiple_choice", {}, "de17286c39795bbc"),
    ("reading", {}, "116b1bce37b86307"),
    ("tagging", {}, "2d7de00d4cba48d0"),
    ("generation", {"dataset": "cnn_daily_mail"}, "48504f735cd3de8c"),
    ("generation", {"dataset": "commongen"}, "6f2c9775574534da"),
    ("generation", {"dataset": "daily_dialog"}, "64b41565af6f3823"),
    ("generation", {"dataset": "iwslt2017"}, "8f1e98c46ef70e32"),
    ("generation", {"dataset": "narrative_qa"}, "9579700b865b1b7a"),
    ("generation", {"dataset": "totto"}, "b5d453e208b98070"),
    ("generation", {"dataset": "wmt16"}, "bf3713403282cb5d"),
]
READERS = re.compile(  # what reads published files, and what makes pictures
    r"loquent\.(data\.(readers|arrow)|data\.annotated\.(placed|conll|reuters|\w+_files)"
    r"|tasks\.\w+\.(files|nlvr\b.*|pictures\b.*|sources\.(files|visdial|image_files))"
    r"|tasks\.(wordle\.tweets|reading\.corpus\.(newsqa|squad))|tasks\.generation\.corpora\.(published|\w+_files))"
)


def test_every_shipped_file_has_a_hash_and_a_maker():
    compressed = [
        str(file.relative_to(HOUSE)) for ending in ("xz", "npz") for file in HOUSE.rglob(f"*.{ending}")
    ]
    assert SHIPPED == sorted(compressed) == sorted(CORPORA)
    for name in SHIPPED:
        assert corpora.contents(HOUSE / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_is_made_again(name):
    """To the bit; the bytes of a compressed file depend on the version of the compressor."""
    content = (HOUSE / name).read_bytes()
    assert CORPORA[name]() == (lzma.decompress(content) if name.endswith(".xz") else content)


@pytest.mark.parametrize("damage", ["cut", "missing", "unlisted", "no sums"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    file, sums = tmp_path / "rows.json.xz", tmp_path / corpora.SUMS
    write(file, b'{"train":{"text":["a"]}}')
    assert corpora.rows(file)["train"][0]["text"] == "a"
    corpora.rows.cache_clear()
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    elif damage == "missing":
        file.unlink()
    elif damage == "unlisted":
        sums.write_text(sums.read_text().replace("rows", "others"))
    else:
        sums.unlink()
    for read in (corpora.rows, corpora.records, corpora.contents):
        with pytest.raises(LoquentError, match=r"rows.json.xz.*install the package again"):
            read(file)


def test_rows_come_back_as_they_were_written(tmp_path):
    splits = {
        "train": (
            Row("train-0", Record(text="é", pair=(("a", 1), None), weight=0.5, flag=True)),
            *(Row(f"train-{i}", Record(text="same", pair=(), weight=0.1, flag=False)) for i in range(1, 9)),
        ),
        "test": (Row("own", Record(more=Record(a=(1, 2)))), Row("other", Record(more=Record()))),
    }
    content = encoded(records(splits))
    assert b'"values"' in content
    write(tmp_path / "rows.json.xz", content)
    read = corpora.rows(tmp_path / "rows.json.xz")
    assert read == splits
    assert read["train"][1]["text"] is read["train"][2]["text"]
    with pytest.raises(ValueError, match="different fields"):
        encoded({"train": [{"a": 1}, {"b": 1}]})


@pytest.mark.parametrize(("name", "options", "right"), ROWS, ids=lambda value: str(value)[:60])
def test_built_in_rows_are_fixed(name, options, right):
    task = loquent.task(name, **options)
    rows = tuple((split, tuple((row.id, row.fields) for row in task.rows(split))) for split in SPLITS)
    assert digest(rows, 16) == right


def test_making_built_in_tasks_imports_no_reader_and_no_picture():
    """Nor does reading their rows, and playing."""
    script = f"""
import sys, loquent
from loquent import Key
for name, options, _ in {[*ROWS, ("generation", {}, ""), ("wordle", {}, "")]!r}:
    task = loquent.task(name, **options)
    step = task.start(task.rows("train")[0], Key(0))
    task.act(step, "stop")
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert "loquent.data.corpora" in found
    assert [name for name in found if READERS.fullmatch(name)] == []


def test_the_search_for_readers_finds_them():
    files = (file.relative_to(HOUSE).with_suffix("") for file in HOUSE.rglob("*.py"))
    found = {name for file in files if READERS.fullmatch(name := ".".join(("loquent", *file.parts)))}
    assert len(found) > 30
    assert {"loquent.data.readers", "loquent.tasks.blocks.pictures.tiles"} <= found
