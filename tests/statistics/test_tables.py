"""Tables: golden text, and means over seeds."""

import csv
import html
import io
import re
from html.parser import HTMLParser

import pytest

from loquent.core.guards.terminal import line
from loquent.statistics import tables

ROWS = [{"method": "a", "score": 0.5, "n": 400}, {"method": "bb", "score": 0.25, "n": 400}]


def test_a_column_of_one_character_has_a_rule_that_renders():
    assert tables.Table(["a", "n"], [["x", 3]]).markdown() == "| a  |  n |\n| -- | -: |\n| x  |  3 |"


def test_markdown_by_hand():
    assert tables.of_numbers(ROWS, {"score": True}).markdown() == (
        "| method | score ↑ |   n |\n| ------ | ------: | --: |\n| a      |   0.500 | 400 |\n| bb   "
        "  |   0.250 | 400 |"
    )


def test_csv_by_hand():
    assert tables.as_csv(ROWS) == "method,score,n\na,0.5,400\nbb,0.25,400\n"


def test_over_seeds_gives_mean_and_unbiased_deviation():
    # (0 + 1 + 2) / 3 = 1; ((1 + 0 + 1) / 2) ** 0.5 = 1
    merged = tables.over_seeds([[{"method": "a", "score": x}] for x in (0.0, 1.0, 2.0)], "method")
    assert merged == [{"method": "a", "score": 1.0, "score/sd": 1.0}]
    assert "1.000 ± 1.000" in tables.of_numbers(merged, {}).markdown()
    assert tables.over_seeds([ROWS], "method") == ROWS
    with pytest.raises(ValueError, match="zip"):
        tables.over_seeds([ROWS, ROWS[:1]], "method")


def test_a_missing_number_is_a_dash():
    assert "–" in tables.of_numbers([{"method": "a", "score": None}], {}).markdown()


@pytest.mark.parametrize("absent", [{}, {"score": None}])
def test_a_number_that_one_seed_has_not_is_no_mean_over_the_others(absent):
    for runs in (
        [[{"method": "a", "score": 1.0}], [{"method": "a", **absent}]],
        [[{"method": "a", **absent}], [{"method": "a", "score": 1.0}]],
    ):
        assert tables.over_seeds(runs, "method") == [{"method": "a", "score": None}]


HOSTILE = (
    "a|b", "two\nlines\r\n", "<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "'single' \"double\" `code`",
    "日本 é \u202eevil", "a,b;c\td", "\\|", "&lt; &amp;", "[x](http://192.0.2.1) ![y][z] *b* _c_ a_b ~d~",
    "", " ",
)  # fmt: skip
FORMULAS = ("=1+1", "+1", "-1", "@a", "\ta", "\ra")
HOSTILE_TABLE = tables.Table(HOSTILE, [HOSTILE, [*FORMULAS, *FORMULAS]])


def test_markdown_gives_hostile_cells_back():
    head, rule, *rows = HOSTILE_TABLE.markdown().splitlines()
    for shown, texts in zip([head, *rows], (HOSTILE, HOSTILE, FORMULAS * 2), strict=True):
        cells = shown[2:-2].replace("\\\\", "\0").replace("\\|", "\1").split(" | ")
        cells = [cell.replace("\0", "\\\\").replace("\1", "\\|") for cell in cells]
        back = [html.unescape(re.sub(r"\\([!-/:-@[-`{-~])", r"\1", cell)) for cell in cells]
        assert [cell.strip() for cell in back] == [line(text).strip() for text in texts]
        assert not re.search(r"<\w|(?<!\\)\][(\[]|\x1b|\u202e", shown)
    assert set(rule) == set("|-: ")


def test_a_terminal_shows_hostile_cells_on_one_line_each():
    lines = HOSTILE_TABLE.terminal().splitlines()
    assert len(lines) == 3
    assert not re.search("[\x1b\r\t\u202e]", "".join(lines))
    place = 0
    for i, text in enumerate(HOSTILE):
        width = max(len(line(row[i])) for row in (HOSTILE, FORMULAS * 2))
        assert lines[0][place : place + width].strip() == line(text).strip()
        place += width + 2


class Cells(HTMLParser):
    """The texts of the cells of a table, and its tags."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tags = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag in ("th", "td"):
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


def test_html_gives_hostile_cells_back_as_text():
    cells = [
        [tables.Cell(text, mark='"><b>', title=text, below=[text]) for text in HOSTILE],
        list(FORMULAS * 2),
    ]
    seen = Cells(tables.Table(HOSTILE, cells).__html__())
    assert seen.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "small"}
    shown, formulas = (list(map(tables.escape_text, texts)) for texts in (HOSTILE, FORMULAS))
    assert seen.texts == [*shown, *(text * 2 for text in shown), *formulas, *formulas]


def test_csv_gives_hostile_cells_back_and_guards_formulas():
    numbers = tables.Table(["a", "b", "c"], [[-0.5, None, tables.Cell("x")]])
    assert numbers.csv() == "a,b,c\n-0.5,,x\n", "a number is no formula"
    head, texts, formulas = csv.reader(io.StringIO(HOSTILE_TABLE.csv(), newline=""), strict=True)
    assert tuple(head) == tuple(texts) == HOSTILE
    assert formulas == [f"'{text}" for text in FORMULAS * 2]


def test_named_texts_begin_in_one_column():
    assert (
        tables.name_lines({"a": "x", "b\nb": "y\x1b", "c": ""}, "  ") == "  a     x\n  b\\nb  y\\x1b\n  c\n"
    )
    assert tables.name_lines({}) == ""


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a row has 1 cells and the head 2"):
        tables.Table(["a", "b"], [["x"]])


def test_a_spread_that_the_first_row_lacks_is_in_the_csv():
    rows = [{"method": "a", "score": None}, {"method": "b", "score": 1.0, "score/sd": 0.5}]
    assert tables.as_csv(rows) == "method,score,score/sd\na,,\nb,1.0,0.5\n"
