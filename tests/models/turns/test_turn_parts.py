"""Distributions over legal actions: by hand, by enumeration, and by parts, all equal."""

import math

import numpy as np
import pytest
import torch

from loquent.core.actions import ActionSet
from loquent.models.turns.parts import (
    Dense,
    Path,
    Tree,
    draw_entries,
    legal_parts,
    masked_log_softmax,
    segment_logsumexp,
)

KINDS = (
    (0,),
    *((1, box, colour) for box in range(3) for colour in range(2)),
    *((2, box) for box in range(3)),
)


class Stacks(ActionSet):
    """stop; add (box, colour); remove (box). `legal` is the frozenset of legal actions."""

    parts = (3, 3, 2)

    def __len__(self):
        return len(KINDS)

    def split(self, i):
        return KINDS[i]

    def join(self, numbers):
        return KINDS.index(tuple(numbers))

    def following(self, legal, numbers):
        k, numbers = len(numbers), tuple(numbers)
        if numbers in KINDS:
            return np.zeros(0, bool)
        found = np.zeros(self.parts[k], bool)
        for i in legal:
            if len(KINDS[i]) > k and KINDS[i][:k] == numbers:
                found[KINDS[i][k]] = True
        return found

    def text(self, i, legal=None):
        return str(KINDS[i])

    def index(self, text, legal=None):
        return next((i for i, kind in enumerate(KINDS) if str(kind) == text), None)

    def contains(self, legal, i):
        return i in legal

    def draw(self, legal, rng):
        return sorted(legal)[rng.integers(len(legal))]


ACTIONS = Stacks()
LEGAL = [frozenset(range(10)), frozenset({0, 1, 4, 8}), frozenset({7, 9}), frozenset({3})]


def logits(seed, rows=4, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        (3 * torch.randn(rows, size, generator=generator, dtype=dtype)).requires_grad_()
        for size in ACTIONS.parts
    )


def masks():
    return torch.tensor([[i in legal for i in range(10)] for legal in LEGAL])


def test_the_tree_by_hand():
    # Legal: stop, add (0, 0), add (1, 1), remove (1). Heads: type (1/2, 1/4, 1/4) and box (1/2, 1/4, 1/4).
    # add: boxes 0 and 1 are left, 2/3 and 1/3; each has one colour left, 1. remove: only box 1, so 1.
    heads = tuple(torch.tensor([row]).log() for row in ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.5, 0.5]))
    mask = torch.zeros(1, 10, dtype=torch.bool)
    mask[0, [0, 1, 4, 8]] = True
    found = Tree(ACTIONS).log_probabilities(heads, mask).exp()[0]
    assert found[[0, 1, 4, 8]].tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 12, 1 / 4])
    assert found.sum().item() == pytest.approx(1)
    entropy = -sum(p * math.log(p) for p in (1 / 2, 1 / 6, 1 / 12, 1 / 4))
    dense = Dense(Tree(ACTIONS).log_probabilities(heads, mask))
    assert dense.entropy().item() == pytest.approx(entropy)


def test_parts_of_all_legal_actions_are_the_product_of_the_heads():
    heads = logits(0, rows=1)
    found = Tree(ACTIONS).log_probabilities(heads, torch.ones(1, 10, dtype=torch.bool))[0]
    type_, box, colour = (head.log_softmax(1)[0] for head in heads)
    for i, kind in enumerate(KINDS):
        expected = type_[kind[0]]
        expected = expected + box[kind[1]] if len(kind) > 1 else expected
        expected = expected + colour[kind[2]] if len(kind) > 2 else expected
        assert found[i].item() == pytest.approx(expected.item())


