"""A short list of English words that praise or blame, chosen for reviews, and a list of negations.

They stand in `opinion_words.yaml`.
"""

from pathlib import Path

from loquent.core import safe_yaml

TABLES: dict[str, str] = safe_yaml.own(Path(__file__).with_name("opinion_words.yaml"))
POSITIVE, NEGATIVE, NEGATORS = (
    frozenset(TABLES[name].split()) for name in ("positive", "negative", "negators")
)
