"""NLVR's pictures: the reader of PNG files, and the decoder that makes boards of them."""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.errors import BadRow
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Item, board_from_json, tower_block
from loquent.tasks.blocks.nlvr import decoder, png


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def written(picture, filters, header=None):
    """A PNG file of u8[height, width, channels]; row y has the filter filters[y % len(filters)]."""
    height, width, channels = picture.shape
    padded = np.zeros((height + 1, width + 1, channels), dtype=int)
    padded[1:, 1:] = picture
    left, up, corner = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1]
    estimate = left + up - corner
    near = [np.abs(estimate - each) for each in (left, up, corner)]
    paeth = np.where(
        (near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], up, corner)
    )
    guesses = [np.zeros_like(left), left, up, (left + up) // 2, paeth]
    rows = b"".join(
        bytes([filters[y % len(filters)]])
        + ((padded[y + 1, 1:] - guesses[filters[y % len(filters)]][y]) % 256).astype(np.uint8).tobytes()
        for y in range(height)
    )
    header = header or struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return png.SIGNATURE + b"".join(
        chunk(*each) for each in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def drawn(board):
    """A picture with the cores of a board's items alone; the edges have a colour between."""
    picture = np.full((100, 400, 3), 128, dtype=np.uint8)
    for box, start in zip(board, decoder.BOX_STARTS):
        view = picture[:, start : start + 100]
        view[:] = decoder.BACKGROUND
        for item in box:
            color = decoder.PURE[("yellow", "black", "blue")[item.color]]
            core = decoder._core(("circle", "square", "triangle")[item.shape], item.size)
            part = view[item.y : item.y + item.size, item.x : item.x + item.size]
            edge = ~core & (part == decoder.BACKGROUND).all(2)
            part[edge] = (100, 90, 80)
            part[core] = color
    return picture


@given(st.integers(0, 2**32), st.sampled_from([3, 4]), st.lists(st.sampled_from(range(5)), min_size=1))
def test_every_filter_of_png_is_undone(seed, channels, filters):
    picture = np.random.default_rng(seed).integers(0, 256, (7, 9, channels), dtype=np.uint8)
    if channels == 4:
        picture[:, :, 3] = 255
    assert (png.rgb(written(picture, filters)) == picture[:, :, :3]).all()


GRAY = np.full((2, 3, 3), 7, dtype=np.uint8)
WHOLE = written(GRAY, [0])
HEADER = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no PNG file"),
        (b"GIF89a", "no PNG file"),
        (WHOLE[:40], "ends too early"),
        (WHOLE[:-4], "ends too early"),
        (WHOLE.replace(b"IDAT", b"IDAX"), "checksum"),
        (png.SIGNATURE + chunk(b"IDAT", b"") + chunk(b"IEND", b""), "begin with a header"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 3, 2, 16, 2, 0, 0, 0)), "bit depth 16"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 3, 2, 8, 3, 0, 0, 0)), "colour type 3"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 1)), "interlacing 1"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 9999, 2, 8, 2, 0, 0, 0)), "9999 x 2 pixels"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 3, 3, 8, 2, 0, 0, 0)), "30 bytes"),
        (written(GRAY, [0], struct.pack(">IIBBBBB", 3, 1, 8, 2, 0, 0, 0)), "10 bytes"),
        (
            png.SIGNATURE + chunk(b"IHDR", HEADER) + chunk(b"IDAT", b"xxxx") + chunk(b"IEND", b""),
            "damaged",
        ),
        (
            png.SIGNATURE
            + chunk(b"IHDR", HEADER)
            + chunk(b"IDAT", zlib.compress(b"\x09" + bytes(9) + b"\0" + bytes(9)))
            + chunk(b"IEND", b""),
            "unknown filter 9",
        ),
        (written(np.zeros((2, 2, 4), dtype=np.uint8), [0]), "transparent"),
        (written(np.zeros((1, 4096, 3), dtype=np.uint8), [4]), "at most 512 x 512"),  # slow pixel by pixel
    ],
)
def test_a_damaged_or_unknown_png_file_is_an_error_that_says_why(data, why):
    with pytest.raises(ValueError, match=why):
        png.rgb(data)


def test_a_bomb_is_not_decompressed():
    content = zlib.compress(bytes(1 << 26))
    data = png.SIGNATURE + chunk(b"IHDR", HEADER) + chunk(b"IDAT", content) + chunk(b"IEND", b"")
    with pytest.raises(ValueError, match="20 bytes"):
        png.rgb(data)


