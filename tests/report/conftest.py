"""One browser for all tests that open pages: a browser takes a second to start."""

import pytest

from helpers.report import chromium


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    """A browser with one tab; skips where no Chromium is installed."""
    if chromium.found() is None:
        pytest.skip("no Chromium is installed here, so no page is opened")
    browser = chromium.Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def tab(started):
    """The tab of the browser."""
    return started
