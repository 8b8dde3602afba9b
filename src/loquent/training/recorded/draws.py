"""Draws of rows from a recording, in an order that depends on a key."""

from __future__ import annotations

from typing import Any

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.models.tokens.batch import TokenBatch


class Draws:
    """Draws rows of a recording: each row once in a pass, and each pass in a new order.

    A resumed run continues its pass.
    """

    def __init__(self, batch: TokenBatch, digest: str, key: Key) -> None:
        self.batch, self.digest = batch, digest
        self._sampler = Sampler(Pool(tuple(Row(str(i)) for i in range(len(batch)))), key)

    def draw(self, rows: int) -> TokenBatch:
        """The next rows."""
        return self.batch.take([int(row.id) for row in self._sampler.draw(rows)])

    @property
    def passes(self) -> float:
        """The number of passes over the recording so far; an unfinished pass counts as a fraction."""
        return self._sampler.epoch + self._sampler.place / self._sampler.size

    def state_dict(self) -> dict[str, Any]:
        """The position, and the digest of the recording."""
        return {"digest": self.digest, **self._sampler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the position; BadCheckpoint if the recorded episodes have changed."""
        if (saved := saved_state.field(state, "digest")) != self.digest:
            what = "training.data, its filters or its layout have changed"
            raise BadCheckpoint(
                f"{what}: the digest of the episodes was {saved} and is {self.digest} now; resume with the "
                "data of the run"
            )
        self._sampler.load_state_dict(state)


def summary(batch: TokenBatch, draws: Draws) -> dict[str, float]:
    """The values under the `data/` keys of `logged.LOGGED`."""
    return {
        "data/return": float(batch.reward[batch.is_action].double().sum()) / len(batch),
        "data/tokens": float(batch.is_action.sum()) / len(batch),
        "data/passes": draws.passes,
    }
