"""ViLT (arXiv:2102.03334) as an encoder of an image and a sentence, by Hugging Face name or folder."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate

from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel
from loquent.models.turns.inputs import Inputs
from loquent.pretrained.folder import from_pretrained
from loquent.pretrained.language import load_module, transformers_library

LONGEST = 1333 / 800  # the longest edge of an image, as a multiple of the shortest (the model's processor)


class Vilt(nn.Module):
    """The pooled state of a ViLT model, with numbers appended.

    An image is scaled as the model's processor does: the shortest edge to `image_size`, the longest to at
    most 1333 / 800 of it, both rounded down to a multiple of the patch. lilGym's half-size image becomes
    160 x 608 pixels in `dandelin/vilt-b32-mlm`, so a patch is a cell of its grid. All weights learn.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        settings = inputs.settings
        assert inputs.space is not None
        library, revision = transformers_library(), settings.revision or None
        config = from_pretrained(library.AutoConfig, settings.path, revision, "configuration")
        if config.model_type != "vilt":
            raise BadModel(f"{settings.path} is a {config.model_type} model; path must name a ViLT model")
        self.model = load_module(library.AutoModel, settings.path, revision, "cpu", "float32")
        height, wide = (int(edge) for edge in inputs.space.shape[:2])
        self.edges = scaled_size(height, wide, int(config.image_size), int(config.patch_size))
        self.length = int(config.max_position_embeddings)
        self.width = int(config.hidden_size) + len(settings.numbers)

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation."""
        words = features["words"][:, : self.length]
        words = words[:, : max(1, int((words > 0).sum(1).max()))]
        real = (words > 0).long()
        image = features["image"].permute(0, 3, 1, 2).float() / 255
        pixels = interpolate(image, self.edges, mode="bicubic", antialias=True).clamp(0, 1) * 2 - 1
        with borrow_generators(
            Key(0, ("vilt",))
        ):  # the library draws the order of the patches, which has no effect
            state: Tensor = self.model(
                input_ids=(words - 1).clamp(min=0), attention_mask=real, pixel_values=pixels
            ).pooler_output
        return torch.cat([state, features["numbers"]], 1) if "numbers" in features else state

    def hidden_layers(self) -> tuple[nn.Module, nn.Module, tuple[int, int]]:
        """The policy reads the state itself; the value function has a layer of twice the width (lilGym)."""
        layers = (nn.Linear(self.width, 2 * self.width), nn.LayerNorm(2 * self.width), nn.GELU())
        return nn.Identity(), nn.Sequential(*layers), (self.width, 2 * self.width)


def scaled_size(height: int, wide: int, shortest: int, patch: int) -> tuple[int, int]:
    """The size in which ViLT's processor gives an image of height x wide pixels to the model."""
    factor, longest = shortest / min(height, wide), int(LONGEST * shortest)
    edges = factor * height, factor * wide
    if max(edges) > longest:
        edges = longest / max(edges) * edges[0], longest / max(edges) * edges[1]
    high, broad = (int(edge + 0.5) // patch * patch for edge in edges)
    return max(patch, high), max(patch, broad)
