"""The encoder-decoders of transformers: recognised, with exact scores, or refused with the reason."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from helpers.models.pair_architectures import END, OWN, START, VOCABULARY, built, kinds
from helpers.models.small_models import batch_of, drawn
from helpers.models.tokenizers_for_tests import sentence_piece
from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel
from loquent.models.caches.cache import Uncached
from loquent.models.caches.encoder_decoder import Paired
from loquent.models.caches.rows import rows_of
from loquent.models.score.tokens import action_scores, weighted_nll
from loquent.models.tokens.trie import Trie
from loquent.pretrained import encoder_decoders, head, hidden, logits

# decoding reads whole rows, because our cache does not give the same; M2M100 counts no positions of padding
WHOLE_ROWS = {"led", "m2m_100", "nllb-moe"}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", sorted(OWN))
def test_scores_are_those_of_the_model_and_of_sampling(kind):
    module = built(kind)
    encoder_decoders.check(module.config, kind)
    layer = head(module)
    rows = [[~5, ~6, ~7, START, 8, 9], [~5, START, 3, ~4, ~9, ~9, START, 7], [~5, ~6, ~7, START, 1]]
    tokens = torch.tensor([row + [0] * (8 - len(row)) for row in rows])
    with torch.no_grad():
        ours = layer(hidden(module, tokens)), logits(module, tokens)
        for row, first, source, target in ((0, 3, [5, 6, 7], [START, 8, 9]), (1, 6, [4, 9, 9], [START, 7])):
            alone = module(
                input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), use_cache=False
            ).logits[0]
            for result in ours:
                torch.testing.assert_close(result[row, first : first + len(target)], alone, rtol=0, atol=1e-5)
    assert type(rows_of(module, 0, 4, 16)) is (Uncached if kind in WHOLE_ROWS else Paired)
    rng = np.random.default_rng(0)
    prompts = [[*(~rng.integers(4, VOCABULARY, n)).tolist(), START] for n in (3, 7, 1, 5)]
    answers = drawn(module, prompts, {"max_new_tokens": 6}, end=(END,), pad=0)
    batch = batch_of(prompts, answers, VOCABULARY)
    sampled = torch.from_numpy(np.concatenate([answer.tokens.policy_logprob for answer in answers]))
    with torch.no_grad():
        found = action_scores(module, batch).policy
    torch.testing.assert_close(found.double(), sampled, rtol=0, atol=2e-5)
    weighted_nll(module, batch)[0].backward()
    both = [module.get_encoder(), module.get_decoder()]
    assert all(any(p.grad is not None and p.grad.any() for p in side.parameters()) for side in both)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", sorted(OWN))
def test_special_ids_in_an_answer_are_scored_as_they_are_drawn(kind):
    """Padding, both ends and the decoder's start: as the first, a middle and the last token but one."""
    module, answer = built(kind), [0, 7, 0, 2, END, START, 8, START, END, 2, 0, 9]
    prompts = [[~5, ~6, ~7, START], [~9, START]]
    answers = drawn(
        module, prompts, {"max_new_tokens": 12}, {"allowed": [Trie([answer])] * 2}, end=(39,), pad=0
    )
    assert [drawn.tokens.ids.tolist() for drawn in answers] == [answer] * 2
    batch = batch_of(prompts, answers, VOCABULARY)
    sampled = torch.from_numpy(np.concatenate([answer.tokens.policy_logprob for answer in answers]))
    with torch.no_grad():
        found = action_scores(module, batch).policy
        whole = logits(module, batch.tokens)[:, :-1][batch.is_action[:, 1:]].log_softmax(1)
    torch.testing.assert_close(found.double(), sampled, rtol=0, atol=2e-5)
    chosen = batch.tokens[batch.is_action][:, None]
    torch.testing.assert_close(whole.gather(1, chosen)[:, 0].double(), sampled, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("kind", "forced", "first"), [("marian", None, [START]), ("bart", 2, [START, 2])])
