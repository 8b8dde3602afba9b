"""A run on disk: its recipe, what it logged, its model. `load_run(folder)` gives one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loquent import checkpoint, recipe, registry
from loquent.agent import Agent
from loquent.agents.language_model import LanguageModelAgent
from loquent.errors import BadCheckpoint
from loquent.evaluate import Evaluation, build_metrics, evaluate_agent
from loquent.metric import Context
from loquent.pretrained import LanguageModel
from loquent.recipe import Recipe
from loquent.rewards import compose
from loquent.seeding import Key
from loquent.start import make_actor, make_format, make_task
from loquent.task import Task


@dataclass(frozen=True)
class Run:
    """A finished or running run's folder."""

    folder: Path

    @property
    def recipe(self) -> Recipe:
        """The recipe with every default written out, as it was when the run began."""
        return recipe.load(self.folder / "config.yaml")

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What was logged, one object per update."""
        return list(checkpoint.read_lines(self.folder / "metrics.jsonl"))

    @property
    def evaluation(self) -> dict[str, Any]:
        """The evaluation at the end of the run."""
        path = self.folder / "evaluation.json"
        if not path.is_file():
            raise BadCheckpoint(f"{self.folder} has not come to its end: {path.name} is missing")
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadCheckpoint(f"{path} is torn ({error}); delete it, and `loquent resume {self.folder}` evaluates again") from error
        return found

    @property
    def fingerprint(self) -> str:
        """A hash of what the run did: its policy's weights, all it logged, and its last evaluation. Equal runs have equal ones."""
        found = hashlib.sha256()
        for path in sorted(checkpoint.policy_folder(self.folder).glob("*.safetensors")):
            found.update(path.read_bytes())
        found.update(json.dumps([self.metrics, self.evaluation], sort_keys=True).encode())
        return found.hexdigest()[:16]

    def task(self) -> Task:
        """The task the run was trained on."""
        return make_task(self.recipe)

    def agent(self, **decoding: Any) -> Agent:
        """The best or newest policy as its algorithm acts in evaluation: masked where a recipe says so, decoding as it says.

        Args:
            decoding: fields of the recipe's `evaluation` to replace, as in `max_new_tokens=5`.
        """
        return self._acting(**decoding)[0]

    def evaluate(self, *, split: str = "test", episodes: int = 200, seed: int = 0) -> Evaluation:
        """Evaluate the best or newest policy on held-out rows, with the recipe's rewards and metrics."""
        agent, language = self._acting()
        return _evaluated(self.recipe, agent, language, split, episodes, seed)

    def _acting(self, **decoding: Any) -> tuple[Agent, LanguageModel | None]:
        """The algorithm's own agent, from the state of the chosen checkpoint, and the language model behind it, where there is one.

        The reference is that of learning alone: a copy of the policy stands in its place, so what it was made from may be gone.
        """
        chosen, settings = checkpoint.policy_folder(self.folder).parent, self.recipe
        state = checkpoint.load(chosen, reference=False)
        reference = "none" if settings.model.reference == "none" else "copy"
        model = replace(settings.model, path=str(chosen), revision="", reference=reference)
        evaluation = replace(settings.evaluation, **decoding)
        start = replace(settings, model=model, evaluation=evaluation)
        actor = make_actor(start, self.task(), Key(settings.training.seed))
        learned = {name: tensor for name, tensor in state["actor"].items() if not name.startswith("reference.")}
        copied = {name: tensor for name, tensor in actor.state_dict().items() if name.startswith("reference.")}
        algorithm = registry.named("algorithm", settings.algorithm)(settings.config, actor)  # it may attach networks, values say, to the actor
        actor.load_state_dict({**copied, **learned})
        algorithm.load_state_dict(state["algorithm"])
        return algorithm.agent(actor, True), actor.language


def evaluate_language(recipe: Recipe, language: LanguageModel, *, split: str, episodes: int, seed: int) -> Evaluation:
    """Evaluate any language model on a recipe's task, decoding as its `evaluation` says."""
    agent = LanguageModelAgent(language.module, make_format(recipe.model.format, language), recipe.evaluation, name=recipe.name)
    return _evaluated(recipe, agent, language, split, episodes, seed)


def _evaluated(recipe: Recipe, agent: Agent, language: LanguageModel | None, split: str, episodes: int, seed: int) -> Evaluation:
    task = make_task(recipe)
    context = Context(task=task, model=language)
    terms, weights = compose.build(recipe.rewards, context)
    metrics = build_metrics(recipe.metrics, context)
    return evaluate_agent(task, agent, split=split, episodes=episodes, seed=seed, metrics=metrics, terms=terms, weights=weights)


def _no_run(path: Path) -> str:
    """Why a path is no run, and what would be one."""
    if not path.exists():
        return f"there is no folder {path}"
    if path.is_file():
        return f"{path} is a file; the folder of a run is right"
    if runs := sorted(one.name for one in path.glob("seed-*") if (one / "config.yaml").is_file()):
        return f"{path} is no run, it holds runs of several seeds; name one of them: {path / runs[0]}"
    return f"{path} is no run: it has no config.yaml"


def load_run(folder: str | Path) -> Run:
    """The run in a folder; BadCheckpoint when there is none."""
    path = Path(folder)
    if not (path / "config.yaml").is_file():
        raise BadCheckpoint(_no_run(path))
    return Run(path)
