import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.actions import Slots, Texts, bitset
from loquent.errors import BadModel, LoquentError
from loquent.models.tokens import support as support_module
from loquent.models.tokens.support import (
    Support,
    Trie,
    entropy,
    filter_top_k,
    filter_top_p,
    legal_words,
    restricted_logprob,
)

FOUR = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def chosen(kept):
    return set(kept[0].nonzero()[:, 0].tolist())


# ---- filters (spec N2: token i is dropped iff the mass of the ranks before it is more than p)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("p", "kept"),
    [
        (0.49, {0}),
        (0.5, {0, 1}),
        (0.79, {0, 1}),
        (0.8, {0, 1, 2}),
        (0.81, {0, 1, 2}),
        (1e-9, {0}),
        (0.0, {0}),
        (1.0, {0, 1, 2, 3}),
    ],
)
def test_nucleus_by_hand(p, kept, device):
    # before rank i lie 0, .5, .8 and .95 of the mass; .5 + .3 in float32 is above .8, and the slack of 1e-6
    # still calls it a tie
    assert chosen(filter_top_p(FOUR.to(device), p)) == kept
    assert chosen(filter_top_p(FOUR.to(device), p, min_keep=4)) == {0, 1, 2, 3}


def test_nucleus_by_hand_can_fail():
    assert chosen(filter_top_p(FOUR, 0.5 - 1e-5)) != {0, 1}
    assert chosen(filter_top_p(FOUR, 0.95)) == {0, 1, 2, 3} != chosen(filter_top_p(FOUR, 0.94))


@pytest.mark.parametrize("keep", [1, 2, 3, 4])
def test_min_keep_is_exact(keep):
    assert len(chosen(filter_top_p(FOUR, 0.0, min_keep=keep))) == keep


def test_p_of_one_is_no_operation_where_a_float32_sum_is_one():
    # spec §1.10: 50,257 logits of N(0, 3^2); the float32 sum of masses passes 1 long before the last rank
    logits = torch.from_numpy(np.random.default_rng(0).normal(0, 3, (2, 50257)).astype(np.float32))
    assert filter_top_p(logits, 1.0).all()
    assert filter_top_k(logits, 0).all()
    assert filter_top_k(logits, 50257).all()
    sums = logits.softmax(1).sort(1, descending=True).values.cumsum(1)
    # the naive rule in float32 would drop these; the trap is real
    assert ((sums[:, :-1] > 1.0).sum(1) > 100).any()


