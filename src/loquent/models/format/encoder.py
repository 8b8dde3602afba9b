"""Plain text to ids and back, with marker strings as plain characters.

An encoder has a private copy of the tokenizer. It has two if the tokenizer puts a space before a text
(SentencePiece's dummy prefix, ByteLevel's `add_prefix_space`): one as it is, for the first text of a row, and
one without the space, for every text that continues a row. So a prompt and its answer decode to the prompt's
text followed by the answer's.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Any

from tokenizers import Tokenizer

from loquent.core.guards import json_files
from loquent.errors import BadModel, kind_of

CACHED_IDS = 1 << 22  # the number of ids in the cache, the latest texts
ANCHORS = "aex0.,-_"  # candidates for a character before a continuation when it is decoded
Ids = tuple[int, ...]


class Encoder:
    """Encodes and decodes text with a Hugging Face fast tokenizer, which it does not change.

    Args:
        markers: the strings that only the format may write; a text that contains one gets the ids of its
            characters.
        words: added tokens of the tokenizer that are ordinary words, special or not: one id in a text, and
            part of the text when ids are decoded.

    Raises:
        BadModel: the tokenizer has no `backend_tokenizer`.
    """

    def __init__(self, tokenizer: Any, markers: Collection[str] = (), words: Collection[str] = ()) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise BadModel(
                f"a format needs a fast tokenizer (one with a tokenizer.json), not {kind_of(tokenizer)}; "
                "load the model with a fast tokenizer"
            )
        spec = json_files.loads(backend.to_str())
        spec.update(truncation=None, padding=None, post_processor=None)
        for added in spec["added_tokens"]:
            added["special"] |= added["content"] in markers
            added["special"] &= added["content"] not in words
        without = {
            **spec,
            "normalizer": _unprefixed(spec["normalizer"]),
            "pre_tokenizer": _unprefixed(spec["pre_tokenizer"]),
        }
        self._rest = Tokenizer.from_str(json.dumps(without))
        self._first = self._rest if without == spec else Tokenizer.from_str(json.dumps(spec))
        self._markers = {
            self._rest.token_to_id(marker): marker
            for marker in markers
            if self._rest.token_to_id(marker) is not None
        }
        self._added = [added["content"] for added in spec["added_tokens"]]
        self._added_ids = {added["id"] for added in spec["added_tokens"]}
        self._special = {added["id"] for added in spec["added_tokens"] if added["special"]}
        self._cache: OrderedDict[tuple[str, bool], Ids] = OrderedDict()
        self._cached_ids = 0
        self.size = max(self._rest.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._anchor, self._anchor_text = self._find_anchor()

    def __deepcopy__(self, memo: dict[int, Any]) -> Encoder:
        return self  # only its cache changes

    def encode(self, text: str, first: bool = False) -> Ids:
        """The ids of a text in which nothing is a marker.

        It never raises: lone surrogates become U+FFFD, and words without a token are dropped. `first`:
        whether the text is the first one of its row.
        """
        key = (text, first)
        ids = self._cache.get(key)
        if ids is not None:
            self._cache.move_to_end(key)
            return ids
        ids = self._cache[key] = self._encode(text, first)
        self._cached_ids += len(ids) + 1
        while self._cached_ids > CACHED_IDS and len(self._cache) > 1:
            self._cached_ids -= len(self._cache.popitem(last=False)[1]) + 1
        return ids

    def markup(self, text: str, first: bool = False) -> Ids:
        """The ids of a format's own text, in which marker strings are markers."""
        marker_starts = (text.find(token) for token in self._added if token in text)
        place = 0 if first else min(marker_starts, default=len(text))
        ids = []
        # `_first` after the first marker: some tokenizers put a space after every marker
        for raw, part in ((self._rest, text[:place]), (self._first, text[place:])):
            raw.encode_special_tokens = False
            ids += raw.encode(part, add_special_tokens=False).ids if part else []
        return tuple(ids)

    def decode(self, ids: Sequence[int], first: bool = False) -> str:
        """The text of ids without special tokens.

        It keeps its leading space unless it is the `first` text of a row. Ids that the tokenizer does not
        have are dropped; a model may have more embeddings than its tokenizer has ids.
        """
        valid = [i for i in ids if 0 <= i < self.size]
        if not first and self._anchor:
            text = str(self._rest.decode([*self._anchor, *valid], skip_special_tokens=True))
            if text.startswith(self._anchor_text):
                return text[len(self._anchor_text) :]
        return str(self._first.decode(valid, skip_special_tokens=True))

    def token(self, i: int) -> str:
        """The string of one id, as a chat template writes it."""
        return str(self._rest.id_to_token(i))

    def is_special(self, i: int) -> bool:
        """Whether decoding leaves out an id."""
        return i in self._special

    def is_added(self, i: int) -> bool:
        """Whether an id is an added token, which texts are split at before they are tokenised."""
        return i in self._added_ids

    def is_text(self, ids: Sequence[int]) -> bool:
        """Whether any of the ids is not a special token."""
        return any(i not in self._special for i in ids)

    def _encode(self, text: str, first: bool) -> Ids:
        raw = self._first if first else self._rest
        raw.encode_special_tokens = True  # each time, because a copied or unpickled tokenizer loses it
        ids = self._ids(raw, scalars(text))
        if self._markers.keys().isdisjoint(ids):
            return ids
        # a tokenizer whose vocabulary has a marker as an ordinary word (Unigram, WordLevel) finds it in plain
        # text too, so the string is split after the marker's first character
        inside = "|".join(
            f"(?<={re.escape(marker[:1])})(?={re.escape(marker[1:])})" for marker in self._markers.values()
        )
        parts = re.split(inside, scalars(text))
        all_ids = [i for n, part in enumerate(parts) for i in self._ids(self._rest if n else raw, part)]
        return tuple(i for i in all_ids if i not in self._markers)

    def _ids(self, raw: Tokenizer, text: str) -> Ids:
        try:
            return tuple(raw.encode(text, add_special_tokens=False).ids)
        except Exception:  # a word has no token, and the tokenizer has no token for unknown words
            parts = _parts(raw, text)
            ids_of_parts = {part: _word(raw, part) for part in set(parts)}
            return tuple(i for part in parts for i in ids_of_parts[part])

    def _find_anchor(self) -> tuple[Ids, str]:
        """A character with a token of its own, as ids and text; empty if there is none."""
        for character in ANCHORS:
            ids = self._encode(character, first=False)
            is_token = len(ids) == 1 and not (self._rest.id_to_token(ids[0]) or "<0x").startswith("<0x")
            if is_token and self._rest.decode(list(ids)) == character:
                return ids, character
        return (), ""


