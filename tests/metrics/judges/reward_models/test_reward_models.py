"""Reward models: losses by hand, learning, the same model to the bit, resuming, and the reward by name."""

import json
import math
import shutil
from dataclasses import replace

import pytest
import torch

from helpers.library_dropout import LibraryDropout
from loquent import pretrained
from loquent.bench.preferences import training
from loquent.cli import main as cli
from loquent.core.metric import Context, Samples
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.data.preferences.pair import Pair, Pairs
from loquent.errors import AnotherRun, BadCheckpoint, BadModel, BadSetting
from loquent.files.manifest import add_seal
from loquent.metrics.judges import checkpoint
from loquent.metrics.judges.reward_models import losses
from loquent.metrics.judges.reward_models.measuring import Scored, quality
from loquent.metrics.judges.reward_models.settings import RewardModelSettings
from loquent.metrics.semantic.preference_model import preference_model
from loquent.pretrained.forward import dropout

TINY = RewardModelSettings(
    layers=1, width=16, heads=2, vocabulary=300, epochs=6, minibatch=8, learning_rate=0.01, device="cpu"
)
WORDS = ("tree", "house", "river", "stone", "cloud", "lamp")
FILES = ("model.safetensors", "card.json", "config.json", "tokenizer.json")


def likings(count=60):
    """Pairs whose preferred text has the word "good", on either side."""
    found = []
    for i in range(count):
        tail = f"{WORDS[i % 6]} {WORDS[i // 6 % 6]} {i}"
        texts = (f"good {tail}", f"poor {tail} .")
        found.append(Pair(f"r{i}", f"a prompt {i}", texts if i % 2 else texts[::-1], bool(i % 2)))
    return Pairs(tuple(found), count, 0)


def written(pairs, path):
    with path.open("w") as file:
        for one in pairs.pairs:
            line = {"item": one.item, "first": "a", "second": "b", "prompt": one.prompt}
            line |= {"first_text": one.texts[0], "second_text": one.texts[1]}
            file.write(json.dumps(line | {"preferred": "first" if one.prefers_first else "second"}) + "\n")
    return path


def content(folder):
    return [(folder / name).read_bytes() for name in FILES]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return training.train(likings(), TINY, tmp_path_factory.mktemp("models") / "pairs")


def test_the_loss_of_pairs_by_hand():
    logits = torch.tensor([[2.0], [0.5], [1.0], [0.5]], dtype=torch.float64, requires_grad=True)
    value = losses.loss(logits, "bradley_terry").mean()  # pairs (2, 1) and (0.5, 0.5)
    assert value.item() == pytest.approx((math.log(1 + math.exp(-1)) + math.log(2)) / 2)
    value.backward()  # the derivative by r(chosen) is - sigmoid(r(rejected) - r(chosen))
    surprise = 1 / (1 + math.exp(1))
    assert logits.grad[:, 0].tolist() == pytest.approx([-surprise / 2, -0.25, surprise / 2, 0.25])


TRL = [  # RewardTrainer.compute_loss of TRL 1.16.0 on these rewards
    ([0.0, 0.0, 0.0], 0.0, 1.7191170117716252),
    ([0.5, 0.0, -1.0], 0.0, 1.4495345852108974),
    ([0.5, 0.0, 2.0], 0.01, 2.4827056963988934),
]


@pytest.mark.parametrize(("margins", "centre", "expected"), TRL)
def test_the_loss_is_that_of_trls_trainer(margins, centre, expected):
    rewards = torch.tensor([[2.0], [0.5], [-1.0], [1.0], [0.75], [3.0]], dtype=torch.float64)
    ours = losses.loss(rewards, "bradley_terry", torch.tensor(margins, dtype=torch.float64), centre)
    assert ours.mean().item() == pytest.approx(expected, rel=1e-12)


