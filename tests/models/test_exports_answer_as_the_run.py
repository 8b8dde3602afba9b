"""An exported folder in plain transformers, called as its card says, gives the run's greedy answers."""

import json
import re

import pytest
import torch

from helpers.models.chat_templates import OURS, with_tags
from helpers.models.tokenizers_for_tests import byte_level, chatml, sentence_piece
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.seeding import Key
from loquent.pretrained import build, save
from loquent.training import recipes
from loquent.training.train import train

ROWS = 34
SIZES = {"layers": 1, "width": 32, "heads": 2, "context": 256}
TURNED = {  # of a model's own, which a run does not have
    "do_sample": True,
    "temperature": 0.6,
    "top_k": 20,
    "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 2,
    "min_length": 4,
}
MODELS = {
    "gpt2": ("gpt2", lambda: bare(byte_level("<|x|>"))),
    "llama": ("llama", sentence_piece),
    "chat": ("gpt2", chatml),
    "thinks": ("llama", lambda: with_tags(OURS["thinks"])),
    "parts": ("gpt2", lambda: with_tags(OURS["parts"])),
    "t5": ("t5", lambda: ended(byte_level("<|y|>"))),
    "bart": ("bart", lambda: bare(byte_level("<|z|>"))),
}
CASES = {  # of a recipe with a model and settings
    "gpt2": ("reviews_base", "gpt2", ()),
    "llama": ("reviews_base", "llama", ("task.prompt_words=3",)),
    "chat": ("reviews_ppo", "chat", ()),
    "thinks": ("reviews_base", "thinks", ("model.thinking=false",)),
    "parts": ("reviews_base", "parts", ()),
    "t5": ("reviews_ppo", "t5", ()),
    "bart": ("reviews_base", "bart", ()),
    "turns": ("wordle_ppo", "gpt2", ("task.instruct=true",)),
    "turns of a chat": ("wordle_ppo", "chat", ("task.instruct=true",)),
    "turns of a pair": ("wordle_ppo", "t5", ("decoding.min_new_tokens=3",)),
    "no path": ("reviews_base", "", ()),
    "prompts are cut": ("reviews_base", "gpt2", ("evaluation.max_prompt_tokens=9",)),
    "adapters": ("reviews_base", "gpt2", ("model.lora.rank=2",)),
}


def bare(tokenizer):
    """The tokenizer writes nothing beside a text, as GPT-2's."""
    assert tokenizer("")["input_ids"] == []
    return tokenizer


def ended(tokenizer):
    """The tokenizer writes its eos after a text, as T5's."""
    from tokenizers.processors import TemplateProcessing

    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A <|end|>", special_tokens=[("<|end|>", tokenizer.eos_token_id)]
    )
    return tokenizer


def folder_of(name, path):
    shape, tokenizer = MODELS[name]
    language = build(tokenizer(), shape=shape, key=Key(3), device="cpu", **SIZES)
    if shape in ("t5", "bart"):
        for weights in language.module.parameters():
            weights.data *= 4  # else all sources have one answer
    save(language, path)
    file = path / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | TURNED))
    return path


def by_the_card(folder):
    """The function of the card's code, and what it needs."""
    code = re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.S).group(1)
    names = {}
    exec(code.rpartition("\n\n\nprint(")[0].replace('folder = "."', f"folder = {str(folder)!r}"), names)
    return names


@pytest.mark.sweep("prompts are cut", "turns of a chat")
@pytest.mark.parametrize("case", CASES)
def test_it_gives_the_run_s_greedy_answers(case, tmp_path):
    recipe, model, settings = CASES[case]
    path = [f"model.path={folder_of(model, tmp_path / 'model')}"] if model else []
    overrides = [
        *path,
        "evaluation.method=greedy",
        f"training.final_episodes={ROWS}",
        *settings,
    ]
    run = train(recipes.load(recipe, overrides, profile="smoke"), tmp_path / "run")
    assert cli.main(["export", str(run.folder), str(tmp_path / "out")]) == 0
    names = by_the_card(tmp_path / "out")
    answers = list(compared(names, run.files.episodes))
    assert len(answers) >= ROWS
    different = [(own, said) for own, said in answers if own != said]
    assert len(different) <= len(answers) / 100, different
    assert len({own for own, _ in answers}) > 1


def compared(names, recorded):
    """The run's answers, each with that of the card's code; an episode ends with its first difference."""
    for played in episode.read(recorded):
        before = ()
        for number, turn in enumerate(played.turns):
            if turn.seat == "agent":
                with torch.no_grad():
                    said, before = asked(names, played, number, before)
                yield turn.text, said
                if said != turn.text:
                    break


def asked(names, played, number, before):
    """The answer of the card's code before a turn, and the conversation so far."""
    turns = played.turns[:number]
    if "ENDS" in names:  # plain texts
        last = max((n for n, turn in enumerate(turns) if turn.seat == "agent"), default=-1)
        texts = [turn.text for turn in turns[last + 1 :]]
        if last < 0 and played.instruction:
            texts.insert(0, f"{played.instruction}\n")
        return names["answer"]("".join(texts), before)
    messages = [
        {"role": "assistant" if turn.seat == "agent" else "user", "content": turn.text}
        for n, turn in enumerate(turns)
        if turn.text or not n
    ]
    if played.instruction:
        messages.insert(0, {"role": "system", "content": played.instruction})
    if "part.text" in names["tokenizer"].chat_template:
        messages = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages]
    return names["answer"](messages, *([before] if before else []))


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("recipe", "settings", "lost"),
    [
        ("wordle_ilql", ("algorithm.adv_beta=2",), "perturbed by values with adv_beta 2"),
        ("reviews_nlpo", ("algorithm.mask_in_evaluation=true",), "inside the mask of the masking policy"),
    ],
)
def test_the_card_of_another_run_says_what_plain_decoding_loses(recipe, settings, lost, tmp_path):
    run = train(recipes.load(recipe, settings, profile="smoke"), tmp_path / "run")
    assert cli.main(["export", str(run.folder), str(tmp_path / "out")]) == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"The run's evaluation is more than this model: {lost}" in card
    assert "gives the run's" not in card
