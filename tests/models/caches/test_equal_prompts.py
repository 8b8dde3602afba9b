"""Equal prompts are read once, and long ones in passes of a token budget; the answers stay the same."""

import pytest
import torch

from helpers.models.small_models import END, gemma, gpt2, llama, prompts_of
from loquent.core.seeding import Key
from loquent.models.caches import cache, slots
from loquent.models.caches import prompts as parts
from loquent.models.caches.prompts import distinct, passes
from loquent.models.decode.loop import Decoding, decode
from loquent.pretrained.forward import gpt2 as gpt2_pass

MODELS = {"gpt2": gpt2, "llama": llama, "gemma": gemma}


def answers(module, prompts, keys, live):
    decoding = Decoding(max_new_tokens=7, live=live, temperature=0.9)
    drawn = decode(module, prompts, keys, decoding, end=[END], pad=0)
    return [(one.tokens.ids.tolist(), one.tokens.drawn_logprob) for one in drawn]


def same(ours, theirs):
    for (ids, logprob), (other_ids, other) in zip(ours, theirs, strict=True):
        assert ids == other_ids
        assert abs(logprob - other).max() < 1e-9


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("live", [2, 64])
def test_answers_to_equal_prompts_are_those_of_prompts_read_one_by_one(name, live):
    module, different = MODELS[name]("float64"), prompts_of(5)
    order = [0, 0, 0, 1, 2, 1, 3, 4, 4, 0]
    prompts = [different[i] for i in order]
    keys = [Key(3, (i,)) for i in range(len(order))]
    alone = [answers(module, [prompt], [key], 1)[0] for prompt, key in zip(prompts, keys, strict=True)]
    same(answers(module, prompts, keys, live), alone)
    assert len({tuple(ids) for ids, _ in alone[:3]}) > 1, "equal prompts have answers of their own"


def test_equal_prompts_are_read_once():
    module, prompts = gpt2("float64"), prompts_of(3)
    rows = slots.Slots(gpt2_pass, module, 0, 12, 40)
    shapes = []
    own = gpt2_pass.last_hidden

    def last_hidden(trunk, ids, *rest):
        shapes.append(tuple(ids.shape))
        return own(trunk, ids, *rest)

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(gpt2_pass, "last_hidden", last_hidden)
        rows.join([prompts[0], prompts[1], prompts[0], prompts[0]])
    width = max(len(prompts[0]), len(prompts[1]))
    assert shapes == [(2, width)]
    assert rows.length[:4].tolist() == [len(prompts[i]) for i in (0, 1, 0, 0)]


@pytest.mark.parametrize(("live", "reads"), [(2, 4), (3, 3), (8, 2)])
def test_a_prompt_that_a_slot_holds_is_not_read_again(live, reads, monkeypatch):
    """Two prompts take turns and rows end at different times; with few slots, all of one's are taken."""
    module, (first, second), own = gpt2("float64"), prompts_of(2), gpt2_pass.last_hidden
    prompts, read = [first, first, second, first, first, second, first, second, first], []

    def last_hidden(trunk, ids, *rest):
        read.append(len(ids))
        return own(trunk, ids, *rest)

    stop = [(lambda ids, n=1 + 5 * i % 7: len(ids) >= n) for i in range(9)]
    keys = [Key(5, (i,)) for i in range(9)]
    decoding = Decoding(max_new_tokens=7, live=live)

    def tokens(prompts, keys, stop):
        drawn = decode(module, prompts, keys, decoding, end=(), pad=0, stop=stop)
        return [(one.tokens.ids.tolist(), one.tokens.drawn_logprob) for one in drawn]

    alone = [tokens([prompts[i]], [keys[i]], [stop[i]])[0] for i in range(9)]
    monkeypatch.setattr(gpt2_pass, "last_hidden", last_hidden)
    same(tokens(prompts, keys, stop), alone)
    assert sum(read) == reads


def test_cached_rows_read_equal_prompts_once():
    from loquent.models.caches.cache import Cached

    module, prompts = llama("float64"), prompts_of(3)
    rows, shapes = Cached(module, 0), []
    module.base_model.register_forward_pre_hook(
        lambda part, given, named: shapes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    with torch.no_grad():
        last = rows.join([prompts[0], prompts[1], prompts[0]])
    assert shapes == [(2, max(len(prompts[0]), len(prompts[1])))]
    assert torch.equal(last.logits[0], last.logits[2])


@pytest.mark.parametrize("rows", [slots, cache])
@pytest.mark.parametrize("budget", [1, 9, 20, 10_000])
def test_prompts_read_in_passes_have_the_same_answers(rows, budget, monkeypatch):
    module, prompts = {slots: gpt2, cache: gemma}[rows]("float64"), prompts_of(9)
    order = [0, 1, 1, 2, 3, 4, 5, 6, 5, 7, 8, 0]
    prompts = [prompts[i] for i in order]
    keys = [Key(4, (i,)) for i in range(len(order))]
    expected = answers(module, prompts, keys, 4)
    monkeypatch.setattr(rows, "PREFILL", budget)
    same(answers(module, prompts, keys, 4), expected)
    same(answers(module, prompts, keys, 12), expected)


@pytest.mark.parametrize(
    "make", [lambda m: slots.Slots(gpt2_pass, m, 0, 300, 40), lambda m: cache.Cached(m, 0)]
)
def test_many_prompts_are_read_in_passes_of_the_default_budget(make, monkeypatch):
    """300 prompts of 23 tokens: 178 of them have 4,094 tokens, and 179 more than 4,096."""
    module, shapes = gpt2("float64"), []
    prompts = [[1 + i // 8 % 8, 1 + i % 8, *range(1, 8), 1 + i // 64, *range(1, 14)] for i in range(300)]
    module.base_model.wte.register_forward_pre_hook(lambda part, given: shapes.append(tuple(given[0].shape)))
    rows = make(module)
    with torch.no_grad():
        last = rows.join(prompts)
        assert shapes == [(178, 23), (122, 23)]
        alone = make(module).join(prompts[200:201])
    assert (last.logits[200] - alone.logits[0]).abs().max() < 1e-12


def test_passes_stay_within_the_budget():
    random = Key(5, ("passes",)).generator()
    for budget in (1, 10, 64):
        lengths = random.integers(1, 30, 50).tolist()
        sizes = passes(lengths, budget)
        assert sum(sizes) == len(lengths)
        start = 0
        for size in sizes:
            part = lengths[start : start + size]
            assert size == 1 or size * max(part) <= budget
            start += size
    assert passes([4, 4, 4, 9, 1], 8) == [2, 1, 1, 1]
    assert passes([3] * 7, parts.PREFILL) == [7]


def test_distinct_prompts_keep_their_order():
    assert distinct([[1], [2, 3], (1,), [2], [2, 3]]) == ([(1,), (2, 3), (2,)], [0, 1, 0, 2, 1])
