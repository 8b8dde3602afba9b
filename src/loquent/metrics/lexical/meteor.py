"""METEOR (Banerjee and Lavie 2005; Lavie and Agarwal 2007): words aligned in three stages.

Lower-cased words of the prediction are aligned with those of a reference, each with at most one word: first
equal words, then equal Porter stems, then WordNet synonyms. With m aligned words in c chunks (runs that are
contiguous in both texts)

    P = m / words of the prediction      R = m / words of the reference
    F = PR / (alpha P + (1 - alpha) R)
    METEOR = F (1 - gamma (c / m)^beta)

with alpha 0.9, beta 3, gamma 0.5. With several references, the best score counts. The scores equal NLTK's
`meteor_score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.lexical import wordnet
from loquent.metrics.shared_parts import references_as_text, score_samples, stemmer, treebank, with_means

Synonyms = Callable[[str], frozenset[str]]
Alignment = list[tuple[int, int]]  # (place in the prediction, place in the reference)
Placed = list[tuple[int, str]]  # (place, word)


@dataclass(frozen=True, kw_only=True)
class MeteorOptions:
    """Options of the metric `meteor`."""

    wordnet: str = setting(
        "auto",
        "a folder or zip of WordNet; 'auto': NLTK's or Debian's if installed; 'none': no synonyms",
        file=True,
    )
    tokenizer: str = setting(
        "treebank",
        "Treebank tokens of the text; 'nltk': of each sentence (needs punkt_tab)",
        choices=("treebank", "nltk", "whitespace"),
    )
    synonyms: str = setting(
        "stems",
        "look up the synonyms of stems, as NLTK, or of words, as the authors",
        choices=("stems", "words"),
    )
    alpha: float = setting(
        0.9,
        "the weight of P in the denominator of F, and so the weight of recall in F",
        source="Lavie and Agarwal 2007",
        low=0.0,
        high=1.0,
    )
    beta: float = setting(3.0, "the exponent of the penalty", source="Lavie and Agarwal 2007", low=0.0)
    gamma: float = setting(0.5, "the largest penalty", source="Lavie and Agarwal 2007", low=0.0, high=1.0)
    legacy: bool = setting(
        False,
        "score against the list of references as one text, as RL4LMs (arXiv:2210.01241); changes the key",
    )


@dataclass(frozen=True, eq=False)
class Meteor(Share, OneKey):
    """METEOR with three stages, or with two stages and another name if there are no `synonyms`."""

    synonyms: Synonyms | None = None
    tokenize: Callable[[str], list[str]] = str.split
    of_words: bool = False
    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    legacy: bool = False

    @property
    def name(self) -> str:
        """`meteor`, followed by `-exact-stem` without synonyms and by `-legacy` in that form."""
        return (
            "meteor" + ("-exact-stem" if self.synonyms is None else "") + ("-legacy" if self.legacy else "")
        )

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references."""
        read = cache(lambda text: [word.lower() for word in self.tokenize(text)])

        def best(prediction: str, texts: Sequence[str]) -> float:
            return max(self._score(read(prediction), read(text)) for text in texts)

        targets = references_as_text(samples.references) if self.legacy else samples.references
        return with_means({self.name: score_samples(best, samples.predictions, targets)})

    def _score(self, prediction: list[str], reference: list[str]) -> float:
        pairs = align(prediction, reference, stemmer(), self.synonyms, self.of_words)
        if not pairs:
            return 0.0
        precision, recall = len(pairs) / len(prediction), len(pairs) / len(reference)
        mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        return (1 - self.gamma * (chunks(pairs) / len(pairs)) ** self.beta) * mean


@takes(MeteorOptions)
def meteor(context: Context, options: MeteorOptions) -> Meteor:
    """METEOR by exact words, stems and synonyms. Needs loquent[metrics].

    Without WordNet there are no synonyms, and its name is meteor-exact-stem.

    Raises:
        BadSetting: there is no WordNet at `wordnet`, or the tokenizer is NLTK's and its data is not
            installed.
    """
    path = wordnet.find(options.wordnet)
    synonyms = None if path is None else wordnet.load(str(path)).synonyms
    tokenize = _tokenizer(options.tokenizer)
    of_words = options.synonyms == "words"
    return Meteor(synonyms, tokenize, of_words, options.alpha, options.beta, options.gamma, options.legacy)


def align(
    prediction: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str],
    synonyms: Synonyms | None,
    of_words: bool = False,
) -> Alignment:
    """The pairs of places of aligned words, in the order of the prediction.

    Each stage takes the prediction's words from the last to the first, each with the last free word that
    matches. This is NLTK's choice; it may not have the fewest chunks. As in NLTK, synonyms are those of the
    stems ("happi" has none), unless `of_words`.
    """
    pairs: Alignment = []
    left = _match(list(enumerate(prediction)), list(enumerate(reference)), pairs=pairs, synonyms=None)
    if left[0] and left[1]:
        left = _match(
            *([(place, stem(word)) for place, word in side] for side in left), pairs=pairs, synonyms=None
        )
    if synonyms is not None and left[0] and left[1]:
        if of_words:
            left = (
                [(place, prediction[place]) for place, _ in left[0]],
                [(place, reference[place]) for place, _ in left[1]],
            )
        _match(*left, pairs=pairs, synonyms=synonyms)
    return sorted(pairs)


def _match(
    prediction: Placed, reference: Placed, *, pairs: Alignment, synonyms: Synonyms | None
) -> tuple[Placed, Placed]:
    """Add the pairs of one stage to `pairs`; returns the unmatched words of both sides."""
    free: dict[str, list[int]] = {}
    for place, word in reference:
        free.setdefault(word, []).append(place)
    left, matched = [], set()
    for place, word in reversed(prediction):
        if synonyms is not None:
            candidates = (word, *(free.keys() & synonyms(word)))
            word = max(candidates, key=lambda candidate: free[candidate][-1] if free.get(candidate) else -1)
        if free.get(word):
            matched.add(free[word][-1])
            pairs.append((place, free[word].pop()))
        else:
            left.append((place, word))
    return left[::-1], [pair for pair in reference if pair[0] not in matched]


def chunks(pairs: Alignment) -> int:
    """The number of runs that are contiguous in both texts."""
    return 1 + sum(b[0] != a[0] + 1 or b[1] != a[1] + 1 for a, b in pairwise(pairs))


def _tokenizer(name: str) -> Callable[[str], list[str]]:
    if name == "whitespace":
        return str.split
    tokenize = treebank()
    if name == "treebank":
        return tokenize
    from nltk.tokenize import word_tokenize

    try:
        word_tokenize("a")
    except LookupError as error:
        raise BadSetting(
            "meteor.tokenizer = 'nltk' needs NLTK's punkt_tab, which is in none of its folders. "
            "Install punkt_tab, or use 'treebank', which needs no data"
        ) from error
    sentences: Callable[[str], list[str]] = word_tokenize
    return sentences
