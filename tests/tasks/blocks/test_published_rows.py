"""The flip-it sets built again from NLVR, and the solvability of the published statements (spec figures)."""

from collections import Counter

import pytest

from loquent.tasks.blocks import published, solvable
from loquent.tasks.blocks.nlvr.rebuild import rebuild


@pytest.mark.data
def test_the_development_sets_are_built_again_from_nlvr(beside):
    data = beside / "data"
    report = rebuild(data / "nlvr", data / "lilgym")
    assert (report.pictures, report.differing, report.unknown) == (40, (), ())
    assert {each.name: (len(each.entries), each.contexts, each.complete) for each in report.sets} == {
        "tower_flipit_dev": (676, 317, True),
        "scatter_flipit_dev": (313, 164, True),
    }
    for each in report.sets:
        file = published.find(data / "lilgym", each.name.split("_")[0], "flipit", "dev")
        shipped = published.read(file).statements
        assert {key: (entry["sentence"], entry["uid"]) for key, entry in each.entries.items()} == {
            key: (statement.sentence, statement.uid) for key, statement in shipped.items()
        }


@pytest.mark.data
def test_the_fewest_additions_of_the_development_towers_are_as_measured(beside):
    file = published.find(beside / "data" / "lilgym", "tower", "scratch", "dev")
    statements = published.read(file).statements.values()
    found = Counter(solvable.solution(each.program, True, each.board, "tower").edits for each in statements)
    assert found == {0: 4, 1: 39, 2: 71, 3: 36, 4: 11, 7: 1, 8: 1}
