"""A dataset, a reward and a featurizer of one's own, a few lines each: appendix A.4 of arXiv:2011.08272.

python examples/custom_parts.py

A recipe names them by module, from the folder they stand in: `task.reward=custom_parts:careful`,
`algorithm.features={kind: custom_parts:Shapes}`.
"""

from dataclasses import dataclass

import gymnasium
import numpy as np

import loquent  # noqa: F401 - it makes the environments known
from loquent.data.features import Featurizer

# A.4.1: samples are mappings; JSON lines and CoNLL files are read by `source="path"`
SAMPLES = (
    {"text": "Ada lives in Paris", "labels": ["PER", "O", "O", "LOC"], "split": "train"},
    {"text": "Paris is large", "labels": ["LOC", "O", "O"], "split": "train", "weight": 2.0},
    {"text": "Ada left", "labels": ["PER", "O"], "split": "test"},
)


def careful(observation, action, targets):
    """A.4.2: a name that is missed costs nothing, one that is made up costs 1, one that is found earns 1."""
    right = targets[observation.fields["position"]]
    return 0.0 if action == "O" else 1.0 if action == right else -1.0


@dataclass(frozen=True, kw_only=True)
class Shapes(Featurizer):
    """A.4.3: a word's capital, its digits and its length.

    It keeps nothing of a game, so environments can share it.
    """

    longest: int = 12

    dimension, bound = 3, 1.0

    def encode(self, texts):
        rows = [
            [text[:1].isupper(), any(map(str.isdigit, text)), min(1.0, len(text) / self.longest)]
            for text in texts
        ]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)


if __name__ == "__main__":
    env = gymnasium.make(
        "loquent/SequenceTagging-v0", source="samples", samples=SAMPLES, labels=("O", "PER", "LOC"),
        reward=f"{__name__}:careful",
        view="vector", featurizer=Shapes(), priority_scale=1.0,
    )  # fmt: skip
    seen, info = env.reset(options={"split": "test", "index": 0})
    print(seen.tolist())
    for label in ("PER", "LOC"):
        seen, reward, over, _, info = env.step(env.unwrapped.task.labels.index(label))
        print(label, reward, seen.tolist())
    print(over, info["prediction"], info["target"])
