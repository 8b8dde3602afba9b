"""The table of names in the README is that of the registry."""

from pathlib import Path

from loquent.core import registry
from tools import names


def test_the_readme_has_the_registered_names():
    assert names.table() in names.README.read_text(encoding="utf-8"), "run python -m tools.names"


def test_every_kind_is_in_the_table():
    assert set(names.KINDS) == set(registry.KINDS) - {
        "recipe"
    }  # recipes are listed by `loquent list recipes`
    root = Path(names.__file__).parents[1]
    assert all((root / page).is_file() for _, page in names.KINDS.values())
