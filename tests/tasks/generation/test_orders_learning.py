"""A conversation is learned: the recipes of the orders, as they are."""

import json
from math import sqrt

import pytest

from loquent.cli import main as cli


def share_of(run):
    evaluation = json.loads((run / "evaluation.json").read_text())
    return evaluation["values"]["reward/exact_match"], evaluation["errors"]["reward/exact_match"]


def of_chance(share, rows):
    return share, sqrt(share * (1 - share) / rows)


@pytest.mark.slow
def test_grpo_learns_to_ask_and_to_read_the_replies(tmp_path):
    """It is right more often than its start, than the best policy that reads no reply (1 in 12, see
    test_conversation) and than the best that asks one question (1 in 3), each by five standard errors.
    """
    start, run = tmp_path / "start", tmp_path / "run"
    assert cli.main(["train", "orders_supervised", "--out", str(start)]) == 0
    assert cli.main(["train", "orders_grpo", f"model.path={start}", "--out", str(run)]) == 0
    right, error = share_of(run)
    rows = json.loads((run / "evaluation.json").read_text())["episodes"]
    assert rows == 600
    for other, spread in (share_of(start), of_chance(1 / 12, rows), of_chance(1 / 3, rows)):
        assert right - other > 5 * sqrt(error**2 + spread**2)
