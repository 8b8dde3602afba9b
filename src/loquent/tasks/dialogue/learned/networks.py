"""The networks of both seats: small transformers over a dialogue's tokens, which attend to an image's slots.

They have the roles of the answering and the question bot of arXiv:1703.06585. Both read a dialogue from left
to right (arXiv:1706.03762, norms first, places by the biases of arXiv:2108.12409). A state knows its own
token and those before it, so one pass learns from all rounds of a dialogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting
from loquent.pretrained.attention import Attention, recent
from loquent.tasks.dialogue.game.protocol import MOST_NUMBERS
from loquent.tasks.dialogue.learned.tokens import ANSWER, LEAST_VOCABULARY, QUESTION, ROLES

EMBEDDING = 0.2  # about as large as what a new block adds; torch's 1 drowns what blocks read in the image


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a seat's network."""

    vocabulary: int = setting(why="ids of tokens", low=LEAST_VOCABULARY, high=1 << 20)
    image: int = setting(why="numbers of an image", low=1, high=MOST_NUMBERS)
    layers: int = setting(why="blocks over the dialogue", low=1, high=64)
    width: int = setting(why="numbers of a state", low=1, high=1 << 13)
    heads: int = setting(why="heads of attention", low=1, high=1 << 8)
    slots: int = setting(why="parts of an image that attention chooses among", low=1, high=1 << 10)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads:
            raise BadSetting(
                f"width = {self.width}; it must be a multiple of heads = {self.heads}; change one of them"
            )


class Block(nn.Module):
    """States attend to those up to themselves, then to an image's slots if there is one; then two layers."""

    def __init__(self, sizes: Sizes, sees: bool) -> None:
        super().__init__()
        width, heads = sizes.width, sizes.heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + sees))
        self.text = Attention(width, heads)
        self.image = Attention(width, heads) if sees else None
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(
        self, states: Float[Tensor, "N T d"], bias: Float[Tensor, "h T T"], shown: Tensor | None = None
    ) -> Float[Tensor, "N T d"]:
        """The next states."""
        normed = self.norms[0](states)
        states = states + self.text(normed, normed, bias)
        if self.image is not None:
            states = states + self.image(self.norms[2](states), shown)
        result: Tensor = states + self.down(functional.gelu(self.up(self.norms[1](states))))
        return result


