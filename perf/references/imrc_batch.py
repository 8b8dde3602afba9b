"""A batch of games stepped in the way of iMRC's released environment, written anew from its description.

Follows the notes on iMRC, §1 (the environment) and §9 (the costs of its steps).

Every game has its own list of lower-case sentences. A search splits sentence after sentence into tokens. A
step returns the sentences and a dictionary for each game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Datum = tuple[list[str], str, list[str]]  # sentences, question, answers


class Batch:
    """Games that are stepped together; it computes neither memory nor rewards, as the original."""

    def __init__(self, data: Sequence[Datum], most: int = 20) -> None:
        self.data, self.most = data, most

    def reset(self, indices: Sequence[int]) -> tuple[list[str], list[dict[str, Any]]]:
        """Begin games on some data."""
        self.games = [self.data[i] for i in indices]
        self.at = [0 for _ in self.games]
        self.stopped = [False for _ in self.games]
        self.count = 0
        return self.look()

    def look(self) -> tuple[list[str], list[dict[str, Any]]]:
        """The current sentence and the facts of each game."""
        seen, infos = [], []
        for (sentences, question, answers), at, stopped in zip(
            self.games, self.at, self.stopped, strict=True
        ):
            seen.append(sentences[at])
            infos.append({"q": question, "a": answers, "which": at, "stopped": stopped})
        return seen, infos

    def step(self, commands: Sequence[str]) -> tuple[Any, Any]:
        """One command for each game."""
        self.count += 1
        if self.count > self.most:
            return None, None
        for i, command in enumerate(commands):
            sentences, at = self.games[i][0], self.at[i]
            self.stopped[i] = False
            if command == "next":
                self.at[i] = at + 1 if at < len(sentences) - 1 else 0
            elif command == "previous":
                self.at[i] = at - 1 if at > 0 else len(sentences) - 1
            elif command == "stop":
                self.stopped[i] = True
            elif command.startswith("ctrl+f"):
                self.at[i] = self.find(sentences, at, command[len("ctrl+f") :].strip())
            else:
                raise NotImplementedError(command)
        return self.look()

    @staticmethod
    def find(sentences: list[str], at: int, query: str) -> int:
        """The next sentence with a token, cyclically; the current one if there is none."""
        for i in [*range(at + 1, len(sentences)), *range(at + 1)]:
            if query in sentences[i].split():
                return i
        return at
