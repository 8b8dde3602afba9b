"""More turns than the rows have are said to be in vain."""

import json
import warnings

import pytest

import loquent
from loquent.core.settings import Remark

ASK, ANSWER = {"role": "user", "content": "two and two?"}, {"role": "assistant", "content": "four"}
ROWS = {
    "a prompt": ({"prompt": "a b", "completion": "c"}, True),
    "one message": ({"messages": [{"role": "system", "content": "Be brief."}, ASK, ANSWER]}, True),
    "two messages": ({"messages": [ASK, ANSWER, ASK, ANSWER]}, False),
}


def remarks(path, row, **options):
    path.write_text(json.dumps(row) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loquent.task("generation", source="path", path=str(path), **options).rows("train")
    return [
        str(one.message) for one in caught if one.category is Remark and "has no effect" in str(one.message)
    ]


@pytest.mark.parametrize("name", ROWS)
def test_turns_without_a_reply_are_in_vain(name, tmp_path):
    row, in_vain = ROWS[name]
    said = remarks(tmp_path / "train.jsonl", row, turns=3)
    assert len(said) == in_vain
    assert all(text.startswith("task.turns = 3 has no effect: ") for text in said)
    assert remarks(tmp_path / "train.jsonl", row) == []
    assert remarks(tmp_path / "train.jsonl", row, turns=3, user={"kind": "script", "texts": ["so?"]}) == []