class Seat(nn.Module):
    """What both networks have: embeddings of tokens and of their roles, blocks, and the scale of images.

    `mean` f[image] and `scale` f[] are those of the training images.
    """

    sees: ClassVar[bool]  # whether the blocks attend to an image

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.tokens = nn.Embedding(sizes.vocabulary, sizes.width)
        self.roles = nn.Embedding(ROLES, sizes.width)
        self.slots = nn.Parameter(torch.randn(sizes.slots, sizes.width))
        self.blocks = nn.ModuleList(Block(sizes, self.sees) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.register_buffer("mean", torch.zeros(sizes.image))
        self.register_buffer("scale", torch.ones(()))
        self.mean: Tensor
        self.scale: Tensor

    def fit_scale(self, images: Float[Tensor, "n i"]) -> None:
        """Take the scale of the training images; equal images have the scale 1."""
        self.mean.copy_(images.mean(0))
        spread = (images - self.mean).square().mean().sqrt()
        self.scale.copy_(spread if spread > 0 else torch.ones(()))

    def in_scale(self, images: Float[Tensor, "N i"]) -> Float[Tensor, "N i"]:
        """Images in the scale of the training images."""
        return (images - self.mean) / self.scale

    def read(
        self, ids: Int[Tensor, "N T"], roles: Int[Tensor, "N T"], shown: Tensor | None = None
    ) -> Float[Tensor, "N T d"]:
        """The last states; a state knows its own token and those before it."""
        bias = recent(ids.shape[1], self.sizes.heads)
        states = self.tokens(ids) + self.roles(roles)
        for block in self.blocks:
            states = block(states, bias, shown)
        last: Tensor = self.norm(states)
        return last


class AnswerNetwork(Seat):
    """Writes answers token by token: its blocks attend to the dialogue so far and to the image's slots."""

    sees = True

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        for embedding in (self.tokens, self.roles):
            nn.init.normal_(embedding.weight, std=EMBEDDING)
        self.image = nn.Linear(sizes.image, sizes.slots * sizes.width)
        self.output = nn.Linear(sizes.width, sizes.vocabulary)

    def forward(
        self,
        ids: Int[Tensor, "N T"],
        roles: Int[Tensor, "N T"],
        images: Float[Tensor, "N i"],
        where: Bool[Tensor, "N T"],
    ) -> Float[Tensor, "n v"]:
        """The logits of the tokens that follow those of `where`, row by row."""
        shown = self.image(self.in_scale(images)).unflatten(1, self.slots.shape) + self.slots
        logits: Tensor = self.output(self.read(ids, roles, shown)[where])
        return logits

    def figures(self, ids: Tensor, roles: Tensor, images: Tensor) -> dict[str, Float[Tensor, " N"]]:
        """By dialogue the mean over its answers.

        `loss` is the cross-entropy, the sum over an answer's tokens, and `accuracy` the share of answers
        whose every token is the most likely one after those before it.
        """
        where = functional.pad(roles[:, 1:] == ANSWER, (0, 1))  # before each token of an answer
        starts = where & (roles != ANSWER)
        logits, right = self(ids, roles, images, where), ids.roll(-1, 1)[where]

        def at_places(values: Tensor) -> Float[Tensor, "N T"]:
            return torch.zeros(ids.shape).masked_scatter(where, values)

        losses = at_places(functional.cross_entropy(logits, right, reduction="none"))
        wrong = at_places((logits.argmax(1) != right).float())
        answer = starts.long().cumsum(1).clamp(min=1) - 1  # the number of the answer
        missed = torch.zeros_like(wrong).scatter_reduce(1, answer, wrong, "amax").sum(1)
        count = starts.sum(1).clamp(min=1)
        return {"loss": losses.sum(1) / count, "accuracy": 1 - missed / count}


class GuessNetwork(Seat):
    """Guesses an image: its slots attend to the dialogue up to the caption's or an answer's mark."""

    sees = False

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        width = sizes.width
        self.attention = Attention(width, sizes.heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.output = nn.Linear(sizes.slots * width, sizes.image)

    def forward(
        self, ids: Int[Tensor, "N T"], roles: Int[Tensor, "N T"], ends: Int[Tensor, "N R"]
    ) -> Float[Tensor, "N R i"]:
        """The guess after each of the places `ends`, in the scale of the training images."""
        states, reads = self.read(ids, roles), ends.shape[1]
        heard = torch.arange(ids.shape[1]) <= ends.repeat_interleave(len(self.slots), 1)[:, None, :, None]
        asked = self.slots.repeat(len(ids), reads, 1)
        filled = asked + self.attention(asked, states, heard)
        filled = filled + self.down(functional.gelu(self.up(self.norms[0](filled))))
        guesses: Tensor = self.output(self.norms[1](filled).unflatten(1, (reads, -1)).flatten(2))
        return guesses

    def figures(self, ids: Tensor, roles: Tensor, images: Tensor) -> dict[str, Float[Tensor, " N"]]:
        """By dialogue the squared error in units of `scale`², the mean over the numbers of an image.

        `loss` is its mean over the rounds, with that before the first one, and `last` that after the last.
        """
        ends, real = ends_of(roles)
        errors = (self(ids, roles, ends) - self.in_scale(images)[:, None]).square().mean(2) * real
        count = real.sum(1)
        return {"loss": errors.sum(1) / count, "last": errors.gather(1, count[:, None] - 1)[:, 0]}


def ends_of(roles: Int[Tensor, "N T"]) -> tuple[Int[Tensor, "N R"], Bool[Tensor, "N R"]]:
    """The places of the marks of captions and answers in order, and which of them are real."""
    following = functional.pad(roles[:, 1:], (0, 1), value=QUESTION)
    marks = (roles != QUESTION) & (following == QUESTION)
    counts = marks.sum(1, keepdim=True)
    most = int(counts.max())
    places = torch.argsort(marks.long(), dim=1, descending=True, stable=True)
    return places[:, :most], torch.arange(most) < counts
