"""A local folder in the hub's format: what its card names lies inside it.

The library `datasets` opens whatever address the card of a folder gives as `data_files`. A folder on this
machine is read without a network, so its card may name files inside it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from loquent.core import safe_yaml
from loquent.core.guards import opening
from loquent.errors import BadSetting

MOST = 4 << 20  # bytes of a card


def check(folder: Path) -> None:
    """Check that the configurations of a folder's cards name files inside the folder alone.

    A page is read as `datasets` reads it, so that it sees what was checked.

    Raises:
        BadSetting: one names an address, or a place outside the folder; or the card cannot be read.
    """
    for name, read in (("README.md", _of_page), (".huggingface.yaml", _of_yaml)):
        file = folder / name
        if not file.exists():
            continue
        try:
            card = read(opening.whole(file, MOST).decode("utf-8-sig"))
        except Exception as error:  # the library raises many kinds
            raise BadSetting(f"{file}: its configurations cannot be read ({error})") from error
        configurations = card.get("configs") if isinstance(card, Mapping) else None
        for text in _texts(configurations, set()):
            if _is_outside(text):
                raise BadSetting(
                    f"{file}: configs names {text!r:.200}; a folder on this machine names files inside it "
                    "alone, by paths from the folder"
                )


def without_media(rows: Any) -> Any:
    """The table without columns of pictures, sounds or films, which `datasets` would open file by file."""
    return rows.remove_columns([name for name, feature in rows.features.items() if _is_media(feature)])


def _is_media(feature: Any) -> bool:
    if hasattr(feature, "decode_example"):
        return type(feature).__name__ != "Json"  # any value of JSON, stored as a text
    inside = feature.values() if isinstance(feature, Mapping) else (getattr(feature, "feature", None),)
    return any(_is_media(item) for item in inside if item is not None)


def _of_yaml(text: str) -> Any:
    return safe_yaml.parse(text, "the file").bare()


def _of_page(text: str) -> Any:
    from huggingface_hub import DatasetCard

    data: Any = DatasetCard(text, ignore_metadata_errors=True).data
    return data.to_dict()


def _is_outside(text: str) -> bool:
    path = PurePosixPath(text)
    return "://" in text or "::" in text or path.is_absolute() or bool({"..", "~"} & set(path.parts))


def _texts(value: Any, seen: set[int]) -> Iterator[str]:
    """All texts in a value, keys of mappings too; what stands in several places is read once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple) and id(value) not in seen:
        seen.add(id(value))
        for item in (*value, *value.values()) if isinstance(value, Mapping) else value:
            yield from _texts(item, seen)