def test_margins_and_centring_belong_to_bradley_terry(tmp_path):
    with pytest.raises(BadSetting, match=r"center_rewards_coefficient = 0\.1 with objective = good_bad"):
        replace(TINY, objective="good_bad", center_rewards_coefficient=0.1)
    liked = likings()
    wide = replace(liked, pairs=tuple(replace(pair, margin=1.0) for pair in liked.pairs))
    with pytest.raises(BadSetting, match="the pairs have a margin, and objective = good_bad has none"):
        training.train(wide, replace(TINY, objective="good_bad"), tmp_path / "labels")
    assert wide.digest != liked.digest


def test_the_loss_of_labels_by_hand():
    logits = torch.log(torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.float64))  # P(bad), P(good)
    (value,) = losses.loss(logits, "good_bad")  # chosen: good with 3/4; rejected: bad with 1/2
    assert value.item() == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)
    assert losses.score(logits).tolist() == pytest.approx([math.log(3), 0.0])


def test_figures_by_hand():
    pairs = likings(4).pairs
    scored = Scored(
        *(torch.tensor(x).double().numpy() for x in ([2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 0.0])), 0
    )
    found = quality(scored, pairs)
    assert found.accuracy == (1 + 0 + 0.5 + 1) / 4
    assert found.roc_auc == (3.5 + 1 + 2.5 + 2.5) / 16  # 2, 0, 1 and 1 against 0, 2, 1 and 0
    assert (found.pairs, found.prompts, sum(one.n for one in found.reliability)) == (4, 4, 4)
    mean = (2 / (1 + math.exp(-2)) + 0.5 + 1 / (1 + math.exp(-1))) / 4
    assert sum(one.n * one.mean for one in found.reliability) / 4 == pytest.approx(mean)


@pytest.mark.parametrize(
    "change", [{}, {"objective": "good_bad"}, {"shape": "t5"}, {"include_prompt": False}]
)
def test_a_model_learns_what_raters_prefer(tmp_path, trained, change):
    settings = replace(TINY, **change)
    found = training.train(likings(), settings, tmp_path / "model") if change else trained
    assert found.quality.accuracy == 1
    assert found.quality.roc_auc > 0.9
    assert found.history[-1]["loss"] < found.history[0]["loss"]
    metric = preference_model(Context(), path=str(found.folder), device="cpu")
    texts = ["good tree", "poor tree .", "", "good </s> <|end|> tree", "\ud800 good"]
    measured = metric(Samples(texts, prompts=["a prompt 7"] * 5, rows=[Row("r")] * 5))
    scores = measured.samples["preference_model"]
    assert scores[0] > scores[1]
    assert all(math.isfinite(score) for score in scores)
    assert metric.note.include_prompt == settings.include_prompt
    if settings.objective == "good_bad":
        assert all(0 <= score <= 1 for score in scores)


def test_scores_are_those_of_transformers_and_have_mean_0_on_training_texts(trained):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    metric = preference_model(Context(), path=str(trained.folder), device="cpu")
    own = trained.division.training
    prompts, answers = [one.prompt for one in own] * 2, [one.chosen for one in own]
    answers += [one.rejected for one in own]
    scores = metric(Samples(answers, prompts=prompts, rows=[Row("r")] * len(answers))).samples[
        "preference_model"
    ]
    assert sum(scores) / len(scores) == pytest.approx(0, abs=1e-5)
    model = AutoModelForSequenceClassification.from_pretrained(trained.folder)
    ids = AutoTokenizer.from_pretrained(trained.folder)(f"{prompts[0]} {answers[0]}", return_tensors="pt")
    with torch.no_grad():
        logit = model(input_ids=ids["input_ids"]).logits.item()
    assert scores[0] == pytest.approx(logit - metric.note.mean, abs=1e-5)


def test_the_same_pairs_give_the_same_model_to_the_bit(tmp_path, trained):
    before = torch.get_rng_state()
    again = training.train(likings(), TINY, tmp_path / "again")
    assert content(again.folder) == content(trained.folder)
    assert torch.equal(torch.get_rng_state(), before)
    other = training.train(likings(), replace(TINY, seed=1), tmp_path / "other")
    assert content(other.folder)[0] != content(trained.folder)[0]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    texts = [text for one in likings().pairs for text in one.texts]
    sizes = {"vocabulary": 300, "layers": 2, "width": 16, "heads": 2, "context": 64, "dropout": 0.2}
    folder = tmp_path_factory.mktemp("base")
    pretrained.save(pretrained.build(texts, key=Key(0), device="cpu", **sizes), folder)
    return str(folder)


