"""Boxes of items, for properties that hold for each."""

from hypothesis import strategies as st

from loquent.tasks.blocks.boards.board import Item

SIZES = (10, 20, 30)
ITEM = st.builds(
    lambda size, x, y, shape, color: Item(min(x, 100 - size), min(y, 100 - size), shape, color, size),
    st.sampled_from(SIZES),
    st.integers(0, 90),
    st.integers(0, 90),
    st.integers(0, 2),
    st.integers(0, 2),
)
BOX = st.lists(ITEM, max_size=6).map(tuple)
