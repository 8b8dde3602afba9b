"""Translation from English to German: WMT-16, and IWSLT-2017 (talks).

A record has `translation` with `en` and `de`, as on the hub. A folder holds such JSON lines, or parallel
files `NAME.en` and `NAME.de`: plain text; SGML or XML, whose `<seg>` elements are read; or IWSLT's
`train.tags`, where lines that begin with a tag are no sentences. A pair with a blank side is left out, and so
is a test set of WMT (`newstest2014`) that is neither the validation set of 2016 nor its test set.
"""

from __future__ import annotations

from collections.abc import Mapping

from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, text, texts, without_blanks


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """The row of a pair of sentences; a built-in record may have several translations."""
    pair = record.get("translation", record)
    if not isinstance(pair, Mapping) or "de" not in pair:
        raise ValueError("the field 'translation' must hold a mapping with `en` and `de`")
    references = without_blanks(texts(pair["de"], "the German sentences"))
    if not references:
        raise ValueError("the German sentence is blank; it must hold a text")
    return [Example({"source": text(pair, "en")}, references, {})]
