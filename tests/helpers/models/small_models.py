"""Random models with sharp opinions, and batches made straight from what was decoded, for the tests of
decoding and scoring.
"""

import numpy as np
import torch

from loquent.core.seeding import Key, borrow_generators
from loquent.models.decode.loop import Decoding, decode
from loquent.models.engine import Nucleus
from loquent.models.score import one_pass
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.support import Support, Trie
from loquent.pretrained import pad_rows

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
END, VOCABULARY = 0, 40


def gpt2(dtype="float64", vocabulary=VOCABULARY, seed=0, device="cpu", dropout=0.0, context=64):
    from transformers import GPT2Config, GPT2LMHeadModel

    marks = {"bos_token_id": END, "eos_token_id": END, "pad_token_id": END}
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    sizes = {"vocab_size": vocabulary, "n_positions": context, "n_embd": 32, "n_layer": 2, "n_head": 4}
    with borrow_generators(Key(seed, ("gpt2",))):
        module = GPT2LMHeadModel(GPT2Config(**sizes, **marks, **rates, initializer_range=0.3))
    return module.to(device, getattr(torch, dtype)).eval()


def llama(dtype="float64", vocabulary=VOCABULARY, seed=0, device="cpu", family="Llama"):
    import transformers

    marks = {"bos_token_id": END, "eos_token_id": END, "pad_token_id": None}
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    more = {"num_key_value_heads": 2, "max_position_embeddings": 64, "initializer_range": 0.3, "head_dim": 8}
    config = getattr(transformers, f"{family}Config")(**sizes, **marks, **more)
    with borrow_generators(Key(seed, ("llama",))):
        module = getattr(transformers, f"{family}ForCausalLM")(config)
    return module.to(device, getattr(torch, dtype)).eval()


def gemma(dtype="float64", vocabulary=VOCABULARY, seed=0, device="cpu"):
    """A network without a forward pass of ours, which is decoded with the cache of any model."""
    return llama(dtype, vocabulary, seed, device, "Gemma")


def prompts_of(n, seed=0, vocabulary=VOCABULARY, longest=9):
    rng = np.random.default_rng(seed)
    return [rng.integers(1, vocabulary, rng.integers(1, longest)).tolist() for _ in range(n)]


def keys_of(n, seed=0):
    return [Key(seed, ("row", i)) for i in range(n)]


def words(rng, n=12, vocabulary=VOCABULARY):
    return Trie([[*rng.integers(1, vocabulary, rng.integers(1, 5)).tolist(), END] for _ in range(n)])


def kinds(module, seed=5):
    """Every kind of support: name -> (settings, further arguments of decode)."""
    other = gpt2(
        str(module.dtype).removeprefix("torch."), module.config.vocab_size, seed=seed, device=module.device
    )
    return {
        "none": ({}, {}),
        "top-k": ({"top_k": 5}, {}),
        "wide top-k": ({"top_k": 30}, {}),
        "top-p": ({"top_p": 0.7}, {}),
        "top-k and top-p": ({"top_k": 9, "top_p": 0.8, "temperature": 1.3}, {}),
        "temperature": ({"temperature": 0.6}, {}),
        "minimum length": ({"min_new_tokens": 5}, {}),
        "own nucleus": ({}, {"nucleus": Nucleus(None, top_p=0.6)}),
        "nucleus": ({"min_new_tokens": 2}, {"nucleus": Nucleus(other, top_p=0.6, min_keep=2, always=(END,))}),
        "nucleus by number": ({"temperature": 0.8}, {"nucleus": Nucleus(other, top_k=4)}),
        "legal words": ({}, {"allowed": True}),
        "limit": ({}, {"vocabulary": module.config.vocab_size - 7}),
        "greedy": ({"method": "greedy"}, {}),
    }


def drawn(module, prompts, settings, further=None, keys=None, **options):
    """Decode, with a trie of random words for each row where `further` asks for legal words."""
    further = {"end": (END,), "pad": END, **(further or {}), **options}
    if further.get("allowed") is True:
        rng = np.random.default_rng(3)
        tries = [words(rng, vocabulary=module.config.vocab_size) for _ in range(3)]
        further["allowed"] = [tries[sum(prompt) % 3] for prompt in prompts]
    return decode(
        module,
        prompts,
        keys or keys_of(len(prompts)),
        Decoding(**{"max_new_tokens": 12, **settings}),
        **further,
    )


def batch_of(prompts, answers, vocabulary, device="cpu", extra=0):
    """The batch of prompts followed by answers; `extra` columns of padding."""
    rows = [[*prompt, *answer.tokens.ids.tolist()] for prompt, answer in zip(prompts, answers)]
    tokens, real = pad_rows(rows, END, device)
    tokens, real = (torch.nn.functional.pad(part, (0, extra)) for part in (tokens, real))
    begins = torch.tensor([len(prompt) for prompt in prompts], device=device)[:, None]
    is_action = real & (torch.arange(tokens.shape[1], device=device) >= begins)
    known = [answer.tokens.support for answer in answers]
    support = None
    if any(one is not None for one in known):
        support = Support.cat(
            one if one is not None else Support.full(len(a.tokens.ids), vocabulary)
            for one, a in zip(known, answers)
        )
    zeros = torch.zeros(tokens.shape, dtype=torch.float64, device=device)
    stand = {
        "turn": torch.zeros_like(tokens),
        "reward": zeros,
        "ended": torch.ones(len(rows), dtype=torch.bool, device=device),
    }
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        episode=torch.arange(len(rows), device=device),
        support=support,
        **stand,
    )


def chunks_of(monkeypatch, logits):
    """Chunks of at most so many logits, and of at least one row."""
    monkeypatch.setattr(one_pass, "chunk_rows", lambda vocabulary: max(1, logits // vocabulary))
