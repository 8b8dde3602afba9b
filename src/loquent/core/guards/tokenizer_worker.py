"""The first reading and use of a tokenizer.json, for the process with limits of `core.guards.sandbox`.

It imports only tokenizers beside the standard library. What it accepts is bounded in use too: the parts of
the pipeline can make a text only so much longer, on every text.
"""

import base64
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tokenizers

GROWTH = 128  # times that a text may become longer in characters; T5's normalizer gives 36
DECODED_GROWTH = 128
COPIES = 4  # of a text in its ids
LONGEST_TOKEN = 4096  # characters
LONGEST_TEXT = 4096  # characters of any other text, such as a pattern
LONGEST_AFFIX = 64  # characters, written before or after each part of a word
MOST_PARTS = 10_000  # values in all parts of the pipeline
MOST_ADDED = 1 << 17  # added tokens
WORD = 256  # characters of a word, with time cubic in them; released models have 100
SPARSE = 1 << 16  # unused ids, at most, if they are more than the used ones
PADDING = 1 << 20
MOST_VARYING = 6  # parts that vary in one alternative of a pattern; released ones have 4
RUN = 10_000  # characters of the texts on which patterns are tried
LARGE = 1 << 20  # characters of a file
PROBES = (
    "The quick brown fox jumps over 13 lazy dogs, doesn't it? " * 8,
    "a" * 2000, " " * 2000, "1" * 500, "aA1 .\n" * 300, "\n\t " * 300, "(" * 500,
    "".join(map(chr, range(1, 1500))), "\ufdfa\u4e2d\u0130\U0001f600e\u0301" * 50, "", "a",
)  # fmt: skip
CHILDREN = ("normalizers", "pretokenizers", "processors", "decoders")
QUANTIFIER = re.compile(r"[*+?]|\{\d+\}|\{\d*,\d*\}")


class Refused(ValueError):
    """The tokenizer is not allowed; the message says why."""


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """{} if the tokenizer.json of a job {"file": path} can be used; else {"error": why}."""
    return outcome(lambda: Path(job["file"]).read_text(encoding="utf-8"))


def outcome(read: Callable[[], str]) -> dict[str, Any]:
    """{} if the tokenizer in a text can be used; else {"error": why}.

    Args:
        read: returns the text.
    """
    try:
        text = read()
        tree = json.loads(text)
        check(tree)
        made = tokenizers.Tokenizer.from_str(text if len(text) < LARGE else json.dumps(_small(tree)))
        _check_stripping(made)
        for pattern in _patterns({**tree, "model": None, "added_tokens": None}):
            try_pattern(pattern)
        probe(made)
    except MemoryError:
        raise
    except BaseException as error:  # tokenizers raises bare exceptions, and its Rust a PanicException
        return {"error": _why(error)}
    return {}


