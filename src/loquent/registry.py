"""Names to things: `register(kind, name, "module:Name")` keeps a string, `find(kind, name)` imports it when asked."""

from __future__ import annotations

import importlib
from typing import Any

from loquent.errors import BadSetting, UnknownName

KINDS = ("task", "algorithm", "agent", "reward", "metric", "featurizer", "recipe")

_names: dict[str, dict[str, str]] = {
    "task": {
        "generation": "loquent.tasks.generation.task:Generation",
        "wordle": "loquent.tasks.wordle.task:Wordle",
        "tagging": "loquent.tasks.tagging.task:Tagging",
        "multilabel": "loquent.tasks.multilabel.task:MultiLabel",
        "multiple_choice": "loquent.tasks.multiple_choice.task:MultipleChoice",
    },
    "algorithm": {
        "supervised": "loquent.algorithms.supervised:Supervised",
        "ppo": "loquent.algorithms.ppo:PPO",
        "nlpo": "loquent.algorithms.nlpo:NLPO",
        "cloning": "loquent.algorithms.cloning:Cloning",
        "filtered_cloning": "loquent.algorithms.filtered_cloning:FilteredCloning",
        "monte_carlo": "loquent.algorithms.monte_carlo:MonteCarlo",
        "ilql": "loquent.algorithms.ilql:ILQL",
        "cql": "loquent.algorithms.cql:CQL",
        "psi": "loquent.algorithms.psi:Psi",
        "decision_transformer": "loquent.algorithms.decision_transformer:DecisionTransformer",
        "chai": "loquent.algorithms.chai:Chai",
        "ilql_utterance": "loquent.algorithms.ilql_utterance:UtteranceILQL",
        "sb3/double_dqn": "loquent.algorithms.sb3.learners:DoubleDQN",
        "sb3/ppo": "loquent.algorithms.sb3.learners:PPO",
        "sb3/a2c": "loquent.algorithms.sb3.learners:A2C",
        "sb3/maskable_ppo": "loquent.algorithms.sb3.learners:MaskablePPO",
        "sb3/trpo": "loquent.algorithms.sb3.learners:TRPO",
        "sb3/cloning": "loquent.algorithms.sb3.cloning:Cloning",
    },
    "agent": {
        "random": "loquent.agents.scripted:Random",
        "expert": "loquent.agents.scripted:Expert",
        "majority": "loquent.agents.constant:Majority",
        "constant": "loquent.agents.constant:Constant",
        "http": "loquent.agents.http:Http",
        "human": "loquent.agents.human:Human",
        "replay": "loquent.agents.replay:Replay",
        "wordle/start_word": "loquent.tasks.wordle.experts:StartWord",
        "wordle/optimal": "loquent.tasks.wordle.experts:Optimal",
        "wordle/perfect": "loquent.tasks.wordle.perfect:Perfect",
        "wordle/repeat": "loquent.tasks.wordle.experts:Repeat",
        "wordle/random_mixture": "loquent.tasks.wordle.experts:RandomMixture",
        "wordle/wrong": "loquent.tasks.wordle.experts:Wrong",
        "wordle/mixture": "loquent.tasks.wordle.experts:Mixture",
        "wordle/monte_carlo": "loquent.tasks.wordle.rollouts:MonteCarlo",
        "wordle/person": "loquent.tasks.wordle.person:Person",
        "wordle/consistent": "loquent.tasks.wordle.experts:consistent",
        "wordle/random": "loquent.tasks.wordle.experts:random",
        "wordle/half": "loquent.tasks.wordle.experts:half",
    },
    "reward": {
        "sentiment": "loquent.rewards.terms:sentiment",
        "lexicon": "loquent.rewards.terms:lexicon",
        "callable": "loquent.rewards.terms:dotted",
        "repetition": "loquent.rewards.penalties:repetition",
        "length": "loquent.rewards.penalties:length",
        "ter": "loquent.metrics.sacre:ter_reward",
        "copying": "loquent.rewards.content:copying",
        "missing_concepts": "loquent.rewards.content:missing_concepts",
        "token_constant": "loquent.rewards.tokens:token_constant",
        "token_specified": "loquent.rewards.tokens:token_specified",
    },
    "metric": {
        "sentiment": "loquent.metrics.sentiment:sentiment",
        "judge": "loquent.metrics.sentiment:judge",
        "lexicon": "loquent.metrics.lexicon:lexicon",
        "perplexity": "loquent.metrics.perplexity:perplexity",
        "text_perplexity": "loquent.metrics.perplexity:text_perplexity",
        "diversity": "loquent.metrics.diversity:diversity",
        "self_bleu": "loquent.metrics.self_bleu:self_bleu",
        "repetition_rate": "loquent.metrics.repetition:repetition_rate",
        "parent": "loquent.metrics.tables.parent:parent",
        "bleu_totto": "loquent.metrics.tables.bleu:bleu_totto",
        "tagging": "loquent.metrics.labels.tokens:tagging",
        "span_f1": "loquent.metrics.labels.tokens:span_f1",
        "multilabel": "loquent.metrics.labels.sets:multilabel",
        "hamming_loss": "loquent.metrics.labels.sets:hamming_loss",
        "accuracy": "loquent.metrics.labels.answers:accuracy",
        "increasing_numbers": "loquent.metrics.synthetic:increasing_numbers",
        "dates": "loquent.metrics.synthetic:dates",
        "rouge": "loquent.metrics.rouge:rouge",
        "rouge_l_max": "loquent.metrics.rouge_l_max:rouge_l_max",
        "bleu": "loquent.metrics.bleu:bleu",
        "sacrebleu": "loquent.metrics.sacre:sacrebleu",
        "chrf": "loquent.metrics.sacre:chrf",
        "ter": "loquent.metrics.sacre:ter",
        "meteor": "loquent.metrics.meteor:meteor",
        "exact_match": "loquent.metrics.squad:exact_match",
        "token_f1": "loquent.metrics.squad:token_f1",
        "cider": "loquent.metrics.cider:cider",
        "concept_coverage": "loquent.metrics.concepts:concept_coverage",
        "spice": "loquent.metrics.spice:spice",
        "watch": "loquent.metrics.watch:watch",
        "bert_score": "loquent.metrics.bert_score:bert_score",
        "bleurt": "loquent.metrics.semantic:bleurt",
        "embedding_similarity": "loquent.metrics.semantic:embedding_similarity",
        "classifier": "loquent.metrics.semantic:classifier",
        "intent_accuracy": "loquent.metrics.intent:intent_accuracy",
        "summac_zs": "loquent.metrics.summac:summac_zs",
        "summac_conv": "loquent.metrics.summac:summac_conv",
    },
    "featurizer": {
        "hashed": "loquent.features.hashed:Hashed",
        "vectors": "loquent.features.vectors:WordVectors",
        "byte_pair": "loquent.features.bytepair:BytePair",
        "contextual": "loquent.features.encoders:Contextual",
        "sentence": "loquent.features.encoders:Sentence",
    },
    "recipe": {},
}