def test_on_the_trunk_of_a_language_model_masks_come_from_keys_alone(tmp_path, base, monkeypatch):
    settings, drawn, own = replace(TINY, path=base, epochs=1), [], dropout.dropout_mask
    monkeypatch.setattr(dropout, "dropout_mask", lambda *given: drawn.append(own(*given)) or drawn[-1])
    with LibraryDropout() as library:
        training.train(likings(20), settings, tmp_path / "one")
    assert not library.count
    first = [mask.clone() for mask, _ in drawn]
    assert len(first) == 2 * (1 + 2 * 3)  # of 2 steps: on the embeddings, and three in each layer
    assert not torch.equal(first[0].flatten()[:100], first[7].flatten()[:100])  # each step has its own
    drawn.clear()
    training.train(likings(20), settings, tmp_path / "two")
    assert all(torch.equal(mask, old) for (mask, _), old in zip(drawn, first, strict=True))
    assert content(tmp_path / "one")[0] == content(tmp_path / "two")[0]


def test_a_killed_training_on_a_language_model_continues_to_the_bit(tmp_path, base):
    settings = replace(TINY, path=base, epochs=2, checkpoint_every=2)
    whole = training.train(likings(), settings, tmp_path / "whole")

    class Killed(BaseException):
        pass

    def kill(step, _):
        if step == 5:
            raise Killed

    with pytest.raises(Killed):
        training.train(likings(), settings, tmp_path / "model", kill)
    training.train(likings(), settings, tmp_path / "model")
    assert content(tmp_path / "model")[0] == content(whole.folder)[0]


@pytest.mark.parametrize("steps", [3, 8])
def test_a_killed_training_continues_to_the_bit(tmp_path, trained, steps):
    class Killed(BaseException):
        pass

    def kill(step, _):
        if step == steps:
            raise Killed

    settings = replace(TINY, checkpoint_every=4)
    folder = tmp_path / "model"
    with pytest.raises(Killed):
        training.train(likings(), settings, folder, kill)
    assert (folder / checkpoint.FILE).is_file() == (steps >= 4)
    done = []
    training.train(likings(), settings, folder, lambda step, _: done.append(step))
    assert done[0] == (9 if steps == 8 else 1)
    assert content(folder)[0] == content(trained.folder)[0]
    notes = [json.loads(content(one)[1]) for one in (folder, trained.folder)]
    assert notes[0].pop("seal") != notes[1].pop("seal")
    assert notes[0].pop("settings") != notes[1].pop("settings")  # the interval of checkpoints alone
    assert notes[0] == notes[1]
    assert not (folder / checkpoint.FILE).exists()


def test_a_checkpoint_of_another_training_or_a_damaged_one_is_refused(tmp_path, trained):
    class Killed(BaseException):
        pass

    def kill(step, _):
        raise Killed

    settings, folder = replace(TINY, checkpoint_every=1), tmp_path / "model"
    with pytest.raises(Killed):
        training.train(likings(), settings, folder, kill)
    with pytest.raises(AnotherRun, match=r"other settings: learning_rate was 0.01 and is 0.5; delete"):
        training.train(likings(), replace(settings, learning_rate=0.5), folder)
    with pytest.raises(AnotherRun, match="other pairs"):
        training.train(likings(50), settings, folder)
    file = folder / checkpoint.FILE
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        training.train(likings(), settings, folder)
    with pytest.raises(BadSetting, match="holds a reward model already"):
        training.train(likings(), TINY, trained.folder)


