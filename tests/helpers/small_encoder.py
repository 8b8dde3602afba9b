"""A small BERT without a pooler, and a tokenizer that cuts at punctuation: an encoder that loads in no
time.
"""

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from loquent.core.seeding import Key, borrow_generators

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "cat",
    "sat",
    "mid",
    "-",
    "july",
    "n",
    "'",
    "t",
    ".",
    "##s",
]


def write(place):
    """Write both into a folder, as any encoder stands in one."""
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(place)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 12,
    }
    with borrow_generators(Key(0)):
        BertModel(BertConfig(vocab_size=len(WORDS), **sizes), add_pooling_layer=False).eval().save_pretrained(
            place
        )
    return place
