"""Model folders with everyday chat templates, and everyday files, as other tools write them."""

import json

import transformers

from helpers.models.chat_templates import OURS, of_trl, with_tags
from loquent.core.seeding import Key, borrow_generators

TEMPLATES = {"chatml": OURS["keeps"], **{kind: OURS[kind] for kind in ("parts", "channels", "last")}}
TWINS = {"llama3": OURS["keeps"], "qwen3": OURS["last"]}  # where TRL is not installed
TEMPLATES |= {name: of_trl().get(name, twin) for name, twin in TWINS.items()}
COLOURS = {"sea": "blue", "film": "grey", "tale": "gold", "cat": "black", "moon": "white", "fire": "red"}
PAIRS = [
    (f"what colour has the {noun} in picture {number}?", f"the {noun} is {colour}")
    for number in range(20)
    for noun, colour in COLOURS.items()
]


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


ROWS = {
    "sft": lambda question, answer: {"messages": [user(question), assistant(answer)]},
    "rl": lambda question, answer: {"prompt": [user(question)], "solution": answer},
    "prompts": lambda question, answer: {"prompt": question},
    "pairs": lambda question, answer: {
        "chosen": [user(question), assistant(answer)],
        "rejected": [user(question), assistant(f"no idea, {answer[-3:]}")],
    },
    "questions": lambda question, answer: {"question": question, "answer": answer},
}


def write(kind, file):
    """A file of these rows: as `datasets` writes JSON lines, or as the standard library does."""
    rows = [ROWS[kind](*pair) for pair in PAIRS]
    if kind in ("rl", "pairs"):
        import datasets

        datasets.Dataset.from_list(rows).to_json(file)
    else:
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def model(template, folder):
    """A folder with an untrained model of tens of thousands of weights and a tokenizer with this template."""
    tokenizer = with_tags(TEMPLATES[template])
    sizes = {
        "vocab_size": max(tokenizer.get_vocab().values()) + 1,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "initializer_range": 0.1,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    grouped = {"intermediate_size": 64, "num_key_value_heads": 1, "max_position_embeddings": 256}
    config = {
        "llama3": lambda: transformers.LlamaConfig(**sizes, **grouped),
        "qwen3": lambda: transformers.Qwen3Config(**sizes, **grouped, head_dim=16),
    }.get(template, lambda: transformers.GPT2Config(**sizes, n_positions=256))()
    with borrow_generators(Key(3, (template,))):
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
