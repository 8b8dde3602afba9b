"""The pictures of a Wordle board: as an array, and in colours at a terminal."""

from loquent.seeding import Key
from loquent.tasks.wordle import views
from loquent.tasks.wordle.task import Wordle


def test_the_picture_by_hand():
    task = Wordle()
    step = task.act(task.start(task.row("train", "train:steel"), Key(0)), "crane")
    step = task.act(task.act(step, "nonsense"), "steel")
    picture = views.board(step.observation)
    # c is letter 3, r 18, a 1, n 14, e 5; marks b 1, y 2, g 3; the invalid word leaves no row
    assert picture[0].tolist() == [[3, 1], [18, 1], [1, 1], [14, 1], [5, 2]]
    assert picture[1, :, 1].tolist() == [3] * 5
    assert not picture[2:].any()
    assert picture in views.BOARD[0]
    assert views.board(step.observation) is not picture
