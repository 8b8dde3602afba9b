"""The values by row of evaluations in training: one line each, read whole or refused by name."""

import json
import re

import pytest

from loquent.core.values import EMPTY, Record
from loquent.errors import BadCheckpoint
from loquent.files import evaluation_rows, names
from loquent.files.evaluation_rows import RowValues
from loquent.files.run_logs import RunLogs

LINE = {"update": 2, "rows": ["x", "y"], "values": {"a": [1.0, None]}}


def test_what_is_appended_is_read(tmp_path):
    evaluation_rows.append(tmp_path, 0, ["x", "y"], {"return": [0.1, float("nan")], "b": [None, 3.0]})
    evaluation_rows.append(tmp_path, 2, ["x", "y"], {})
    assert evaluation_rows.load(tmp_path) == [
        RowValues(0, ("x", "y"), Record({"return": (0.1, None), "b": (None, 3.0)})),
        RowValues(2, ("x", "y"), EMPTY),
    ]


def test_a_run_of_an_earlier_version_has_none(tmp_path):
    assert evaluation_rows.load(tmp_path) == []


def test_a_line_that_a_kill_has_cut_off_is_left_out(tmp_path):
    evaluation_rows.append(tmp_path, 2, ["x"], {"a": [1.0]})
    with (tmp_path / names.EVALUATION_ROWS).open("a") as file:
        file.write('{"update": 4, "ro')
    assert [line.update for line in evaluation_rows.load(tmp_path)] == [2]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({**LINE, "values": {"a": [1.0]}}, "values.a must have one number for each of its 2 rows"),
        ({**LINE, "values": {"a": [1.0, "2"]}}, 'values.a[1] must be a finite number or null'),
        ({**LINE, "values": {"a": [1.0, True]}}, "values.a[1] must be a finite number"),
        ({**LINE, "values": [1.0]}, "values must be an object"),
        ({**LINE, "rows": [1, 2]}, "rows[0] must be a text"),
        ({**LINE, "update": -1}, "update must be"),
        ({"update": 2, "rows": ["x"]}, "lacks the field 'values'"),
        ([2], "must be an object"),
        ({**LINE, "update": 1}, "update 1 follows update 1"),
    ],
)  # fmt: skip
def test_a_line_that_no_run_wrote_is_refused_with_its_place(wrong, reason, tmp_path):
    file = tmp_path / names.EVALUATION_ROWS
    file.write_text("".join(json.dumps(line) + "\n" for line in ({**LINE, "update": 1}, wrong)))
    with pytest.raises(BadCheckpoint, match=rf"{names.EVALUATION_ROWS}:2: .*{re.escape(reason)}"):
        evaluation_rows.load(tmp_path)


def test_logs_without_evaluations_have_no_such_file(tmp_path):
    logs = RunLogs(tmp_path)
    logs.cut({names.EVALUATION_ROWS: json.dumps(LINE).encode() + b"\n"})
    assert [line.update for line in evaluation_rows.load(tmp_path)] == [2]
    logs.begin()
    assert {path.name for path in tmp_path.iterdir()} == {names.METRICS, names.TIMINGS}
