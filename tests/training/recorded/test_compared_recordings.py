"""Recorded answers to compare: whole groups are drawn, from each source of preferences."""

import json
import random
import warnings
from collections import Counter

import pytest
import torch

from helpers import killed
from helpers.agents.judges import Scripted
from helpers.models import everyday
from helpers.states import difference
from loquent.algorithms.imitation.supervised import Supervised
from loquent.core import episode
from loquent.core.episode import Episode, Turn
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadSetting
from loquent.models.tokens.batch import token_batch
from loquent.training import recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = {
    "model": {"layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "context": 64, "critic": "none"},
    "decoding": {"max_new_tokens": 6},
    "algorithm": {"kind": "dpo", "learning_rate": 0.01},
    "training": {
        "updates": 4, "episodes": 6, "evaluate_every": 2, "evaluate_episodes": 2, "final_episodes": 2,
        "checkpoint_every": 1, "stop_metric": "return", "patience": 9,
    },
}  # fmt: skip


class Compares(Supervised):
    """Imitates the answers of whole groups."""

    name, least_answers, reads = "compares", 2, ("data",)


def recipe(folder, **changes):
    sections = {
        name: SMALL.get(name, {}) | changes.get(name, {}) for name in ("task", *SMALL, "rewards", "metrics")
    }
    sections["task"] = {
        "kind": "generation",
        "source": "path",
        "path": str(folder / "rows.jsonl"),
    } | sections["task"]
    sections["metrics"] = {"diversity": {}}
    file = folder / f"{sections['algorithm']['kind'].split(':')[0]}.yaml"
    file.write_text(json.dumps(sections))  # JSON is YAML
    return file


def trainer(folder, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        return Trainer(recipes.load(str(recipe(folder, **changes)), imports="all"))


def rows_of(folder, count=12):
    """A folder with files of rows and of pairs, and episodes of one to four answers to each train row."""
    (folder / "rows").mkdir()
    draw = random.Random(3)
    names = [f"prompt {i} of a film" for i in range(count)]
    for split in ("train", "validation", "test"):
        rows = ({"prompt": f"{name} {split}", "references": "good"} for name in names)
        (folder / "rows" / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pairs = (
        {"prompt": name, "chosen": f" a good {i}", "rejected": " a bad plot"} for i, name in enumerate(names)
    )
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    task = {"path": str(folder / "rows")}
    own = trainer(folder, task=task, training={"data": str(folder / "pairs.jsonl")}).task
    answers = [
        Episode(own.identity, f"train-{i + 1}", "train", 0, n,
                (Turn("task", f"{name} train", to="agent"), Turn("agent", " word" * (1 + n))), "end")
        for i, name in enumerate(names) for n in range(1 + i % 4)
    ]  # fmt: skip
    draw.shuffle(answers)
    episode.write(folder / "episodes.jsonl", answers)
    return task


COMPARES = {"kind": f"{__name__}:Compares"}
SHORT = {"length": {"high": 0}}


def identities(batch, known):
    """The answers of a batch, by their tokens."""
    return [known[tuple(row[real].tolist())] for row, real in zip(batch.tokens, batch.real, strict=True)]


def test_whole_groups_are_drawn_each_once_in_a_pass(tmp_path):
    task = rows_of(tmp_path)
    run = trainer(tmp_path, task=task, algorithm=COMPARES, rewards=SHORT,
                  training={"data": str(tmp_path), "episodes": 5})  # fmt: skip
    recording, experience = run.experience.recording, run.experience
    batch = recording.batch
    assert (recording.episodes, recording.incomparable) == (27, 3)  # of 12 rows, 3 have one answer
    known = {
        tuple(row[real].tolist()): group
        for row, real, group in zip(batch.tokens, batch.real, batch.group.tolist(), strict=True)
    }
    sizes, drawn = Counter(batch.group.tolist()), []
    state = None
    for count in (5, 1, 2, 7, 3, 40, 9, 4, 27, 1):
        if count == 40:
            state = experience.state_dict()
        taken = experience.draw(count)
        groups = identities(taken, known)
        assert taken.group.tolist() == sorted(taken.group.tolist())
        assert taken.episode.tolist() == list(range(len(taken)))
        members = [[own for own, n in zip(groups, taken.group.tolist(), strict=True) if n == m]
                   for m in range(int(taken.group.max()) + 1)]  # fmt: skip
        assert all(len(set(own)) == 1 and len(own) == sizes[own[0]] for own in members), "whole groups"
        assert count <= len(taken) < count + max(sizes.values())
        drawn += [own[0] for own in members]
        if count == 40:
            again = trainer(tmp_path, task=task, algorithm=COMPARES, rewards=SHORT,
                            training={"data": str(tmp_path), "episodes": 5})  # fmt: skip
            again.experience.load_state_dict(state)
            assert again.experience.draw(40).tokens.equal(taken.tokens)
    passes = [drawn[i : i + 9] for i in range(0, len(drawn), 9)]
    assert all(len(set(one)) == len(one) for one in passes), "each once in a pass"
    assert passes[0] != passes[1], "each pass in an order of its own"
    assert experience.passes == pytest.approx(len(drawn) / 9)
    logs = run.update()
    assert logs["episodes"] == run.experience.games >= 5


def test_groups_are_part_of_the_digest_and_what_cannot_be_compared_is_refused(tmp_path):
    task = rows_of(tmp_path)
    run = trainer(tmp_path, task=task, algorithm=COMPARES, rewards=SHORT, training={"data": str(tmp_path)})
    state = run.state()
    lines = (tmp_path / "episodes.jsonl").read_text()
    (tmp_path / "episodes.jsonl").write_text(lines.replace('"train-12"', '"train-11"'))
    other = trainer(tmp_path, task=task, algorithm=COMPARES, rewards=SHORT, training={"data": str(tmp_path)})
    with pytest.raises(BadCheckpoint, match="the digest of the episodes was"):
        other.restore(state)
    with pytest.warns(Remark, match="3 of 30 episodes are on rows with fewer than 2 answers, and 0 on rows"):
        Trainer(recipes.load(str(tmp_path / f"{__name__}.yaml"), imports="all"))
    nothing = {"constant": {"of": "length", "high": 99}}
    for rewards, why in ((nothing, "27 on rows whose answers all have the same"),
                         (SHORT, "30 of 30 episodes are on rows with fewer than 9")):  # fmt: skip
        least = Compares.least_answers
        Compares.least_answers = 9 if rewards is SHORT else 2
        with pytest.raises(BadSetting, match=f"has no answers to compare: .*{why}.*design.answers=4"):
            trainer(
                tmp_path, task=task, algorithm=COMPARES, rewards=rewards, training={"data": str(tmp_path)}
            )
        Compares.least_answers = least


@pytest.mark.parametrize(("form", "instruction"), [("auto", ""), ("plain", "Be brief.")])
def test_the_prompts_of_pairs_are_those_that_the_policy_is_asked(form, instruction, tmp_path):
    file = everyday.write("pairs", tmp_path / "rows.jsonl")
    model = {"path": str(everyday.model("chatml", tmp_path / "model")), "format": form}
    run = trainer(tmp_path, model=model, task={"limit": 20, "instruction": instruction},
                  training={"data": str(file)})  # fmt: skip
    recorded = run.experience.recording.batch
    assert len(recorded) == 40
    played = play(run.task, games(run.task.rows("train")), run.algorithm.agent(run.actor, True), seed=0)
    asked = token_batch(
        played, run.actor.format, run.weights, max_length=run.actor.context, room=run.actor.room
    )

    def prompts(batch):
        starts = batch.is_action.int().argmax(1).tolist()
        return [row[:start].tolist() for row, start in zip(batch.tokens, starts, strict=True)]

    assert prompts(recorded)[::2] == prompts(recorded)[1::2] == prompts(asked)
    ends = [int(row[real][-1]) for row, real in zip(recorded.tokens, recorded.real, strict=True)]
    assert len(set(ends)) == 1, "an end token is after each answer"


def test_dpo_is_killed_and_resumed_on_a_file_of_pairs(tmp_path):
    task = rows_of(tmp_path)
    file = recipe(tmp_path, task=task, rewards=SHORT, training={"data": str(tmp_path / "pairs.jsonl")})
    assert killed.loquent("train", str(file), "--out", str(tmp_path / "whole")) == 0
    killed.again_and_again(file, tmp_path / "run", [("in_update", 2)])
    assert difference(tmp_path / "whole", tmp_path / "run") is None
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["preference/loss"] == pytest.approx(torch.tensor(2.0).log().item(), abs=1e-6)
    assert [line["preference/compared"] for line in lines[:4]] == [3.0] * 4
    assert lines[3]["preference/loss"] < 0.6


def test_labelled_answers_teach_kto_with_a_threshold(tmp_path):
    task = rows_of(tmp_path)
    labelled = [{"prompt": f"q {i}", "completion": " good plot", "label": i % 2 == 0} for i in range(9)]
    path = tmp_path / "kto.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in labelled))
    kto = {"kind": "kto", "threshold": 0.5}
    run = trainer(tmp_path, task=task, algorithm=kto, training={"data": str(path)})
    assert run.experience.recording.mean_return == pytest.approx(5 / 9)
    assert run.update()["preference/compared"] == 6.0
    with pytest.raises(
        BadSetting, match=r"9 of 9 .* fewer than 2 .*`kto` learns with algorithm.threshold=0.5"
    ):
        trainer(tmp_path, task=task, algorithm={"kind": "kto"}, training={"data": str(path)})
    with pytest.raises(
        BadSetting, match=r"no answers to compare: .*; name a file of `chosen` and `rejected`"
    ):
        trainer(tmp_path, task=task, training={"data": str(path)})
    equal = tmp_path / "equal.jsonl"
    equal.write_text(json.dumps({"prompt": "q", "chosen": "a", "rejected": "a"}) + "\n")
    with pytest.raises(BadSetting, match=r"equal.jsonl' has no episode \(.*1 \(equal answers\)\)"):
        trainer(tmp_path, task=task, training={"data": str(equal)})


@pytest.mark.parametrize("chat", [False, True])
def test_one_file_of_labelled_answers_is_the_task_and_the_data(chat, tmp_path):
    path = tmp_path / "rows.jsonl"
    records = [{"prompt": f"q {i}", "completion": " good plot", "label": i % 2 == 0} for i in range(30)]
    if chat:
        records = [
            one | {"prompt": [everyday.user(one["prompt"])], "completion": [everyday.assistant(" good plot")]}
            for one in records
        ]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    run = trainer(tmp_path, algorithm={"kind": "kto", "threshold": 0.5}, training={"data": str(path)})
    rows = run.task.rows("train")
    assert run.experience.recording.episodes == len(rows)
    good = [int(row.id.rpartition("-")[2]) % 2 for row in rows]
    assert run.experience.recording.mean_return == pytest.approx(sum(good) / len(good))
    assert run.update()["preference/compared"] == 6.0


@pytest.mark.parametrize(
    ("labels", "threshold", "why"),
    [
        ([True] * 9, 0.5, "all 9 answers are desirable, and none is undesirable"),
        ([False] * 9, 0.5, "all 9 answers are undesirable, and none is desirable"),
        ([True, False] * 4, 1.0, "all 8 answers are undesirable, and none is desirable"),
        ([True, False] * 4, 0.5, ""),
    ],
)
def test_labels_of_one_kind_alone_are_remarked(labels, threshold, why, tmp_path):
    task = rows_of(tmp_path, count=4)
    path = tmp_path / "kto.jsonl"
    records = ({"prompt": f"q {i}", "completion": " a", "label": label} for i, label in enumerate(labels))
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    kto = {"kind": "kto", "threshold": threshold}
    file = recipe(tmp_path, task=task, algorithm=kto, training={"data": str(path)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Trainer(recipes.load(str(file)))
    remarks = [str(one.message) for one in caught if "desirable" in str(one.message)]
    assert len(remarks) == bool(why)
    assert all(
        f"training.data: {why} (algorithm.threshold = {threshold}, returns from " in one for one in remarks
    )


@pytest.mark.parametrize("source", ["judge", "reward", "rule"])
def test_collected_answers_are_ranked_by_judge_reward_or_rule(source, tmp_path):
    """`loquent collect` with several answers to a row; the rewards of the run rank them."""
    task = rows_of(tmp_path)
    words = [f"{name}={value}" for name, value in task.items()]
    out = tmp_path / "collected"
    line = ("collect", "generation", "source=path", *words, "--agent", "random", "design.answers=4")
    assert killed.loquent(*line, "--episodes", "24", "--out", str(out)) == 0
    answers = list(episode.read(out / "episodes.jsonl"))
    assert Counter(one.row for one in answers) == {f"train-{i}": 4 for i in range(1, 7)}
    assert len({(one.row, one.number) for one in answers}) == 24
    rewards = {
        "judge": {
            "judge": {"of": "llm_judge", "judge": {"kind": "helpers.agents.judges:Scripted"}, "cache": "none"}
        },
        "reward": {"lexicon": 1.0},
        "rule": SHORT,
    }[source]
    run = trainer(tmp_path, task=task, rewards=rewards, training={"data": str(out)})
    batch = run.experience.batch
    returns = batch.reward.sum(1)
    rule = {"judge": len, "rule": lambda text: -len(text.split())}.get(source)
    texts = {one: run.actor.language.tokenizer.decode(row[row_is]) for one, (row, row_is) in enumerate(
        zip(batch.tokens, batch.is_action, strict=True))}  # fmt: skip
    for group in batch.group.unique():
        best, worst = returns[batch.group == group].sort(descending=True).values
        assert best > worst
    if source == "judge":
        assert Scripted.newest.tokens >= 240
    if rule:
        order = [rule(texts[i]) for i in range(len(batch))]
        assert all(
            (order[i] > order[j]) == (returns[i] > returns[j])
            for i in range(0, len(batch), 2)
            for j in (i + 1,)
        )
    assert run.update()["preference/compared"] >= 1


def test_the_seconds_of_scoring_a_recording_are_not_those_of_collecting_it(tmp_path):
    task = rows_of(tmp_path)
    sections = {"task": task, "training": {"data": str(tmp_path / "pairs.jsonl")}, "rewards": SHORT}
    source = trainer(tmp_path, **sections).experience
    source.next()
    assert source.seconds["score"] > source.seconds["collect"], "the whole recording, at the first draw"
    first = source.seconds["score"]
    source.next()
    assert source.seconds["score"] < first, "once"
    alone = trainer(tmp_path, **sections, algorithm={"kind": "orpo"}).experience
    alone.next()
    assert set(alone.seconds) == {"collect"}


def test_a_run_on_pairs_says_what_it_left_out(tmp_path):
    task = rows_of(tmp_path, count=4)
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(pairs.read_text() + json.dumps({"prompt": "q", "chosen": "a", "rejected": "a"}) + "\n")
    file = recipe(
        tmp_path, task=task, training={"data": [str(pairs), str(tmp_path)], "updates": 1}, rewards=SHORT
    )
    with pytest.warns(Remark, match=r"pairs that are left out: 1 \(equal answers\)"):
        train(recipes.load(str(file)), tmp_path / "run", progress=False)
    content = json.loads((tmp_path / "run" / "data.json").read_text())
    assert (content["left_out_pairs"], content["incomparable"], content["episodes"]) == (
        {"equal answers": 1},
        1,
        17,
    )


def test_the_profile_smoke_replaces_preferences_by_played_answers(tmp_path):
    task = rows_of(tmp_path, count=4)
    file = str(recipe(tmp_path, task=task, training={"data": str(tmp_path / "pairs.jsonl")}))
    smoke = recipes.load(file, profile="smoke").training
    assert (smoke.data, smoke.teacher, smoke.answers) == ((), "random", 2)


def test_a_prompt_longer_than_its_room_is_cut_alike_in_both_answers(tmp_path):
    task = rows_of(tmp_path, count=4)
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        json.dumps({"prompt": "a long film " * 40, "chosen": " good", "rejected": " bad"}) + "\n"
    )
    run = trainer(tmp_path, task=task, training={"data": str(pairs)})
    batch = run.experience.recording.batch
    first, second = batch.tokens[:, : int(batch.is_action.int().argmax(1)[0])]
    assert first.equal(second)
    assert len(first) == run.actor.room == 58
    assert run.experience.recording.cut_rows == 1.0
    assert "100% of the rows to learn from" in run.experience.cuts({})