@pytest.mark.parametrize("seed", range(3))
def test_a_path_has_the_log_probability_of_the_enumerated_tree(seed):
    """Every legal action of every set: the joint log-probability and its gradient are the same both ways."""
    heads, tree = logits(seed), Tree(ACTIONS)
    flat = tree.log_probabilities(heads, masks())
    assert torch.allclose(flat.exp().sum(1), torch.ones(len(LEGAL), dtype=torch.float64))
    assert flat.isinf().equal(~masks())
    for row, legal in enumerate(LEGAL):
        for choice in legal:
            numbers = np.array([[*KINDS[choice], *[-1] * (3 - len(KINDS[choice]))]])
            parts = legal_parts(ACTIONS, [legal], numbers, obey=True)
            chosen = tuple(
                masked_log_softmax(head[row : row + 1], torch.as_tensor(part))
                for head, part in zip(heads, parts)
            )
            path = Path(chosen, torch.as_tensor(numbers)).of_action()
            assert path.item() == pytest.approx(flat[row, choice].item(), abs=1e-12)
            ours = torch.autograd.grad(path.sum(), heads, retain_graph=True, allow_unused=True)
            theirs = torch.autograd.grad(flat[row, choice], heads, retain_graph=True)
            for a, b in zip(ours, theirs):
                assert not b.isnan().any()
                assert torch.allclose(torch.zeros_like(b) if a is None else a, b, atol=1e-12)


def test_the_entropy_of_paths_is_unbiased_and_so_is_its_gradient():
    """Σ_a p(a) estimate(a) over all actions is the exact entropy; the expected gradient is its gradient."""
    heads, legal = logits(5, rows=1), LEGAL[0]
    flat = Tree(ACTIONS).log_probabilities(heads, torch.ones(1, 10, dtype=torch.bool))
    exact = Dense(flat).entropy()[0]
    exact_gradient = torch.autograd.grad(exact, heads, retain_graph=True)
    estimate, gradient = 0.0, [torch.zeros_like(head) for head in heads]
    for choice in sorted(legal):
        numbers = np.array([[*KINDS[choice], *[-1] * (3 - len(KINDS[choice]))]])
        parts = legal_parts(ACTIONS, [legal], numbers, obey=True)
        path = Path(
            tuple(masked_log_softmax(head, torch.as_tensor(part)) for head, part in zip(heads, parts)),
            torch.as_tensor(numbers),
        )
        weight, own = flat[0, choice].exp().item(), path.entropy()[0]
        estimate += weight * own.item()
        found = torch.autograd.grad(own, heads, retain_graph=True, allow_unused=True)
        gradient = [g if f is None else g + weight * f for g, f in zip(gradient, found)]
    assert estimate == pytest.approx(exact.item())
    for ours, theirs in zip(gradient, exact_gradient):
        assert torch.allclose(ours, theirs, atol=1e-12)
        assert theirs.abs().max() > 1e-3


def test_illegal_actions_have_no_probability_and_no_gradient():
    scores = torch.tensor([[0.0, 50.0, 1.0, -3.0]], requires_grad=True)
    legal = torch.tensor([[True, False, True, True]])
    dense = Dense(masked_log_softmax(scores, legal))
    assert dense.logprob.exp()[0, 1].item() == 0
    (dense.entropy().sum() + dense.of(torch.tensor([2])).sum()).backward()
    assert scores.grad[0, 1].item() == 0
    assert not scores.grad.isnan().any()
    assert (scores.grad[0, [0, 2, 3]] != 0).all()


def test_a_draw_inverts_the_cumulated_probabilities():
    logprob = np.log(np.array([[0.25, 0.0, 0.5, 0.25, 0.0]] * 6) + 1e-300)
    logprob[:, [1, 4]] = -np.inf
    uniform = np.array([0.0, 0.2499, 0.25, 0.7499, 0.75, 1 - 1e-17])
    assert draw_entries(logprob, uniform).tolist() == [0, 0, 2, 2, 3, 3]


def test_a_segment_without_entries_gives_no_nan():
    scores = torch.tensor([[-torch.inf, -torch.inf, 1.0]], requires_grad=True)
    found = segment_logsumexp(scores, torch.tensor([0, 0, 1]))
    assert found.tolist() == [[0.0, 1.0]]
