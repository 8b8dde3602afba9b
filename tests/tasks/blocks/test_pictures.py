"""Pictures of boards, pixel by pixel against drawings with another library, and in terminals and files."""

import dataclasses
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tasks.boxes import BOX
from helpers.tasks.playing import SA, STOP, A, play, task
from loquent.core.agent import Answer
from loquent.core.guards.terminal import escape_text
from loquent.core.live import Live
from loquent.report import kit, samples
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, tower_block
from loquent.tasks.blocks.geometry.sprites import covers, sprite
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.nlvr.png import SIGNATURE
from loquent.tasks.blocks.pictures import episodes, terminal, tiles
from loquent.tasks.blocks.pictures.png import png

Image = pytest.importorskip("PIL.Image")
ImageDraw = pytest.importorskip("PIL.ImageDraw")

COLORS = ((250, 255, 0), (0, 0, 0), (15, 131, 255))


def drawn(board):
    """The picture by PIL: rectangles, ellipses and polygons on three grey boxes."""
    image = Image.new("RGB", (380, 100), (128, 128, 128))
    draw = ImageDraw.Draw(image)
    for i in range(3):
        draw.rectangle((140 * i, 0, 140 * i + 99, 99), fill=(211, 211, 211))
    for i, box in enumerate(board):
        for x, y, shape, color, size in box:
            left, right, bottom = x + 140 * i, x + 140 * i + size - 1, y + size - 1
            if shape == 0:
                draw.ellipse((left, y, right, bottom), fill=COLORS[color])
            elif shape == 1:
                draw.rectangle((left, y, right, bottom), fill=COLORS[color])
            else:
                apex = (right - int((size - 1) / 2), y)
                draw.polygon([(left, bottom), (right, bottom), apex], fill=COLORS[color])
    return np.asarray(image)


def mean(picture):
    """The mean of each 2 x 2 pixels, truncated."""
    return picture.reshape(50, 2, 190, 2, 3).mean(axis=(1, 3)).astype(np.uint8)


@settings(max_examples=120)
@given(st.tuples(BOX, BOX, BOX))
def test_a_picture_is_that_of_the_other_library(board):
    reference = drawn(board)
    assert (tiles.full(board) == reference).all()
    assert (tiles.half(board) == mean(reference)).all()


@pytest.mark.data
@pytest.mark.parametrize(("appearance", "states"), [("tower", 676), ("scatter", 313)])
def test_the_pictures_of_all_published_boards_are_those_of_the_other_library(beside, appearance, states):
    file = statement_files.find(beside / "data/lilgym", appearance, "flipit", "dev")
    boards = [each.board for each in statement_files.read(file).statements.values()]
    assert len(boards) == states
    for board in boards:
        reference = drawn(board)
        assert (tiles.full(board) == reference).all()
        assert (tiles.half(board) == mean(reference)).all()


def test_every_sprite_at_even_and_odd_places():
    for shape in range(3):
        for size in (10, 20, 30):
            for x, y in ((0, 0), (1, 0), (0, 1), (35, 47), (100 - size, 100 - size)):
                for color in range(3):
                    board = ((), (Item(x, y, shape, color, size),), ())
                    assert (tiles.full(board) == drawn(board)).all()
                    assert (tiles.half(board) == mean(drawn(board))).all()


def test_items_out_of_their_box():
    for item in (Item(56, -2, 2, 2, 30), Item(-2, 40, 0, 0, 20), Item(83, 82, 1, 1, 20)):
        board = ((Item(40, 0, 1, 0, 20),), (item,), (Item(3, 3, 0, 1, 30),))
        assert (tiles.full(board) == drawn(board)).all()
        assert (tiles.half(board) == mean(drawn(board))).all()


def test_the_empty_picture():
    half = tiles.half(EMPTY_BOARD)
    assert half.shape == (50, 190, 3)
    assert int((half == 128).all(-1).sum()) == 2000
    assert int((half == 211).all(-1).sum()) == 50 * 190 - 2000


def test_a_picture_is_of_the_board_alone():
    world = task(appearance="scatter")
    steps = play(world, [SA(1, 1, 1, 0, 2), SA(3, 1, 0, 1, 1), "remove at 20 20"])
    board = steps[-1].state.board
    assert len(board[0]) == 1
    before = tiles.half(board)
    tiles.box_tile.cache_clear()
    assert (tiles.half(board) == before).all()
    assert (tiles.full(board) == drawn(board)).all()