def _parts(raw: Tokenizer, text: str) -> list[str]:
    """The words of a text as the tokenizer's model receives them."""
    text = text if raw.normalizer is None else raw.normalizer.normalize_str(text)
    if raw.pre_tokenizer is None:
        return [text]
    return [part for part, _ in raw.pre_tokenizer.pre_tokenize_str(text)]


def _word(raw: Tokenizer, part: str) -> Ids:
    """The ids of one word; none if it has no token."""
    try:
        return tuple(token.id for token in raw.model.tokenize(part))
    except Exception:  # the word has no token, as in `Encoder._ids`
        return ()


def scalars(text: str) -> str:
    """The text with U+FFFD for lone surrogates."""
    if text.isascii():
        return text
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _unprefixed(part: Any) -> Any:
    """A normalizer or pre-tokenizer of a tokenizer.json, changed to put no space before a text."""
    if not isinstance(part, dict):
        return part
    if part["type"] == "Prepend":
        return None
    changed = dict(part)
    for children in ("normalizers", "pretokenizers"):
        if children in part:
            changed[children] = [child for child in map(_unprefixed, part[children]) if child is not None]
    if part["type"] == "Metaspace":
        changed["prepend_scheme"] = "never"
    if part["type"] == "ByteLevel":
        changed["add_prefix_space"] = False
    return changed
