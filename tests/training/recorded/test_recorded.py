"""Recorded episodes: what is refused, what is kept, and that a run on them is drawn in a keyed order."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from loquent.core import episode
from loquent.core.settings import Remark
from loquent.data.filters import shares
from loquent.errors import BadCheckpoint, BadRow, BadSetting
from loquent.training import recipes
from loquent.training.recorded.recording import digest_of
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = (
    "task={kind: wordle, limit: 20, instruct: false}",
    "model={layers: 1, width: 16, heads: 2, context: 128, vocabulary: 260, critic: none, reference: none}",
    "decoding={max_new_tokens: 6}",
    "training={updates: 3, episodes: 8, evaluate_every: 0, final_episodes: 4}",
)


def made(*overrides, algorithm="{kind: ilql, minibatch: 4, learning_rate: 0.01}"):
    return recipes.load("wordle_clone", [*SMALL, f"algorithm={algorithm}", *overrides])


def lines(folder):
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def written(folder, changed, *, rows=()):
    folder.mkdir(exist_ok=True)
    (folder / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    if rows:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_all_episodes_are_laid_out_once_and_drawn_in_a_keyed_order(wordle_games, tmp_path):
    trainer = Trainer(made(f"training.data={wordle_games}"))
    batch = trainer.experience.recording.batch
    assert (trainer.experience.recording.episodes, len(batch)) == (40, 40)
    assert float(batch.reward.sum()) == pytest.approx(
        sum(one.total(trainer.weights) for one in episode.read(wordle_games / "episodes.jsonl"))
    )
    drawn = torch.cat([trainer.experience.draw(8).episode for _ in range(5)])
    assert sorted(drawn.tolist()) == list(range(40)), "one pass has every row once"
    assert drawn.tolist() != list(range(40))
    again = Trainer(made(f"training.data={wordle_games}"))
    assert torch.cat([again.experience.draw(8).episode for _ in range(5)]).equal(drawn)
    other = Trainer(made(f"training.data={wordle_games}", "training.seed=1"))
    assert not torch.cat([other.experience.draw(8).episode for _ in range(5)]).equal(drawn)


def test_a_folder_a_file_and_several_of_them_are_the_same_games(wordle_games, tmp_path):
    whole = lines(wordle_games)
    one, two = written(tmp_path / "one", whole[:13]), written(tmp_path / "two", whole[13:])
    expected = Trainer(made(f"training.data={wordle_games}")).experience.recording
    for data in (f"{wordle_games}/episodes.jsonl", f"[{one}, {two}]", f"[{one}/episodes.jsonl, {two}]"):
        assert Trainer(made(f"training.data={data}")).experience.recording.digest == expected.digest
    assert Trainer(made(f"training.data=[{two}, {one}]")).experience.recording.digest != expected.digest


def test_the_hash_sees_which_rows_are_one_episode_s(wordle_games, tmp_path):
    recording = Trainer(made(f"training.data={wordle_games}")).experience.recording
    batch = recording.batch
    assert digest_of(batch) == recording.digest
    assert digest_of(replace(batch, episode=batch.episode // 2)) != recording.digest


def test_rewards_without_a_weight_are_named_and_other_forms_are_told_how_to_become_lines(
    wordle_games, tmp_path
):
    renamed = json.loads(json.dumps(lines(wordle_games)).replace('"guess": -1.0', '"gess": -1.0', 1))
    with pytest.warns(
        Remark,
        match="the rewards gess of the recorded episodes are ignored: they have no weight; .* weight: guess",
    ):
        Trainer(made(f"training.data={written(tmp_path / 'renamed', renamed)}"))
    (tmp_path / "games.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        BadSetting,
        match=r"is a Parquet file; .*`loquent convert .*games.parquet games.jsonl` converts it",
    ):
        Trainer(made(f"training.data={tmp_path}/games.parquet"))


def test_rewards_of_tokens_reach_games_that_were_never_drawn_as_tokens(wordle_games, tmp_path):
    plain = Trainer(made(f"training.data={wordle_games}")).experience.recording.batch
    rewards = "rewards={guess: 1.0, tax: {of: token_constant, weight: 2.0, value: -0.25}}"
    taxed = Trainer(made(f"training.data={wordle_games}", rewards)).experience.recording.batch
    assert torch.equal(taxed.tokens, plain.tokens)
    assert torch.allclose(taxed.reward, plain.reward - 0.5 * plain.is_action)
    assert not torch.allclose(taxed.reward, plain.reward)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"task": "wordle-v1"},
            r"episodes.jsonl:3: an episode of wordle-v1; it must be of the recipe's task "
            r"wordle-v1#\w+, with the same options",
        ),
        ({"task": "generation-v1"}, "episodes.jsonl:3: an episode of generation-v1"),
        (
            {"split": "test"},
            "episodes.jsonl:3: an episode on the split 'test'; it must be on .* training.split = 'train'",
        ),
        (
            {"row": "nobody"},
            r"episodes.jsonl:3: wordle-v1#\w+ has no row 'nobody' in its split 'train', and "
            r".*rows.jsonl does not have it",
        ),
        ({"turns": 3}, "episodes.jsonl:3: this line is not an episode"),
        ({"turns": [{"seat": "agent", "tex": "x"}]}, "episodes.jsonl:3: this line is not an episode"),
    ],
)
def test_a_bad_episode_names_its_file_and_line(change, why, wordle_games, tmp_path):
    changed = lines(wordle_games)
    changed[2] |= change
    folder = written(tmp_path / "bad", changed)
    with pytest.raises(BadRow, match=why):
        Trainer(made(f"training.data={folder}"))


def test_rows_of_a_file_beside_the_episodes_are_known(wordle_games, tmp_path):
    changed = lines(wordle_games)
    changed[2]["row"] = "added:1"
    rows = [{"id": "added:1", "fields": {"word": "crane"}}]
    assert (
        Trainer(
            made(f"training.data={written(tmp_path / 'good', changed, rows=rows)}")
        ).experience.recording.episodes
        == 40
    )
    for wrong in ({"id": 1, "fields": {}}, {"id": "added:1"}, {"id": "added:1", "fields": {}, "more": 1}):
        with pytest.raises(BadRow, match=r"rows.jsonl:1: a row must have"):
            Trainer(made(f"training.data={written(tmp_path / 'wrong', changed, rows=[wrong])}"))


@pytest.mark.parametrize(
    ("overrides", "algorithm", "why"),
    [
        (
            ("training.data=nowhere",),
            "ilql",
            "training.data = 'nowhere': there is no such file or folder; `loquent collect` makes one",
        ),
        (("training.data=@empty",), "ilql", "the folder has no episodes.jsonl"),
        ((), "ilql", "ilql learns from others' episodes, .* set training.data to files or folders"),
        (
            ("training.data=",),
            "dpo",
            "dpo learns from others' .* a file of `chosen` and `rejected`, or training.t",
        ),
        (
            ("training.data=@", "model.critic=head"),
            "ppo",
            "training.data = .*: ppo learns from its own play only; from others' episodes learn .*ilql",
        ),
        (
            ("training.teacher=random", "model.critic=head"),
            "ppo",
            "training.teacher = 'random': ppo learns from its own play only",
        ),
        (("training.data=@", "training.teacher=random"), "ilql", "teacher = 'random' would never play"),
        (("training.data_top=0.5",), "ilql", "data_top, data_bottom and data_cutoff choose among"),
        (("training.data_cutoff=0",), "ilql", "data_top, data_bottom and data_cutoff choose among"),
        (("training.data_question=q",), "ilql", "and data_question among judgements, but data is empty"),
        (("training.data=@", "training.data_cutoff=9"), "ilql", "none of 40 .* at least 9; the highest is"),
        (("training.data=@", "training.data_top=0.001"), "ilql", "top = 0.001 of 40 episodes keeps none"),
        (("training.data=@", "training.only={word: none}"), "ilql", "has no rows in its split"),
    ],
)
def test_what_cannot_be_is_refused(overrides, algorithm, why, wordle_games, tmp_path):
    (tmp_path / "empty").mkdir()
    given = [
        text.replace("@empty", str(tmp_path / "empty")).replace("@", str(wordle_games)) for text in overrides
    ]
    with pytest.raises(Exception, match=why) as caught:
        Trainer(made(*given, algorithm=f"{{kind: {algorithm}}}"))
    assert isinstance(caught.value, BadSetting) or "no rows" in why


def test_shares():
    returns = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 0.0])
    assert shares(returns).tolist() == [0, 1, 2, 3, 4, 5]
    assert shares(returns, top=0.5).tolist() == [0, 3, 4]  # of the equal ones the later
    assert shares(returns, bottom=0.5).tolist() == [1, 2, 5]
    assert shares(returns, bottom=0.5, top=0.34).tolist() == [2], "the worse half is taken first"
    for share, why in (
        ({"top": 0.0}, "must be greater than 0"),
        ({"bottom": 0.16}, "of 6 episodes keeps none"),
    ):
        with pytest.raises(BadSetting, match=why):
            shares(returns, **share)


def test_the_best_share_of_the_data_alone_is_learned_from(wordle_games, tmp_path):
    whole, best = (
        Trainer(made(f"training.data={wordle_games}", f"training.data_top={top}")).experience.recording
        for top in (1.0, 0.25)
    )
    assert (best.episodes, len(best.batch)) == (10, 10)
    returns = torch.zeros(40, dtype=torch.float64).index_add_(
        0, whole.batch.episode, whole.batch.reward.double().sum(1)
    )
    assert best.mean_return == pytest.approx(float(returns.sort().values[-10:].mean()))


def test_episodes_below_a_cutoff_are_not_learned_from(wordle_games):
    whole = Trainer(made(f"training.data={wordle_games}")).experience.recording
    returns = torch.zeros(40, dtype=torch.float64).index_add_(
        0, whole.batch.episode, whole.batch.reward.double().sum(1)
    )
    cutoff = float(returns.max())
    kept = Trainer(
        made(f"training.data={wordle_games}", f"training.data_cutoff={cutoff}")
    ).experience.recording
    assert kept.episodes == int((returns == cutoff).sum()) < 40
    assert kept.mean_return == cutoff


def test_a_run_resumes_on_the_same_data_only(wordle_games, tmp_path):
    trainer = Trainer(made(f"training.data={wordle_games}"))
    trainer.update()
    state = trainer.state()
    again = Trainer(made(f"training.data={wordle_games}"))
    again.restore(state)
    assert again.experience.draw(4).tokens.equal(trainer.experience.draw(4).tokens)
    folder = written(tmp_path / "copy", lines(wordle_games))
    first = Trainer(made(f"training.data={folder}"))
    changed = lines(wordle_games)
    changed[0]["turns"][-2]["rewards"]["guess"] = -7.0
    written(folder, changed)
    with pytest.raises(BadCheckpoint, match=r"training.data, its filters or its layout have changed"):
        Trainer(made(f"training.data={folder}")).restore(first.state())


def test_a_run_keeps_what_it_learned_from(wordle_games, tmp_path):
    run = train(made(f"training.data={wordle_games}"), tmp_path / "run", progress=False)
    kept = json.loads((run.folder / "data.json").read_text())
    assert (kept["episodes"], kept["rows"]) == (40, 40)
    assert kept["tokens"] > kept["action_tokens"] > 0
    assert [line["data/passes"] for line in run.metrics] == pytest.approx([0.2, 0.4, 0.6])
    assert run.metrics[-1]["episodes"] == 24
    assert run.metrics[0]["data/return"] < 0
