"""ROC-AUC and calibration by hand and beside scikit-learn."""

import numpy as np
import pytest

from loquent.statistics.classification import calibration_error, reliability, roc_auc


def test_roc_auc_by_hand():
    # pairs (positive, negative): 3 > 1, 3 > 2, 2 > 1, and 2 = 2 counts one half: 3.5 of 4
    assert roc_auc([3, 2, 1, 2], [True, True, False, False]) == 3.5 / 4
    assert roc_auc([1, 2], [True, True]) is None
    assert roc_auc([], []) is None


def test_roc_auc_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    for size in (2, 5, 40):
        scores = generator.integers(0, 6, size).astype(float)
        positive = np.arange(size) % 2 == 0
        assert roc_auc(scores, positive) == pytest.approx(metrics.roc_auc_score(positive, scores))


def test_calibration_by_hand():
    table = reliability([0.5, 0.55, 0.95, 1.0], [True, False, True, True], low=0.5, bins=5)
    assert [(one.n, one.share) for one in table] == [(2, 0.5), (2, 1.0)]
    assert [one.mean for one in table] == pytest.approx([0.525, 0.975])
    assert (table[0].low, table[1].high) == pytest.approx((0.5, 1.0))
    assert calibration_error(table) == pytest.approx(0.5 * 0.025 + 0.5 * 0.025)
    assert calibration_error([]) is None