def test_tiles_are_not_written_to():
    board = ((tower_block(0, 0),), (), ())
    tiles.full(board)[:] = 7
    tiles.half(board)[:] = 7
    assert (tiles.full(board) == drawn(board)).all()
    with pytest.raises(ValueError, match="read-only"):
        tiles.box_tile(board[0]).full[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        tiles.box_tile(()).half[0] = 1


def test_the_size_of_the_sprites():
    assert [int(sprite(kind).sum()) for kind in range(9)] == [
        int((drawn(((Item(0, 0, kind // 3, 1, 10 * (kind % 3 + 1)),), (), ())) == 0).all(-1).sum())
        for kind in range(9)
    ]
    assert covers(3, 0, 0)
    assert not covers(0, 0, 0)
    assert not covers(3, 10, 0)
    assert not covers(3, 0, -1)


def test_a_png_file_reads_back():
    picture = tiles.full(((tower_block(0, 0), tower_block(1, 2)), (), (Item(1, 2, 0, 1, 30),)))
    data = png(picture)
    assert data.startswith(SIGNATURE)
    assert (np.asarray(Image.open(io.BytesIO(data))) == picture).all()
    larger = np.asarray(Image.open(io.BytesIO(png(picture, 3))))
    assert larger.shape == (300, 1140, 3)
    assert (larger[1::3, 1::3] == picture).all()


def test_a_board_in_a_terminal():
    world = task()
    step = play(world, [A(0, 0), A(0, 1), A(2, 2)], sentence="It is so.")[-1]
    picture = world.render_ansi(step.observation)
    assert picture.startswith("It is so. -> true\n")
    assert [picture.count(color) > 0 for color in (*terminal.UPPER, *terminal.LOWER)] == [True] * 8
    assert picture.count("\u2580") == 3 * 20 * 10
    assert "\x1b[" not in escape_text(picture)
    lines = [re.findall(r"\x1b\[(\d+)m\x1b\[(\d+)m\u2580", line) for line in picture.splitlines()[1:]]
    halves = [half for line in lines for half in (line[8][0], str(int(line[8][1]) - 10))]
    # from the bottom: four halves of yellow, a gap, four of black, and nothing
    assert halves[::-1] == ["93"] * 4 + ["37"] + ["30"] * 4 + ["37"] * 11
    letters = terminal.letters(step.observation.fields["board"]).splitlines()
    assert [len(line) for line in letters] == [64] * 10
    assert letters[-1] == "........yyyy........  ....................  ........bbbb........"
    assert set("".join(letters[:4])) == {".", " "}
    assert [line.strip(". ") for line in letters[-4:-2]] == ["kkkk", "kkkk"]
    scattered = task(appearance="scatter")
    step = play(scattered, [SA(0, 0, 0, 1, 0), STOP], target=False)[-1]
    shown = scattered.render_ansi(step.observation)
    assert "-> false" in shown
    assert "left: small black circle at 0 0\n" in shown


def test_the_pictures_of_a_recorded_episode():
    world = task(appearance="scatter")
    start = ((Item(3, 4, 2, 1, 10), Item(50, 50, 0, 0, 30)), (), (Item(0, 0, 1, 2, 20),))
    texts = [SA(7, 0, 0, 2, 1), "remove at 0 0", "remove at 20 20"]
    steps = play(world, texts, board=start, sentence="left: or right?")
    seen = [step.observation.text for step in steps]
    boards = episodes.boards(seen)
    assert boards[:3] == [step.state.board for step in steps[:3]]
    assert boards[3] is None  # an invalid action has no board
    drawn = episodes.pictures(seen)
    assert drawn[0].count("<circle") == drawn[0].count("<polygon") == 1
    assert drawn[0].count("<rect") == 5
    assert '<polygon points="8,4 3,14 13,14" fill="#000000"/>' in drawn[0]
    assert '<circle cx="150" cy="10" r="10" fill="#0f83ff"/>' in drawn[1]
    assert drawn[3] == ""
    assert 'y="0" width="20" height="20"' in drawn[0]
    towers = play(task(), [A(0, 0), A(0, 1), STOP])
    stack = episodes.pictures([step.observation.text for step in towers])[2]
    assert 'y="81" width="20" height="19"' in stack  # a gap of two pixels between blocks
    assert 'y="60" width="20" height="19"' in stack
    assert episodes.boards([step.observation.text for step in towers])[:3] == [
        step.state.board for step in towers[:3]
    ]


@pytest.mark.parametrize(
    "text",
    ["left: <script>", "left: black, red", "middle: small black circle at 1", "right: " + "black, " * 5],
)
def test_a_text_of_others_is_not_drawn(text):
    assert episodes.pictures(["left: black\n", text, "left: black\n"])[1:] == ["", ""]
    assert episodes.pictures(["left: black\n", "anything", "left: black\n"])[2].count("<rect") == 5


def test_a_report_shows_the_boards():
    world = task()
    live = Live(world, world.rows("test")[0], 0, 0, "test")
    for text in (A(0, 0), A(2, 1), STOP):
        live.act(Answer(text))
    recorded = live.episode()
    columns = {"a": (0, {("x", 0): recorded}), "b": (1, {("x", 0): recorded})}
    page = kit.page("boards", samples.side_by_side(columns))
    assert page.count('<svg class="picture"') == 1 + 2 * 2
    assert page.count('fill="#faff00"') == 2 * 2  # the yellow block, in two boards of each column
    other = dataclasses.replace(recorded, task="wordle-v1")
    assert "<svg" not in kit.page("others", samples.side_by_side({"a": (0, {("x", 0): other})}))


@given(BOX)
def test_every_item_alone_is_seen_in_a_terminal(box):
    for item in box:
        board = ((), (item,), ())
        shown = [line[22:42] for line in terminal.letters(board).splitlines()]
        own = [(row, column) for row in range(10) for column in range(20) if shown[row][column] != "."]
        assert own
        assert {shown[row][column] for row, column in own} == {"ykb"[item.color]}
        for row, column in own:
            assert item.x - 5 < 5 * column < item.x + item.size
            assert item.y - 10 < 10 * row < item.y + item.size