def register(kind: str, name: str, target: str) -> None:
    """Let `name` stand for `target` ("module:Name", or a file's path for a recipe). A later call replaces an earlier one."""
    if kind not in _names:
        raise UnknownName("kind", kind, KINDS)
    _names[kind][name] = target


def names(kind: str) -> list[str]:
    """All registered names of a kind, sorted."""
    if kind not in _names:
        raise UnknownName("kind", kind, KINDS)
    return sorted(_names[kind])


def target(kind: str, name: str) -> str:
    """What a name stands for, as the string that was registered."""
    if name not in _names[kind]:
        raise UnknownName(kind, name, _names[kind])
    return _names[kind][name]


def find(kind: str, name: str) -> Any:
    """The registered thing itself, imported now."""
    return imported(target(kind, name))


def named(kind: str, name: str) -> Any:
    """The thing a registered name or "module:Name" stands for, imported now."""
    return imported(name) if ":" in name else find(kind, name)


def imported(dotted: str) -> Any:
    """The thing that "module:Name" names.

    Raises:
        BadSetting: the text has no colon, the module cannot be imported, or it has no such name.
    """
    module, colon, name = dotted.partition(":")
    if not colon:
        raise BadSetting(f"{dotted!r} is not of the form 'module:name'")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise BadSetting(f"{dotted!r}: there is no module {error.name!r}; is its folder on PYTHONPATH?") from error
        raise
    except AttributeError as error:
        raise BadSetting(f"{dotted!r}: the module {module} has no {name!r}") from error