def test_top_k_settles_ties_by_id():
    logits = torch.tensor([[1.0, 2.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    assert filter_top_k(logits, 3).tolist() == [
        [True, True, True, False, False],
        [True, True, True, False, False],
    ]
    assert filter_top_k(logits, 1).tolist() == [
        [False, True, False, False, False],
        [True, False, False, False, False],
    ]


@given(
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.booleans(),
    st.integers(1, 20),
)
def test_prefilter_gives_what_a_whole_sort_gives(seed, p, scale, rounded, keep):
    logits = torch.from_numpy(np.random.default_rng(seed).normal(0, scale, (3, 700)))
    logits = (logits * 2).round() / 2 if rounded else logits  # many exact ties
    total = logits.logsumexp(1, keepdim=True)
    whole = (
        support_module._nucleus(logits, total, p, keep, 700)[0]
        if p < 1
        else torch.ones_like(logits, dtype=torch.bool)
    )
    assert torch.equal(filter_top_p(logits, p, keep), whole)
    assert (whole.sum(1) >= keep).all()


def test_prefilter_property_can_fail():
    logits = torch.zeros(1, 700)  # 256 ranks hold too little mass here
    short, settled = support_module._nucleus(logits, logits.logsumexp(1, keepdim=True), 0.9, 1, 256)
    assert not settled.any()
    assert not torch.equal(short, filter_top_p(logits, 0.9))


# ---- log-probabilities (spec N3, N4)


def test_renormalised_logprob_by_hand():
    kept = torch.tensor([[True, True, False, False]])
    logprob = restricted_logprob(FOUR, kept)
    assert logprob[0, 0].item() == pytest.approx(math.log(0.5 / 0.8), abs=1e-6)  # -.4700036
    assert logprob[0, 1].item() == pytest.approx(-0.9808293, abs=1e-6)
    assert logprob[0, 2:].tolist() == [-math.inf, -math.inf]
    assert logprob.exp().sum().item() == pytest.approx(1, abs=1e-6)
    assert entropy(logprob).item() == pytest.approx(0.6615633, abs=1e-6)  # -(.625 ln .625 + .375 ln .375)
    assert (
        restricted_logprob(FOUR, None)[0, 0].item()
        == pytest.approx(-0.6931472, abs=1e-6)
        != pytest.approx(-0.4700036, abs=1e-6)
    )


def test_temperature_divides_logits():
    # p^2 of (.5, .5/sqrt 2 ...): temperature 1/2 squares probabilities: .25 / (.25 + .09) over the first two
    logprob = restricted_logprob(FOUR, torch.tensor([[True, True, False, False]]), 0.5)
    assert logprob[0, 0].exp().item() == pytest.approx(0.25 / 0.34, abs=1e-6)


def test_gradient_is_that_of_the_kept_subset():
    logits = torch.randn(
        5, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True
    )
    kept = torch.zeros(5, 9, dtype=torch.bool)
    kept[:, [1, 4, 6]] = True
    (ours,) = torch.autograd.grad(
        restricted_logprob(logits, kept)[:, 4].sum() + entropy(restricted_logprob(logits, kept)).sum(), logits
    )
    small = logits[:, [1, 4, 6]].detach().requires_grad_()
    logprob = small.log_softmax(1)
    (theirs,) = torch.autograd.grad(logprob[:, 1].sum() - (logprob.exp() * logprob).sum(), small)
    assert torch.allclose(ours[:, [1, 4, 6]], theirs, atol=1e-12, rtol=0)
    assert (ours[:, [0, 2, 3, 5, 7, 8]] == 0).all()
    assert theirs.abs().max() > 1e-3


# ---- storage (spec N9)


def test_storage_is_at_most_a_bit_per_token_and_word():
    kept = torch.zeros(5120, 32128, dtype=torch.bool)
    kept[:, ::2] = True
    half = Support.pack(kept)
    assert half.nbytes <= 21_000_000
    assert torch.equal(half.dense_mask(slice(0, 64)), kept[:64])
    sparse = torch.zeros(5120, 32128, dtype=torch.bool)
    sparse[:, 5:55] = True
    assert Support.pack(sparse).nbytes <= 5120 * 50 * 4 + 100_000 < half.nbytes
    assert Support.full(5120, 32128).nbytes < 120_000


@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(0, 6))
def test_pack_keeps_every_set(seed, vocabulary, n):
    rng = np.random.default_rng(seed)
    kept = torch.from_numpy(rng.random((n, vocabulary)) < rng.random((n, 1)) ** 3)
    for row in range(0, n, 3):
        kept[row] = torch.arange(vocabulary) < rng.integers(vocabulary + 1)
    packed = Support.pack(kept, 0.7)
    assert torch.equal(packed.dense_mask(), kept)
    assert len(packed) == n
    assert (packed.temperature == 0.7).all()
    order = rng.permutation(n)
    assert torch.equal(packed.take(order).dense_mask(), kept[torch.from_numpy(order)])
    assert torch.equal(
        Support.cat([packed.take(order), packed]).dense_mask(),
        torch.cat([kept[torch.from_numpy(order)], kept]),
    )
    if n:
        assert torch.equal(packed.dense_mask(n - 1), kept[n - 1 :])
        assert torch.equal(packed.take(slice(1, None)).dense_mask(), kept[1:])


def test_full_and_listed_forms():
    assert Support.full(2, 5).dense_mask().tolist() == [[True] * 5] * 2
    assert Support.full(2, 5).is_everything
    assert not Support.full(2, 5, 0.5).is_everything
    limited = Support.full(1, 5, limit=3)
    assert limited.dense_mask().tolist() == [[True, True, True, False, False]]
    assert not limited.is_everything
    assert Support.pack(limited.dense_mask()).form.tolist() == [support_module.FULL]
    ids, kept = torch.tensor([[3, 90], [0, 99]]), torch.tensor([[True, False], [True, True]])
    for vocabulary in (100, 320):
        assert [chosen(Support.from_candidates(ids, kept, vocabulary).dense_mask(i)) for i in (0, 1)] == [
            {3},
            {0, 99},
        ]
    assert len(Support.full(3, 5).take([])) == 0
    with pytest.raises(LoquentError, match="one vocabulary"):
        Support.cat([Support.full(1, 5), Support.full(1, 6)])


# ---- legal words


class Letters:
    """A stand-in with the one method of a format that the trie uses: a letter is its code, 0 ends an
    answer.
    """

    def __init__(self, fold=str):
        self.fold = fold
        self.asked = 0

    def answer(self, text):
        self.asked += 1
        return (*map(ord, self.fold(text)), 0)


def said(trie):
    """All sequences of a trie, by walking it."""
    found, todo = [], [((), trie.root)]
    while todo:
        prefix, node = todo.pop()
        following = trie.next_ids(node).tolist()
        found += [prefix] if not following else []
        todo += [((*prefix, token), trie.step(node, token)) for token in following]
    return sorted(found)


def test_trie_allows_just_the_words():
    words = ["crane", "crate", "a", "cranes"]
    trie = legal_words(Letters(), Texts(words), None)
    assert said(trie) == sorted((*map(ord, word), 0) for word in words)
    node = trie.root
    for letter in "crane":
        node = trie.step(node, ord(letter))
    assert trie.next_ids(node).tolist() == [0, ord("s")]
    assert trie.next_ids(trie.step(trie.root, ord("z"))).size == 0
    assert trie.next_ids(trie.step(trie.step(trie.root, ord("z")), ord("z"))).size == 0


def test_trie_follows_what_is_legal_and_is_cached():
    format, actions = Letters(), Texts(["ab", "ac", "b"])
    trie = legal_words(format, actions, bitset([0, 2], 3))
    assert said(trie) == [(97, 98, 0), (98, 0)]
    assert legal_words(format, actions, bitset([0, 2], 3)) is trie
    asked = format.asked
    assert said(legal_words(format, actions, bitset([0], 3))) == [(97, 98, 0)]
    assert format.asked == asked  # no text is tokenised twice
    assert said(legal_words(format, Slots(3), ("x", "y"))) == [(120, 0), (121, 0)]


def test_trie_refusals():
    class Many(Texts):
        def __len__(self):
            return 300_001

    with pytest.raises(LoquentError, match="300,001 texts is refused"):
        legal_words(Letters(), Many(["a"]), None)
    with pytest.raises(BadModel, match="no action is legal"):
        legal_words(Letters(), Texts(["a"]), bitset([], 1))
    with pytest.raises(BadModel, match="same tokens"):
        legal_words(Letters(str.lower), Texts(["a", "A"]), None)
    with pytest.raises(LoquentError, match="at least one sequence"):
        Trie([])
