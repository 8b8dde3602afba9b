"""The reward of RL4LMs for CommonGen after preferences (arXiv:2210.01241, appendix B.4.4).

    r = METEOR + P(good) / (1 + number of missing concepts)

P(good) is the probability that a classifier of preferences gives its label for a good text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import Context, Measured, Metric, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.captions import concepts
from loquent.metrics.lexical.meteor import meteor
from loquent.metrics.semantic.semantic import ClassifierOptions, classifier
from loquent.metrics.shared_parts import with_means

NAME = "concept_preference"


@dataclass(frozen=True, kw_only=True)
class ConceptPreferenceOptions(ClassifierOptions):
    """The options of the reward `concept_preference`: those of `classifier`, and these."""

    include_prompt: bool = setting(
        True,
        "classify the prompt and the answer together, not the answer alone",
        source="2210.01241 sec. B.4.4",
    )
    meteor: float = setting(1.0, "the weight of METEOR; RL4LMs' configuration has 0", low=0.0)
    missing: float = setting(
        1.0, "the weight of a missing concept in the denominator; RL4LMs' configuration has 0", low=0.0
    )
    field: str = setting(
        "concepts", "the row's field: a list of texts, or a text separated by spaces, commas or #"
    )
    wordnet: str = setting(
        "auto",
        "of METEOR: a folder or zip of WordNet, 'auto' where it is installed, 'none' for no synonyms",
        file=True,
    )


@dataclass(frozen=True, eq=False)
class ConceptPreference:
    """Per sample METEOR plus the preference over 1 plus the missing concepts; None without references.

    Concepts and mentions are those of the metric `concept_coverage`, so inflected forms count. RL4LMs looked
    for the concept's letters in the answer.
    """

    lexical: Metric
    preference: Metric
    meteor: float = 1.0
    missing: float = 1.0
    field: str = "concepts"
    name: ClassVar[str] = NAME
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = (NAME,)

    def __call__(self, samples: Samples) -> Measured:
        """Score the answers with one call of each part.

        Raises:
            BadModel: the classifier does not have the label.
        """
        (lexical,) = self.lexical(samples).samples.values()
        (preferred,) = self.preference(samples).samples.values()
        scores: list[float | None] = []
        for text, row, word, liked in zip(samples.predictions, samples.rows, lexical, preferred, strict=True):
            wanted = concepts.concepts_of(row.fields.get(self.field))
            left_out = len(concepts.missing_concepts(text, wanted))
            if word is None or liked is None:
                scores.append(None)
            else:
                scores.append(self.meteor * word + liked / (1 + self.missing * left_out))
        return with_means({self.name: scores})


@takes(ConceptPreferenceOptions)
def concept_preference(context: Context, options: ConceptPreferenceOptions) -> ConceptPreference:
    """METEOR plus a preference that missing concepts divide. Needs loquent[train,metrics] and a classifier.

    Raises:
        MissingExtra: NLTK is not installed. BadSetting: there is no WordNet at `wordnet`, or `loquent
            reward` trained the classifier with another `include_prompt`.
    """
    return ConceptPreference(
        meteor(context, wordnet=options.wordnet),
        classifier(
            context,
            path=options.path,
            revision=options.revision,
            device=options.device,
            dtype=options.dtype,
            token_budget=options.token_budget,
            label=options.label,
            include_prompt=options.include_prompt,
        ),
        options.meteor,
        options.missing,
        options.field,
    )
