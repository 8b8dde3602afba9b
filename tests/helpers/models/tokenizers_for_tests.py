"""Small tokenizers of the kinds formats must deal with, made in memory."""

from functools import cache

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = [
    "the film was good and the film was long",
    "a fine old tale of the sea, told twice",
    "user asks, assistant answers: it's fine",
] * 4
MARKERS = ["<s>", "</s>", "<a>", "</a>", "</eod>"]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def wrapped(inner, **names):
    return PreTrainedTokenizerFast(tokenizer_object=inner, clean_up_tokenization_spaces=False, **names)


@cache
def byte_level(*special, template=None):
    """Byte-level BPE, as in GPT-2, with <|end|> as bos, eos and pad, and more special tokens where asked
    for.
    """
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    named = ["<|end|>", *special]
    inner.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=300 + len(named), special_tokens=named, initial_alphabet=alphabet, show_progress=False
        ),
    )
    made = wrapped(inner, bos_token="<|end|>", eos_token="<|end|>", pad_token="<|end|>")
    made.chat_template = template
    return made


@cache
def chatml(template=CHATML):
    return byte_level("<|im_start|>", "<|im_end|>", template=template)


@cache
def sentence_piece(metaspace=False):
    """SentencePiece's way with byte fallback, as in Llama: a space is put before every text, "▁" stands for
    spaces.
    """
    words = [
        "▁",
        *"abcdefghijklmnopqrstuvwxyz.,!",
        "th",
        "the",
        "▁the",
        "er",
        "▁a",
        "on",
        "ce",
        "once",
        "▁once",
    ]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    merges = [
        ("t", "h"),
        ("th", "e"),
        ("▁", "the"),
        ("e", "r"),
        ("▁", "a"),
        ("o", "n"),
        ("c", "e"),
        ("on", "ce"),
        ("▁", "once"),
    ]
    inner = Tokenizer(
        models.BPE(
            {name: i for i, name in enumerate(names)},
            merges,
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    if metaspace:
        inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return wrapped(inner, bos_token="<s>", eos_token="</s>", pad_token="<unk>", unk_token="<unk>")


@cache
def wordle_characters():
    """The 35 tokens of spec 3.4: a..z, <g> <b> <y>, <|pad|> </a> </s> <s> <a> </eod>.

    It has no token for anything else.
    """
    names = [
        *"abcdefghijklmnopqrstuvwxyz",
        "<g>",
        "<b>",
        "<y>",
        "<|pad|>",
        "</a>",
        "</s>",
        "<s>",
        "<a>",
        "</eod>",
    ]
    inner = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("<[gby]>|."), "isolated")
    inner.decoder = decoders.Fuse()
    inner.add_special_tokens(names[29:])
    return wrapped(inner, pad_token="<|pad|>")


@cache
def ilql_byte_level():
    return byte_level(*MARKERS)