@pytest.mark.parametrize("shortest", [4, 7])
def test_the_shortest_length_of_generate_counts_what_the_decoder_reads_first(kind, forced, first, shortest):
    """So RL4LMs' `min_length` is one more than ours, and two more where the first token is forced."""
    module, sources = built(kind), [[5, 6, 7], [9, 4, 8]]
    module.final_logits_bias[0, END] = 1e3  # every answer ends as soon as it may
    config = transformers.GenerationConfig(
        min_length=shortest, max_new_tokens=12, eos_token_id=END, pad_token_id=0, forced_bos_token_id=forced,
        decoder_start_token_id=START,
    )  # fmt: skip
    theirs = module.generate(torch.tensor(sources), generation_config=config)[:, len(first) :].tolist()
    ours = drawn(
        module,
        [[*(~i for i in source), *first] for source in sources],
        {"method": "greedy", "min_new_tokens": shortest - len(first)},
        end=(END,),
        pad=0,
    )
    assert [answer.tokens.ids.tolist() for answer in ours] == theirs
    assert {len(answer) for answer in theirs} == {shortest - len(first) + 1}


@pytest.mark.parametrize("kind", sorted(encoder_decoders.REFUSED))
def test_the_others_are_refused_with_the_reason(kind):
    config = transformers.AutoConfig.for_model(kind) if kind != "encoder-decoder" else None
    if config is None:
        one = transformers.BertConfig(hidden_size=16, num_attention_heads=2)
        config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(one, one)
    with pytest.raises(BadModel, match=re.escape(encoder_decoders.REFUSED[kind])):
        encoder_decoders.check(config, "folder")


def test_a_model_of_sound_is_refused_when_it_is_loaded(tmp_path):
    sentence_piece().save_pretrained(tmp_path)
    transformers.WhisperConfig().save_pretrained(tmp_path)
    with pytest.raises(BadModel, match="whisper: transformers has no encoder-decoder of this architecture"):
        pretrained.load(tmp_path)


def test_every_architecture_is_here_or_refused_or_no_encoder_decoder():
    rest = set(kinds()) - set(OWN) - set(encoder_decoders.REFUSED)
    for kind in rest:  # sound read by a causal model
        assert not getattr(transformers.AutoConfig.for_model(kind), "is_encoder_decoder", False), kind
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("### Which encoder-decoders") :]
    for kind in (*OWN, *encoder_decoders.REFUSED):
        assert f"`{kind}`" in table, f"docs/models.md does not name {kind}"


def test_the_start_of_a_decoder():
    tokenizer = sentence_piece()
    module = built("bart")
    assert encoder_decoders.start_ids(module, tokenizer)[0] == START
    module.generation_config.forced_bos_token_id = 7
    assert encoder_decoders.start_ids(module, tokenizer) == (START, 7)
    module.generation_config.forced_bos_token_id = START
    assert encoder_decoders.start_ids(module, tokenizer) == (START,)
    module.generation_config.decoder_start_token_id = module.config.decoder_start_token_id = None
    with pytest.raises(BadModel, match="names no decoder_start_token_id"):
        encoder_decoders.start_ids(module, tokenizer)


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_saved_encoder_decoder_is_loaded_as_one(kind, tmp_path):
    from loquent.cli.commands.export import _kind

    shape = {"layers": 1, "width": 16, "heads": 2, "context": 48}
    language = pretrained.build(sentence_piece(), shape=kind, **shape, key=Key(0), device="cpu")
    pretrained.save(language, tmp_path)
    again = pretrained.load(tmp_path, device="cpu")
    assert type(again.module) is type(language.module)
    tokens = torch.tensor([[~5, ~6, START, 8, 9]])
    assert torch.equal(logits(again.module, tokens), logits(language.module, tokens))
    assert _kind(tmp_path) == "AutoModelForSeq2SeqLM"
    own = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert type(own) is type(language.module)
