"""A trained seat and its folder: weights.safetensors, tokenizer.json, and card.json with its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.errors import MissingExtra

try:
    import torch
except ImportError as error:  # pragma: no cover - the extra is installed where tests run
    raise MissingExtra("an answerer or a guesser that is trained", "train") from error

from loquent.core import schema
from loquent.core.guards import tokenizer_files
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.metrics.judges import card
from loquent.pretrained import END
from loquent.tasks.dialogue.learned.networks import AnswerNetwork, GuessNetwork, Seat, Sizes
from loquent.tasks.dialogue.learned.tokens import ANSWER, LONGEST, Encoding, Rounds
from loquent.tasks.dialogue.task import ANSWERER, JUDGE

KIND, TOKENIZER = "dialogue", "tokenizer.json"
ADVICE = "name a folder that train_answerer or train_guesser wrote"

N = TypeVar("N", bound=Seat)


class Trained(Generic[N]):
    """A network with its encoding; it keeps nothing of a dialogue."""

    role: ClassVar[str]
    kind: type[N]

    def __init__(self, network: N, encoding: Encoding) -> None:
        self.network, self.encoding = network.eval(), encoding

    @classmethod
    def start(cls, sizes: Sizes, encoding: Encoding) -> Self:
        """A seat that is not trained, with weights from torch's global generator."""
        return cls(cls.kind(sizes), encoding)

    def save(self, folder: Path, content: Mapping[str, Any]) -> None:
        """Write the seat to a folder, which must not exist or be empty, with more content of its card."""
        from safetensors.torch import save_file

        with atomic.replacing(folder, private=True) as aside:
            aside.mkdir()
            save_file(self.network.state_dict(), aside / card.WEIGHTS)
            self.encoding.tokenizer.save(str(aside / TOKENIZER))
            card.write(aside, KIND, {"role": self.role, "sizes": asdict(self.network.sizes), **content})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The seat of a folder.

        Raises:
            BadSetting: the folder is not one of `save`, is damaged, or has another role.
            BadModel: its tokenizer cannot be used.
            MissingExtra: without the extra "train".
        """
        content, arrays = card.load(folder, KIND, ADVICE)
        if content.get("role") != cls.role:
            found = f"it holds the role {content.get('role')!r:.40}, not {cls.role!r}"
            raise BadSetting(f"{folder}: {found}; {ADVICE}")
        try:
            sizes = schema.read(Sizes, content.get("sizes"), "sizes")
        except (ValueError, BadSetting) as error:
            raise BadSetting(f"{folder / card.CARD}: {error}; {ADVICE}") from error
        encoding = Encoding(tokenizer_files.load(folder / TOKENIZER, "a trained seat"))
        if encoding.end is None or len(encoding) > sizes.vocabulary:
            problem = f"it has {len(encoding)} ids, and {END} is {encoding.end}"
            allowed = f"at most {sizes.vocabulary} ids fit the weights, and {END} must be one of them"
            raise BadSetting(f"{folder / TOKENIZER}: {problem}; {allowed}; {ADVICE}")
        with torch.device("meta"):  # sizes that the weights do not have take no memory
            network = cls.kind(sizes)
        try:
            network.load_state_dict({name: _tensor(array) for name, array in arrays.items()}, assign=True)
        except (RuntimeError, TypeError) as error:
            problem = f"its arrays do not fit together ({str(error)[:300]})"
            raise BadSetting(f"{folder / card.WEIGHTS}: {problem}; {ADVICE}") from error
        return cls(network, encoding)

    def _image(self, image: NDArray[np.floating]) -> torch.Tensor:
        return torch.from_numpy(np.asarray(image, dtype=np.float32))[None]


class TrainedAnswerer(Trained[AnswerNetwork]):
    """Answers a question about an image."""

    role, kind = ANSWERER, AnswerNetwork

    @torch.inference_mode()
    def answer(self, caption: str, history: Rounds, question: str, image: NDArray[np.floating]) -> str:
        """The text of the most likely tokens, one after the other, up to the mark or `LONGEST` tokens."""
        read, shown = self.encoding.dialogue(caption, history, question), self._image(image)
        ids, roles, start = list(read.ids), list(read.roles), len(read.ids)
        while len(ids) < start + LONGEST:
            where = torch.arange(len(ids))[None] == len(ids) - 1
            logits = self.network(torch.tensor([ids]), torch.tensor([roles]), shown, where)[0]
            token = int(logits[: len(self.encoding)].argmax())
            if token == self.encoding.end:
                break
            ids, roles = [*ids, token], [*roles, ANSWER]
        return self.encoding.text(ids[start:])


class TrainedGuesser(Trained[GuessNetwork]):
    """Guesses the features of an image from a dialogue about it."""

    role, kind = JUDGE, GuessNetwork

    @torch.inference_mode()
    def guess(self, caption: str, history: Rounds) -> NDArray[np.float32]:
        """f32[image]: the features that it expects."""
        read = self.encoding.dialogue(caption, history)
        last = torch.tensor([[len(read.ids) - 1]])
        found = self.network(torch.tensor([read.ids]), torch.tensor([read.roles]), last)[0, 0]
        guess: NDArray[np.float32] = (self.network.mean + self.network.scale * found).numpy()
        return guess


SEATS: dict[str, type[Trained[Any]]] = {seat.role: seat for seat in (TrainedAnswerer, TrainedGuesser)}


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    if array.dtype != np.float32:
        raise TypeError(f"an array of {array.dtype}; all must be float32")
    return torch.from_numpy(array)
