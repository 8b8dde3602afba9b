"""The best threshold of a stopping rule: by hand, and against trying every score."""

import numpy as np
import pytest

from loquent.statistics.stopping import best_threshold


def test_the_best_threshold_by_hand():
    # stopping at 0.3 earns 0, at 0.6 earns 1; at 0.5 it earns 1, and 0 is left if it never stops
    scores = [np.array([0.3, 0.6]), np.array([0.5])]
    values = [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0])]
    threshold, value = best_threshold(scores, values)
    assert (threshold, value) == (pytest.approx(0.4), 1.0)
    # who earns most without a stop never stops, and who loses by each command stops at once
    assert best_threshold([np.array([0.2])], [np.array([0.0, 1.0])]) == (pytest.approx(1.2), 1.0)
    assert best_threshold([np.array([0.2])], [np.array([1.0, 0.0])]) == (pytest.approx(-0.8), 1.0)
    assert best_threshold([np.array([])], [np.array([0.7])])[1] == 0.7  # no state to stop in


def test_no_score_is_a_better_threshold():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, size=30)
    scores = [rng.random(length).round(2) for length in lengths]
    values = [rng.random(length + 1) for length in lengths]

    def mean(threshold):
        firsts = [next((i for i, one in enumerate(own) if one >= threshold), len(own)) for own in scores]
        return np.mean([own[i] for own, i in zip(values, firsts)])

    threshold, value = best_threshold(scores, values)
    assert mean(threshold) == pytest.approx(value)
    assert value == pytest.approx(max(mean(one) for one in [*np.concatenate(scores), 2.0]))