def test_the_cores_have_the_numbers_of_pixels_that_are_published():
    sizes = {(core.shape, core.size): core.bits.bit_count() for core in decoder.cores()}
    assert sizes == {
        (0, 10): 60, (0, 20): 276, (0, 30): 656,
        (1, 10): 100, (1, 20): 400, (1, 30): 900,
        (2, 10): 40, (2, 20): 180, (2, 30): 420,
    }  # fmt: skip


def test_items_of_one_color_that_touch_are_told_apart():
    box = (Item(0, 0, 0, 2, 30), Item(30, 0, 1, 2, 10), Item(30, 10, 1, 2, 20), Item(50, 10, 2, 2, 20))
    row = (*(Item(10 * i, 50, 1, 0, 10) for i in range(3)), Item(30, 40, 1, 0, 20))
    board = (tuple(sorted(box, key=lambda i: (i.y, i.x))), (), tuple(sorted(row, key=lambda i: (i.y, i.x))))
    assert decoder.decode(drawn(board)) == board


def test_a_choice_that_leads_nowhere_is_taken_back():
    # a small triangle on a square also shows the pixels of a larger triangle, beside which no shapes are left
    house = (Item(20, 20, 2, 1, 10), Item(15, 30, 1, 1, 20))
    bits = int.from_bytes(
        np.packbits((drawn((house, (), ()))[:, :100] == (0, 0, 0)).all(2), bitorder="little").tobytes(),
        "little",
    )
    larger = next(core for core in decoder.cores() if (core.shape, core.size) == (2, 20))
    first = (bits & -bits).bit_length() - 1
    assert (bits >> first) & larger.bits == larger.bits
    assert decoder.decode(drawn((house, (), ()))) == (house, (), ())


def test_of_several_boards_with_equal_pixels_the_one_with_larger_items_is_read():
    squares = tuple(Item(x, y, 1, 1, 10) for x, y in [(0, 0), (10, 0), (0, 10), (10, 10), (20, 0)])
    assert decoder.decode(drawn((squares, (), ())))[0] == (Item(0, 0, 1, 1, 20), Item(20, 0, 1, 1, 10))


def test_towers_are_listed_from_the_bottom():
    tower = tuple(tower_block(level, color) for level, color in enumerate((0, 1, 2, 1)))
    assert decoder.decode(drawn((tower, (), tower[:2]))) == (tower, (), tower[:2])
    assert decoder.decode(drawn(EMPTY_BOARD)) == EMPTY_BOARD


@pytest.mark.parametrize(
    ("place", "color", "why"),
    [
        ((5, 5), (0, 0, 0), "black pixels of box 0"),
        ((5, 155), (255, 255, 0), "yellow pixels of box 1"),
        ((99, 399), (200, 200, 200), r"pixel \(99, 99\) of box 2 has the colour \(200, 200, 200\)"),
        ((0, 120), (0, 0, 0), "between the boxes"),
    ],
)
def test_a_picture_without_a_board_is_an_error_that_names_the_place(place, color, why):
    picture = drawn(EMPTY_BOARD)
    picture[place] = color
    with pytest.raises(ValueError, match=why):
        decoder.decode(picture)


def test_a_hostile_picture_does_not_search_for_long():
    picture = drawn(EMPTY_BOARD)
    picture[:, 0:100] = (0, 0, 0)
    picture[99, 99] = decoder.BACKGROUND
    with pytest.raises(ValueError, match="black pixels of box 0"):
        decoder.decode(picture)


def test_an_error_of_a_file_names_the_file(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(written(np.zeros((100, 380, 3), dtype=np.uint8), [0]))
    with pytest.raises(BadRow, match=r"a\.png: the picture has the shape \(100, 380, 3\)"):
        decoder.decode_file(file)
    with pytest.raises(BadRow, match=r"b\.png"):
        decoder.decode_file(tmp_path / "b.png")


@pytest.mark.data
def test_the_decoder_is_exact_on_pictures_of_nlvr(beside):
    with gzip.open(beside / "data" / "nlvr" / "dev.json.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    boards = {record["identifier"]: board_from_json(record["structured_rep"]) for record in records}
    files = sorted((beside / "data" / "nlvr" / "dev_images").rglob("*.png"))
    assert len(files) == 40
    for file in files:
        _, group, member, permutation = file.stem.split("-")
        assert permutation == "0"
        decoded, board = decoder.decode_file(file), boards[f"{group}-{member}"]
        assert [sorted(box) for box in decoded] == [sorted(box) for box in board]
        if all(item.x == 40 and item.size == 20 and item.shape == 1 for box in board for item in box):
            assert decoded == board  # towers in their order