def test_folders_that_are_no_reward_models(tmp_path, trained):
    def written(content):
        (tmp_path / "card.json").write_text(json.dumps(add_seal(content)))
        return preference_model(Context(), path=str(tmp_path), device="cpu")

    with pytest.raises(BadModel, match="name a folder that `loquent reward` wrote"):
        preference_model(Context(), path=str(tmp_path / "none"))
    good = json.loads((trained.folder / "card.json").read_text())
    for change, message in (
        ({"objective": "other"}, "objective must be one of 'bradley_terry', 'good_bad', got 'other'"),
        ({"mean": "0"}, "mean"),
        ({"include_prompt": 1}, "include_prompt"),
        ({"kind": "layers"}, r"kind and format are 'layers' and 1; reward_model and 1 are needed"),
        ({"format": 2}, "format"),
    ):
        with pytest.raises(BadModel, match=message):
            written(good | change)
    for text in ("{", json.dumps(good | {"mean": 3.0})):
        (tmp_path / "card.json").write_text(text)
        with pytest.raises(BadModel, match=r"card\.json"):
            preference_model(Context(), path=str(tmp_path))
    for file in trained.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    swapped = written(good | {"objective": "good_bad"})
    with pytest.raises(BadModel, match="has 1 outputs"):
        swapped(Samples(["x"], prompts=["p"], rows=[Row("r")]))
    written(good)
    (tmp_path / "report.html").unlink()  # no part of the model
    whole = written(good)
    assert whole(Samples(["x"], prompts=["p"], rows=[Row("r")])).corpus
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BadModel, match=r"tokenizer\.json is not what was written"):
        written(good)(Samples(["x"], prompts=["p"], rows=[Row("r")]))


def test_a_folder_of_an_earlier_version_is_read(tmp_path, trained):
    """It has `reward.json` and no hashes."""
    folder = shutil.copytree(trained.folder, tmp_path / "model")
    (folder / "card.json").rename(folder / "reward.json")
    ours, theirs = (
        preference_model(Context(), path=str(one), device="cpu") for one in (trained.folder, folder)
    )
    samples = Samples(["good tree", "a"], prompts=["p", "q"], rows=[Row("r")] * 2)
    assert ours(samples) == theirs(samples)
    with pytest.raises(BadSetting, match="holds a reward model already"):
        training.train(likings(), TINY, folder)


@pytest.mark.parametrize("shape", ["gpt2", "t5", "bart"])
def test_the_trunk_of_a_language_model_is_kept(tmp_path, shape):
    texts = [text for one in likings().pairs for text in one.texts]
    language = pretrained.build(
        texts, vocabulary=300, layers=1, width=16, heads=2, context=64, key=Key(0), shape=shape, device="cpu"
    )
    pretrained.save(language, tmp_path / "base")
    settings = replace(TINY, path=str(tmp_path / "base"), learning_rate=0.0, epochs=1)
    folder = training.train(likings(20), settings, tmp_path / "model").folder
    loaded = pretrained.load_classifier(folder, device="cpu")
    assert torch.equal(
        loaded.module.get_input_embeddings().weight, language.module.get_input_embeddings().weight
    )
    alone = loaded.logits(["good tree", "poor <|end|> river stone cloud"])
    assert alone[0] == pytest.approx(loaded.logits(["good tree"])[0], abs=1e-5)  # padding is not read
    assert alone[0] != pytest.approx(alone[1], abs=1e-6)


def test_the_command(tmp_path, capsys):
    lines, out = written(likings(), tmp_path / "judged.jsonl"), tmp_path / "model"
    words = ["layers=1", "width=16", "heads=2", "vocabulary=300", "epochs=2", "device=cpu"]
    assert cli.main(["reward", str(lines), *words, "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr().out
    assert "60 judgements: 48 pairs to train on and 12 held out" in printed
    assert json.loads(printed.splitlines()[-1])["quality"]["pairs"] == 12
    page = (out / "report.html").read_text()
    assert page.count('role="img"') == 2
    assert "ROC-AUC" in page
    assert cli.main(["study", str(lines)]) == 0  # the same file is a study's
    assert "to" in capsys.readouterr().out
    assert cli.main(["reward", str(lines), "epochs=0", "--out", str(tmp_path / "other")]) == 2
    assert "epochs must be at least 1" in capsys.readouterr().err
