"""The study of docs/evidence.md, with fewer repetitions."""

import pytest
from study import seed_intervals, seen, two_way_intervals, wrong_decisions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_hold_the_mean_and_tables_are_rarely_wrong(count):
    """Standard errors of the shares are about 1 point."""
    assert 92 <= seed_intervals(count, 1000)["normal"] <= 98
    rates = two_way_intervals(count, 500)
    assert all(91 <= rate <= 98 for name, rate in rates.items() if name.endswith("rows"))
    assert rates["mostly rows, 50 rows, seeds alone"] < 65, "intervals over seeds alone leave rows out"
    rates = wrong_decisions(count, 500)
    assert rates["Holm"] <= 7
    assert rates["uncorrected"] > rates["Holm"]
    assert 70 <= seen(count, 500)["seen"] <= 87
