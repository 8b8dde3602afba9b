"""The logged values of a run as a list of updates that has columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from loquent.core import log_keys
from loquent.errors import UnknownName, naming_extras
from loquent.statistics.tables import Table

if TYPE_CHECKING:
    import pandas

COUNTS = ("update", "episodes")  # the keys of whole numbers


class Metrics(list[dict[str, Any]]):
    """The lines of a log: `metrics[0]` is the first line, `metrics["rollout/return"]` the column of a key.

    A column is float64[updates], with NaN where an update did not log the key.
    """

    def __init__(self, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(dict(line) for line in lines)

    @property
    def columns(self) -> list[str]:
        """The logged keys, in the order in which they first appear."""
        return list(dict.fromkeys(key for line in self for key in line))

    @overload
    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Metrics: ...

    @overload
    def __getitem__(self, index: str) -> npt.NDArray[np.float64]: ...

    def __getitem__(
        self, index: SupportsIndex | slice | str
    ) -> dict[str, Any] | Metrics | npt.NDArray[np.float64]:
        """A line by its number, some lines by a slice, or a column by its key.

        Only endings that occurred are logged, so an ending is 0 in an update in which it did not occur.

        Raises:
            UnknownName: no update logged the key.
        """
        if isinstance(index, str):
            if not any(index in line for line in self):
                raise UnknownName("logged key", index, self.columns)
            values = [log_keys.value(line, index) for line in self]
            return np.array([np.nan if value is None else float(value) for value in values])
        if isinstance(index, slice):
            return Metrics(super().__getitem__(index))
        return super().__getitem__(index)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with one row per update and one column per key; NaN where an update has no value.

        Raises:
            MissingExtra: pandas is not installed (`loquent[pandas]`).
        """
        with naming_extras("to_pandas"):
            import pandas

        frame = pandas.DataFrame({key: self[key] for key in self.columns})
        whole = [key for key in COUNTS if key in frame and frame[key].notna().all()]
        return frame.astype(dict.fromkeys(whole, "int64"))

    def __repr__(self) -> str:
        return f"Metrics({len(self)} updates; {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        rows = []
        for key in self.columns:
            present = [value for value in self[key].tolist() if not math.isnan(value)]
            ends = [f"{present[i]:.4g}" if present else "–" for i in (0, -1)]
            rows.append([key, *ends, str(len(present))])
        return f"<p>{len(self)} updates</p>{Table(['key', 'first', 'last', 'values'], rows).__html__()}"
