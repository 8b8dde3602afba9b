"""A run of tests says at the end why tests were skipped, by reason and number; also in several processes."""

import pytest

pytest_plugins = ["pytester"]
TESTS = """
import pytest
@pytest.mark.parametrize("i", range(3))
def test_absent(i):
    pytest.skip("the folder of data is absent")
@pytest.mark.skip(reason="takes minutes; run with --slow")
def test_slow():
    pass
@pytest.mark.skipif(True, reason="takes minutes; run with --slow")
def test_other():
    pass
def test_passes():
    pass
@pytest.mark.xfail(reason="known")
def test_known():
    assert False
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_the_reasons_of_skips_are_counted(pytester, request, processes):
    pytester.makeconftest((request.config.rootpath / "tests" / "conftest.py").read_text())
    pytester.makepyfile(TESTS)
    ended = pytester.runpytest_subprocess("-n", processes, "-p", "no:cacheprovider")
    ended.assert_outcomes(passed=1, skipped=5, xfailed=1)
    ended.stdout.fnmatch_lines(
        [
            "*5 skipped tests by reason*",
            "     3  the folder of data is absent",
            "     2  takes minutes; run with --slow",
        ]
    )
