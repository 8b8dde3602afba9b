"""Every code block of the docs runs and prints what the page says.

Every registered name and every extra has its place.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from helpers import docs_blocks
from loquent.core import registry
from loquent.training import recipes

HERE = Path(__file__).resolve().parents[1]
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))]
PAGE_OF = {
    "task": "tasks.md",
    "algorithm": "algorithms.md",
    "agent": "agents.md",
    "reward": "rewards.md",
    "metric": "metrics*.md",
    "design": "data.md",
    "featurizer": "features.md",
    "recipe": "recipes.md",
}


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A folder of its own, with the registry, the path and the modules as they were when the page is done."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before, names = set(sys.modules), {kind: dict(found) for kind, found in registry._names.items()}
    yield tmp_path
    for kind, found in names.items():
        registry._names[kind].clear()
        registry._names[kind].update(found)
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page, room, request):
    docs_blocks.run(page, room, slow=request.config.getoption("--slow"))


def test_the_pages_have_blocks_to_run():
    """The test above would also pass on pages without code."""
    found = {
        page.name: [block.language for block in docs_blocks.blocks(page.read_text()) if not block.slow]
        for page in PAGES
    }
    for name in (
        "README.md",
        "first-run.md",
        "your-own-reward.md",
        "your-own-task.md",
        "your-own-algorithm.md",
        "data.md",
        "gymnasium.md",
        "wordle.md",
    ):
        assert {"python", "console"} & set(found[name]), name


PAGE = (
    "# A page\n\n```python\nx = 1\nprint(x)\n```\n\n```text\n{}\n```\n\nWords.\n\n```console\n$ python "
    "-c 'print(1); print(2); print(3)'\n{}\n```\n"
)


def write(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("printed", "listed"), [("1", "1\n2\n3"), ("...", "..."), ("1", "1\n...\n3"), ("1", "1\n...")]
)
def test_a_true_page_passes(room, printed, listed):
    assert docs_blocks.run(write(room, PAGE.format(printed, listed)), room, slow=False) == 2


@pytest.mark.parametrize(
    ("printed", "listed"), [("2", "1\n2\n3"), ("1", "1\n2"), ("1", "1\n...\n4"), ("", "1\n2\n3"), ("1", "")]
)
def test_a_false_page_is_caught(room, printed, listed):
    with pytest.raises(AssertionError, match=r"page\.md:"):
        docs_blocks.run(write(room, PAGE.format(printed, listed)), room, slow=False)


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```\n",
        "```console\n$ loquent list nothing\n```\n",
        "```console\n$ rm -r x\n```\n",
        "```console\n$ python -c 'import urllib.request as r; "
        'r.urlopen("http://127.0.0.1:9")\'\nnever printed\n```\n',
        "<!-- slow -->\n```python\n1 / 0\n```\n",
    ],
)
def test_a_failing_block_is_caught(room, text):
    with pytest.raises(AssertionError, match=r"page\.md:"):
        docs_blocks.run(write(room, text), room, slow=True)


def test_slow_blocks_wait_and_files_are_written(room):
    slow = "<!-- slow -->\n```python\n1 / 0\n```\n\n"
    file = "<!-- file: own.py -->\n```python\nx = 5\n```\n\n"
    reads = "```python\nimport own\nprint(own.x)\n```\n```text\n5\n```\n"
    assert docs_blocks.run(write(room, slow + file + reads), room, slow=False) == 1


def headings(text):
    """The code names in a page's headings: "## `ppo`" or "## `ppo`: ..."."""
    return {
        name for line in text.splitlines() if line.startswith("#") for name in re.findall(r"`([^`]+)`", line)
    }


def undocumented(kind, names, text):
    return sorted(set(names) - headings(text))


def known(kind):
    """The registered names of a kind; a recipe's files in the package are its registration."""
    return recipes.names() if kind == "recipe" else registry.names(kind)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_registered_name_has_its_section(kind):
    names = known(kind)
    text = "\n".join(page.read_text() for page in sorted((HERE / "docs").glob(PAGE_OF[kind])))
    assert undocumented(kind, names, text) == []
    assert undocumented(kind, [*names, "forgotten"], text) == ["forgotten"], "it can fail"


def logged():
    """The rows of every key that a run logs; learners may mean different things by one key."""
    from loquent.algorithms.logged_keys import BUILT_IN
    from loquent.bench.annotation import session
    from loquent.core.log_keys import LOGGED

    assert BUILT_IN.keys() == set(registry.names("algorithm"))
    return {
        f"| `{key}` | {unit} | {meaning.replace('|', chr(92) + '|')} |"
        for table in (LOGGED, session.LOGGED, *BUILT_IN.values())
        for key, (unit, meaning, _) in table.items()
    }


def test_every_logged_key_is_defined_on_its_page():
    page = (HERE / "docs" / "logged.md").read_text()
    assert sorted(row for row in logged() if row not in page) == []
    assert "| `policy/forgotten` |" not in page, "it can fail"


def test_the_readme_lists_every_extra():
    extras = set(tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    table = set(re.findall(r"^\| `loquent\[(\w+)\]`", (HERE / "README.md").read_text(), re.MULTILINE))
    assert table == extras


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, HERE / "CONTRIBUTING.md", HERE / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_page_is_out_of_reach():
    index = (HERE / "docs" / "index.md").read_text()
    assert (
        sorted(page.name for page in PAGES[1:] if page.name != "index.md" and f"({page.name})" not in index)
        == []
    )


def test_the_readme_test_command_is_what_ci_runs():
    command = (
        re.search(r"^pip install .* && (pytest.*)$", (HERE / "README.md").read_text(), re.MULTILINE)
        .group(1)
        .split("#")[0]
        .strip()
    )
    script = (HERE / ".ci" / "run").read_text()
    assert f"-m {command.replace('pytest', 'pytest -q', 1)}" in script
    assert subprocess.run(["bash", "-n", str(HERE / ".ci" / "run")], check=False).returncode == 0
