"""PARENT and BLEU of ToTTo against what the official scripts gave, stored in golden/totto.json with their versions."""

import json
from pathlib import Path

import pytest
import totto_pairs
from hypothesis import given
from hypothesis import strategies as st
from laws import check_laws

from loquent.errors import BadRow, BadSetting
from loquent.metric import Context
from loquent.metrics.tables import moses, overlaps
from loquent.metrics.tables.bleu import BleuTotto, bleu_totto
from loquent.metrics.tables.parent import Parent, parent, read
from loquent.metrics.tables.rows import Table, table_of
from loquent.task import Row
from loquent.values import Record, frozen

GOLDEN = json.loads((Path(__file__).parent / "golden" / "totto.json").read_text(encoding="utf-8"))
SUBSETS = {"overall_": "", "overlap_": "/overlap", "nonoverlap_": "/nonoverlap"}
CELLS = (("Year", "Film"), ("1999", "The Matrix"), ("2003", "Reloaded"))


def film(i=0, **fields):
    return Row(f"film{i}", Record(**{"table": CELLS, "highlighted_cells": ((1, 0), (1, 1)), "table_page_title": "Keanu Reeves", **fields}))


def films(n):
    return [film(i, overlap_subset=True) for i in range(n)]


def one(metric, prediction, references, row=None):
    return metric([prediction], [references], [""], [row or film()])


@pytest.mark.data
def test_m7_parent_is_the_official_one(beside):
    predictions, references, rows, _ = totto_pairs.pairs(beside)
    assert len(rows) == GOLDEN["overall_"]["n"] >= 200
    found = Parent()(predictions, references, [""] * len(rows), rows)
    for key, official in (("parent", "f"), ("parent/precision", "precision"), ("parent/recall", "recall")):
        assert [100 * score for score in found.samples[key]] == pytest.approx(GOLDEN["samples"][official], abs=1e-9)
    for subset, mine in SUBSETS.items():
        for part, official in (("", "f"), ("/precision", "precision"), ("/recall", "recall")):
            assert 100 * found.corpus[f"parent{mine}{part}"] == pytest.approx(GOLDEN[subset][official], abs=1e-9)
    alone = Parent(pad=False)(predictions, [own[:1] for own in references], [""] * len(rows), rows).samples["parent"]
    assert [100 * score for score in alone] == pytest.approx(GOLDEN["first_reference_alone"], abs=1e-9)
    assert [100 * score for score in alone] != pytest.approx(GOLDEN["samples"]["f"], abs=1e-9)  # it can fail


@pytest.mark.data
def test_m7_bleu_is_the_official_one(beside):
    predictions, references, rows, _ = totto_pairs.pairs(beside)
    found = BleuTotto()(predictions, references, [""] * len(rows), rows)
    for subset, mine in SUBSETS.items():
        assert 100 * found.corpus[f"bleu_totto{mine}"] == pytest.approx(GOLDEN[subset]["bleu"], abs=1e-9)
    upper = BleuTotto(pad=False)(predictions, references, [""] * len(rows), rows)
    assert 100 * upper.corpus["bleu_totto"] != pytest.approx(GOLDEN["overall_"]["bleu"], abs=1e-9)  # it can fail
