"""What a process gives the others of its episodes comes back as it was."""

import numpy as np
import torch

from loquent.core.episode import Episode, Tokens, Turn
from loquent.files.machine import parallel
from loquent.models.tokens.support import Support
from loquent.training.experience import shared_play


def test_answers_with_tokens_survive_the_journey():
    kept = torch.tensor([[True, False, True], [False, False, True]])
    full, packed = Support.full(2, 3, 0.5), Support.pack(kept, 0.7)
    ids, logprob = np.array([2, 0]), np.array([-0.1, -1e-17], dtype=np.float32)
    tokens = [
        Tokens(ids, logprob, logprob - 1, full, 3),
        Tokens(ids, logprob, None, packed),
        Tokens(ids, logprob, None),
    ]
    turns = [Turn("task", "?"), *(Turn("agent", f"\ud800{i}é", tokens=each) for i, each in enumerate(tokens))]
    other = Episode("t", "r", "train", 0, 1, (Turn("task", "?"), Turn("guest", "", stopped="length")))
    episodes = [Episode("t", "r", "train", 0, 0, tuple(turns)), other]
    answers, silent = [read for read, _ in shared_play.unpack(shared_play.pack(episodes))]
    assert [(each.text, each.stopped) for each in silent] == [("", "length")]
    assert [each.text for each in answers] == [turn.text for turn in turns[1:]]
    for each, given in zip((answer.tokens for answer in answers), tokens, strict=True):
        assert each.version == given.version
        assert np.array_equal(each.ids, given.ids)
        assert each.drawn_logprob.tobytes() == given.drawn_logprob.tobytes()
        assert (each.policy_logprob is None) == (given.policy_logprob is None)
        assert (each.support is None) == (given.support is None)
    assert torch.equal(answers[1].tokens.support.dense_mask(), kept)
    assert answers[0].tokens.support.temperature.tolist() == [0.5, 0.5]


def test_the_rows_of_an_episode_stay_in_one_process(monkeypatch):
    class Batch:
        unit = torch.tensor([7, 7, 3, 9, 3])
        take = staticmethod(torch.Tensor.tolist)

    monkeypatch.setattr(parallel, "size", lambda: 2)
    shares = []
    for rank in (0, 1):
        monkeypatch.setattr(parallel, "rank", lambda rank=rank: rank)
        shares.append(parallel.own(Batch()))
    assert shares == [[0, 1, 3], [2, 4]]
