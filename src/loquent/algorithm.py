"""An algorithm: how a model learns from batches, and how it acts. No task, no tokenizer, no file inside."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

from loquent.agent import Agent
from loquent.episode import Episode


@runtime_checkable
class Algorithm(Protocol):
    """What the training loop calls, in this order: agent, (play, score), prepare, update, after_update.

    Recorded episodes are prepared once, as one batch, of whose rows each update is given some.
    """

    Config: ClassVar[type]
    """The settings: a frozen dataclass of `setting` fields, what `algorithm:` of a recipe may hold."""
    name: str
    """What its agents and its error messages are called by."""
    scored: bool
    """Whether its batches carry the log-probabilities and values of all networks, from `score`."""
    reads: tuple[str, ...]
    """What it can learn from: "play" (its own agent's), "expert" (another agent plays), "data" (recorded episodes); what stands first is
    what it learns from unless the recipe says so."""

    def agent(self, model: Any, evaluating: bool) -> Agent:
        """The agent this algorithm acts with: its support, its decoding."""
        ...

    def prepare(self, batch: Any) -> Any:
        """Form rewards, advantages and targets from a scored batch; pure."""
        ...

    def update(self, model: Any, batch: Any) -> dict[str, float]:
        """Learn from one prepared batch; returns the logged values of the whole update."""
        ...

    def after_update(self, model: Any) -> dict[str, float]:
        """What happens between updates: controllers move, target and mask models follow."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that influences the future, optimizer, controllers and counters included."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        ...


@runtime_checkable
class Playing(Protocol):
    """An algorithm that owns its collecting, as learners of other libraries do: beside acting and its state it has these two.

    Its class makes its own model, `make_actor(config, task, key)`, and names in `unused` the sections of a recipe that say nothing to it.
    """

    def sit(self, table: Any, updates: int) -> None:
        """Begin to play at a table of live games (`adapters.table.Table`), for a run of so many updates."""
        ...

    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: actions in the live games, with learning in between. The games that ended, and what is logged."""
        ...
