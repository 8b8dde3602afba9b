"""Settings every test needs before torch is imported: no spinning threads, no network, no telemetry."""

import gc
import os
import tempfile

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# each of some hundred processes would compile the package again, for a second or two
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# the key that marks runs is not this user's own
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="loquent-state-")

from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "loquent", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("loquent")

BESIDE = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the checks that take minutes")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each process takes modules that stand together, so that a fixture of a module is made once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    sweeps = {}
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with --slow"))
        elif sweep := item.get_closest_marker("sweep"):
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append((item, sweep.args))
    for cases in sweeps.values():
        kept = [item for item, chosen in cases if _is_kept(item.callspec.id, *chosen)] or [cases[0][0]]
        for item, _ in cases:
            if item not in kept:
                item.add_marker(pytest.mark.skip(reason="one more case of a rule; run with --slow"))


def _is_kept(case, first, *others):
    """Whether a case runs by default: one that is named, or one in `first`, whatever their order."""
    return case in (first, *others) if isinstance(first, str) else crc32(case.encode()) % first == 0


def pytest_terminal_summary(terminalreporter):
    """Say why tests were skipped, by reason and number."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        if isinstance(report.longrepr, tuple | list)
        else "no reason"
        for report in terminalreporter.stats.get("skipped", ())
    )
    if reasons:
        terminalreporter.section(f"{reasons.total():,} skipped tests by reason")
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
            terminalreporter.line(f"{count:6,}  {reason}")


@pytest.fixture(scope="module", autouse=True)
def few_objects():
    """A collection of garbage visits what this module makes, and not the millions that others keep."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def beside():
    """The folder of real data and weights beside the checkout; skips where it is absent."""
    if not BESIDE.is_dir():
        pytest.skip(f"the folder {BESIDE.name}/ with real data is not beside this checkout")
    return BESIDE


@pytest.fixture(scope="session")
def wordle_games(tmp_path_factory):
    """The folder of some games of Wordle, shared by all processes of the tests."""
    from helpers import trained

    return trained.once(tmp_path_factory, "wordle_games", trained.wordle_games)


@pytest.fixture(scope="session")
def base_run(tmp_path_factory):
    """The folder of a small base model's run, shared by all processes of the tests."""
    from helpers import trained

    return trained.once(tmp_path_factory, "base", trained.base) / "base"
