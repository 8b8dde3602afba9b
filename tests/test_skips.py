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
SWEEPS = """
import pytest
@pytest.mark.sweep(4)
@pytest.mark.parametrize("i", range(10))
@pytest.mark.parametrize("j", range(10))
def test_one_in_four(i, j):
    pass
@pytest.mark.sweep("a", "c")
@pytest.mark.parametrize("name", "abcd")
def test_two_by_name(name):
    pass
@pytest.mark.sweep("renamed")
@pytest.mark.parametrize("name", "abcd")
def test_never_none(name):
    assert name == "a"
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


def test_a_sweep_runs_some_of_its_cases_and_at_night_all(pytester, request):
    pytester.makeconftest((request.config.rootpath / "tests" / "conftest.py").read_text())
    pytester.makepyfile(SWEEPS)
    few, same = (pytester.inline_run("-p", "no:cacheprovider") for _ in range(2))
    ran = [call.nodeid for call in few.getreports("pytest_runtest_logreport") if call.when == "call"]
    assert 18 <= sum("one_in_four" in name for name in ran) <= 32
    assert {name[-2] for name in ran if "by_name" in name} == {"a", "c"}
    assert [name[-2] for name in ran if "never" in name] == ["a"]
    assert ran == [c.nodeid for c in same.getreports("pytest_runtest_logreport") if c.when == "call"]
    assert sum(map(len, pytester.inline_run("--slow", "-p", "no:cacheprovider").listoutcomes())) == 108
