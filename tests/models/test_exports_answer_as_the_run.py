"""An exported folder in plain transformers, called as its card says, gives the run's greedy answers."""

import json
from itertools import islice

import pytest
import torch
from transformers import AutoTokenizer

from helpers.models import exports
from helpers.models.chat_templates import OURS, with_tags
from helpers.models.tokenizers_for_tests import byte_level, chatml, sentence_piece
from loquent.cli import main as cli
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

WRONG = {  # a part of the card, and what must not pass in its place
    "prompts are cut": ("max_length=9", "max_length=5"),
    "turns of a chat": ("add_generation_prompt=True", "add_generation_prompt=False"),
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
    answers = list(exports.compared(exports.by_the_card(tmp_path / "out"), run.files.episodes))
    assert len(answers) >= ROWS
    exports.check(answers, 1e-2 if "model.lora.rank=2" in settings else 1e-4)
    assert len({own for own, *_ in answers}) > 1
    if case in WRONG:
        card = tmp_path / "out" / "README.md"
        card.write_text(card.read_text().replace(*WRONG[case]))
        wrong = exports.compared(exports.by_the_card(tmp_path / "out"), run.files.episodes)
        with pytest.raises(AssertionError):
            exports.check(list(islice(wrong, 5)), 1e-2)


def test_answers_may_differ_by_ties_alone():
    equal, near, far = ("a", "a", 0.0), ("a", "b", 9e-5), ("a", "b", 2e-4)
    exports.check([near, *[equal] * 99], 1e-4)
    for answers in ([far, *[equal] * 99], [near, *[equal] * 98], [near, near, *[equal] * 198][:150]):
        with pytest.raises(AssertionError):
            exports.check(answers, 1e-4)


def test_the_gap_is_that_of_the_first_token_that_differs(tmp_path):
    folder = folder_of("gpt2", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("qzé")["input_ids"]
    assert len(ids) == 4  # é has two bytes
    scores = [torch.zeros(1, len(tokenizer)) for _ in ids]
    for number, (row, id) in enumerate(zip(scores, ids, strict=True), 1):
        row[0, id], row[0, id - 1] = number + 1.0, 1.0  # the gap at token `number` is `number`
    names = {"scores": scores, "tokenizer": tokenizer}
    assert [exports.gap(names, text) for text in ("x", "qx", "qzè", "qzé and more")] == [1, 2, 4, 4]


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