def check(tree: Any) -> None:
    """Check the values of a tokenizer.json.

    Raises:
        Refused: with the reason.
    """
    if not isinstance(tree, dict) or not isinstance(tree.get("model"), dict):
        raise Refused("it must hold a JSON object with a model")
    model = tree["model"]
    _check_vocabulary(model, tree.get("added_tokens") or [])
    if model.get("dropout"):
        raise Refused(f"model.dropout = {model['dropout']} makes encoding random; it must be null")
    parts = {name: tree.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")}
    _check_texts(parts)
    _check_texts({name: value for name, value in model.items() if name not in ("vocab", "merges")})
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if len(model.get(name) or "") > LONGEST_AFFIX:
            raise Refused(
                f"model.{name} has {len(model[name]):,} characters; at most {LONGEST_AFFIX} are allowed"
            )
    _at_most("model.max_input_chars_per_word", model.get("max_input_chars_per_word"), WORD)
    padding = tree.get("padding") or {}
    strategy = padding.get("strategy")
    _at_most("padding.strategy", strategy.get("Fixed") if isinstance(strategy, dict) else 0, PADDING)
    _at_most("padding.pad_to_multiple_of", padding.get("pad_to_multiple_of"), PADDING)
    for pattern in _patterns(parts):
        check_pattern(pattern)
    _check_unknown(model)
    if any(part.get("type") == "Strip" and part.get("stop") for part in _parts(parts["decoder"])):
        raise Refused("its decoder strips ends of tokens, which fails on shorter tokens; stop must be 0")
    _check_growth(
        "normalizer and pre_tokenizer", growth(parts["normalizer"]) * growth(parts["pre_tokenizer"]), GROWTH
    )
    _check_growth("decoder", growth(parts["decoder"]), DECODED_GROWTH)
    _check_growth("post_processor", growth(parts["post_processor"]), COPIES)


def growth(part: Any) -> float:
    """How many times longer, at most, a part of the pipeline makes a text of at least one character.

    What Unicode's forms and lower case add is counted in the texts that a file gives, not in the reader's.
    """
    if not isinstance(part, dict):
        return 1.0
    kind = part.get("type")
    children = [growth(child) for name in CHILDREN for child in part.get(name) or []]
    if children:
        return math.prod(children)
    if kind == "Replace":
        length = _expanded(part.get("content"))
        text = (part.get("pattern") or {}).get("String")
        return max(1.0, length / len(text)) if text else 1.0 + length
    if kind == "Prepend":
        return 1.0 + _expanded(part.get("prepend"))
    if kind == "Precompiled":
        return _longest_of_map(part.get("precompiled_charsmap"))
    if kind == "TemplateProcessing":
        return max(1.0, *(_copies(part.get(name)) for name in ("single", "pair")))
    if kind in ("BPEDecoder", "CTC"):  # an empty text stands between all characters
        return 1.0 if part.get("suffix", part.get("word_delimiter_token")) else 2.0
    factors = {"BertNormalizer": 3.0, "Metaspace": 2.0, "WordPiece": 2.0}
    if kind == "ByteLevel":
        return 8.0 if part.get("add_prefix_space", True) else 4.0
    return factors.get(str(kind), 1.0)


def check_pattern(pattern: str) -> None:
    """Check that a regular expression repeats nothing that varies itself, which can take exponential time.

    Raises:
        Refused: it does, or calls parts of itself, or has a back reference, or one of its alternatives has
            more than MOST_VARYING parts that vary.
    """
    if re.search(r"\\[gk][<']|\(\?[~(&R]|\(\*|\\[1-9]", pattern):
        raise Refused(f"the pattern {pattern[:60]!r} has a call, a condition or a back reference")
    pattern = pattern.replace(r"\r?\n", r"\n")  # the two forms of a line break cannot be confused
    varies = [False]  # whether each open group has a part that varies
    counts = [(0, 0)]  # of such parts: the most in an earlier alternative of each open group, and in this one
    last = False  # whether the last item does
    i = 0
    while i < len(pattern):
        found = QUANTIFIER.match(pattern, i)
        if pattern[i] == "\\":
            after = re.compile(r"\\[pPxou]\{[^}]*\}|\\.", re.DOTALL).match(pattern, i)
            last, i = False, after.end() if after else i + 1
        elif pattern[i] == "[":
            last, i = False, _after_class(pattern, i)
        elif pattern[i] == "(":
            opening = re.compile(r"\((\?(<?[=!]|[a-zA-Z-]*[:)]|>|<\w+>|#[^)]*))?").match(pattern, i)
            i = opening.end() if opening else i + 1
            if pattern[i - 1] != ")" or not opening or opening[0] == "(":
                varies.append(False)
                counts.append((0, 0))
        elif pattern[i] == ")":
            last = varies.pop() if len(varies) > 1 else False
            varies[-1] |= last
            if len(counts) > 1:
                inner = max(counts.pop())
                counts[-1] = counts[-1][0], counts[-1][1] + inner
            i += 1
        elif pattern[i] == "|":
            varies[-1], last, i = True, False, i + 1
            counts[-1] = max(1, *counts[-1]), 0
        elif found:
            if last and found[0] != "?":
                raise Refused(
                    f"the pattern {pattern[:60]!r} repeats a part that varies itself, which may take "
                    "exponential time"
                )
            variable = not re.fullmatch(r"\{\d+\}", found[0])
            varies[-1] = varies[-1] or variable
            counts[-1] = counts[-1][0], counts[-1][1] + variable
            i = found.end()
            if i < len(pattern) and pattern[i] in "?+":  # lazy or possessive
                i += 1
            last = False
        else:
            last, i = False, i + 1
    if max(map(max, counts)) > MOST_VARYING:
        raise Refused(
            f"the pattern {pattern[:60]!r} has more than {MOST_VARYING} parts that vary in one alternative"
        )


def try_pattern(pattern: str) -> None:
    """Split long runs of characters by a pattern; the process's limits end a pattern that takes too long."""
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    for letter in dict.fromkeys("aA1. \n\u4e2d\u00e9" + pattern[:40]):
        split.pre_tokenize_str(letter * RUN)


def probe(tokenizer: Any) -> None:
    """Encode and decode a few texts.

    Raises:
        Refused: there are more ids or characters than the bounds allow.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for text in PROBES:
        try:
            ids = tokenizer.encode(text).ids
        except Exception:  # a word has no token, and there is no token for unknown words
            continue
        bound = len(text) * GROWTH * COPIES * 4 + MOST_PARTS
        if len(ids) > bound:
            raise Refused(f"it makes {len(ids):,} ids of {len(text):,} characters")
        if len(tokenizer.decode(ids)) > (len(ids) + 1) * LONGEST_TOKEN * DECODED_GROWTH:
            raise Refused(f"it decodes {len(ids):,} ids to a text beyond bounds")


def _small(tree: dict[str, Any]) -> dict[str, Any]:
    """The same pipeline with few tokens, which loads faster; a Unigram model, whose memory may be a hundred
    times its file, stays whole.
    """
    model = tree["model"]
    if model.get("type") not in ("BPE", "WordPiece", "WordLevel"):
        return tree
    vocabulary = dict(list(model["vocab"].items())[:1000])
    vocabulary |= {name: 0 for name in (model.get("unk_token"),) if name}
    return {**tree, "model": {**model, "vocab": vocabulary, **({"merges": []} if "merges" in model else {})}}


def _check_vocabulary(model: dict[str, Any], added: list[Any]) -> None:
    vocabulary = model.get("vocab") or {}
    pairs = isinstance(vocabulary, list)
    tokens = [entry[0] if pairs else entry for entry in vocabulary]
    if len(added) > MOST_ADDED:
        raise Refused(f"it has {len(added):,} added tokens; at most {MOST_ADDED:,} are allowed")
    contents = [entry["content"] for entry in added]
    longest = max((len(token) for token in (*tokens, *contents)), default=0)
    if longest > LONGEST_TOKEN:
        raise Refused(f"a token has {longest:,} characters; at most {LONGEST_TOKEN:,} are allowed")
    ids = [*([] if pairs else vocabulary.values()), *(entry["id"] for entry in added)]
    known = len(tokens) + len(added)
    largest = max(ids, default=0)
    if largest > 2 * known + SPARSE:
        raise Refused(f"it has the id {largest:,} with only {known:,} tokens")


def _check_unknown(model: dict[str, Any]) -> None:
    """Refuse a WordPiece model, also of the old form without a type, that fails on an unknown word."""
    is_pieces = model.get("type") == "WordPiece" or "max_input_chars_per_word" in model
    if is_pieces and model.get("unk_token") not in (model.get("vocab") or {}):
        raise Refused(f"it has no token {model.get('unk_token')!r} for unknown words, which its model needs")


def _check_stripping(tokenizer: Any) -> None:
    """Refuse added tokens of which one takes the spaces behind it, with which another begins."""
    tokens = tokenizer.get_added_tokens_decoder().values()
    for normalized in (False, True):
        group = [token for token in tokens if token.normalized == normalized]
        if not any(token.rstrip for token in group):
            continue
        change = tokenizer.normalizer.normalize_str if normalized and tokenizer.normalizer else str
        starts = [token.content for token in group if change(token.content)[:1].isspace()]
        if starts:
            raise Refused(
                f"the added token {starts[0]!r:.60} begins with a space, and another takes the spaces "
                "behind it"
            )


def _check_texts(part: Any) -> None:
    """Bound the number of values of a part of the file, and the length of each text in it."""
    stack, count = [part], 0
    while stack:
        value = stack.pop()
        count += 1
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise Refused(
                f"the text {value[:40]!r}... has {len(value):,} characters; at most {LONGEST_TEXT:,} are "
                "allowed"
            )
        if isinstance(value, list):
            stack.extend(value)
        if isinstance(value, dict):
            stack.extend(
                [*value, *(inner for name, inner in value.items() if name != "precompiled_charsmap")]
            )
        if count + len(stack) > MOST_PARTS:
            raise Refused(f"its pipeline has more than {MOST_PARTS:,} values")


def _check_growth(name: str, factor: float, most: int) -> None:
    if not factor <= most:
        raise Refused(
            f"its {name} can make a text {factor:,.4g} times longer; at most {most} times is allowed"
        )


def _at_most(name: str, value: Any, most: int) -> None:
    if isinstance(value, int | float) and value > most:
        raise Refused(f"{name} = {value:,} is more than {most:,}, the most that is allowed")


def _patterns(part: Any) -> Iterator[str]:
    yield from (inner["Regex"] for inner in _parts(part) if isinstance(inner.get("Regex"), str))


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    """All objects in a part of the file."""
    stack = [part]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        if isinstance(value, list | tuple):
            stack.extend(value)


def _expanded(text: Any) -> int:
    """The most characters of a text after any of Unicode's forms and in lower case."""
    if not isinstance(text, str):
        return 0
    return max(len(unicodedata.normalize("NFKD", form)) for form in (text, text.lower()))


def _longest_of_map(encoded: Any) -> float:
    """The length of the longest text in SentencePiece's map of characters, which is a trie and texts."""
    data = base64.b64decode(encoded or "")
    texts = data[4 + int.from_bytes(data[:4], "little") :].decode("utf-8", "replace")
    return float(max(1, *(_expanded(text) for text in texts.split("\0"))))


def _copies(template: Any) -> float:
    return float(sum("Sequence" in item for item in template if isinstance(item, dict)) if template else 0)


def _after_class(pattern: str, i: int) -> int:
    """The place after a class such as `[^\\s[a-z]]`, which may hold others."""
    depth, start = 0, i
    while i < len(pattern):
        if pattern[i] == "\\":
            i += 1
        elif pattern.startswith("[:", i) and depth and (end := pattern.find(":]", i)) > 0:
            i = end + 1
        elif pattern[i] == "[":
            depth += 1
            if pattern[i + 1 : i + 2] == "^":
                i += 1
            if pattern[i + 1 : i + 2] == "]":  # a bracket that begins a class is itself
                i += 1
        elif pattern[i] == "]":
            depth -= 1
            if not depth:
                return i + 1
        i += 1
    return max(i, start + 1)


def _why(error: BaseException) -> str:
    text = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
    return text[:300]
