"""Any task as a Gymnasium environment: the checker without a warning, flags, seeds, terms, malformed actions,
vectors.
"""

import re
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import loquent
from helpers.tracers import TRACERS
from helpers.tracers.board import VIEW, Board
from helpers.tracers.echo import Echo, right
from helpers.tracers.guess import Guess
from helpers.tracers.interview import Interview
from helpers.tracers.labels import Labels
from helpers.tracers.twins import SlotsGuess
from loquent.adapters import register
from loquent.adapters.gymnasium import Environment
from loquent.agents.baselines import Expert, Random
from loquent.core.agent import Answer
from loquent.core.live import Live
from loquent.core.metric import Measured
from loquent.core.rollout.loop import Game, play
from loquent.core.values import Record
from loquent.data.features.spaces import AnyText
from loquent.data.features.token_view import END, TokenView
from loquent.errors import (
    BadModel,
    BadSetting,
    BrokenAgent,
    BrokenTask,
    EpisodeOver,
    InvalidAction,
    UnknownName,
)
from loquent.rewards import Term, TokenTerm, apply
from loquent.tasks.generation.task import Generation
from loquent.tasks.wordle.task import Wordle

WORDLE, GENERATION = "loquent/Wordle-v0", "loquent/Generation-v0"
BOARD = "loquent.tasks.wordle.views:BOARD"


def seats(task):
    return {"judge": Expert(task), "interviewer": Expert(task)} if isinstance(task, Interview) else {}


FORMS = [
    (WORDLE, {}),
    (WORDLE, {"rule": "official", "secret": "redrawn", "limit": 50}),
    (WORDLE, {"guesses": "words", "feedback": "letters"}),
    (WORDLE, {"form": "index"}),
    (WORDLE, {"form": "index", "view": BOARD}),
    (WORDLE, {"form": "text", "view": BOARD}),
    (WORDLE, {"form": "token", "answer_length": 6}),
    (GENERATION, {"limit": 20}),
    (GENERATION, {"form": "token", "limit": 20, "answer_length": 5}),
]


@pytest.mark.parametrize(("id", "settings"), FORMS)
@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_the_checker_has_nothing_to_say(id, settings, render_mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(id, render_mode=render_mode, **settings).unwrapped)


@pytest.mark.parametrize("name", TRACERS)
@pytest.mark.parametrize("form", ["text", "index", "token"])
def test_the_checker_on_every_tracer(name, form):
    task = TRACERS[name]()
    if form == "index" and task.actions is None:
        with pytest.raises(BadSetting, match=f"{name}-v1 takes free text"):
            Environment(task, form=form)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # these are not registered
        warnings.filterwarnings("ignore", message=".*due to the environment not having a spec.*")
        check_env(Environment(task, form=form, agents=seats(task), answer_length=4, render_mode="ansi"))


def test_the_checker_can_fail():
    class Reuses(Environment):
        def reset(self, **settings):
            observation, info = super().reset(**settings)
            return observation + "é" * self.max_observation, info

    with pytest.raises(AssertionError, match="not within the observation space"):
        check_env(Reuses(Guess()))


@pytest.mark.parametrize("name", TRACERS)
def test_an_environment_plays_what_the_loop_plays(name):
    task = TRACERS[name]()
    for number, row in enumerate(task.rows("validation")[:3]):
        want = play(
            task, [Game(row, number)], {"agent": Random(task), **seats(task)}, seed=11, split="validation"
        )[0]
        env = Environment(task, agents=seats(task), split="validation")
        _, info = env.reset(seed=11, options={"id": row.id, "number": number})
        total, over = 0.0, False
        for turn in want.answers():
            assert not over
            _, reward, terminated, truncated, info = env.step(turn.text)
            total, over = total + reward, terminated or truncated
        assert over
        assert total == pytest.approx(want.total(task.spec.rewards), abs=1e-12)
        assert [turn.text for turn in env.episode().turns] == [turn.text for turn in want.turns]
        assert [turn.rewards for turn in env.episode().turns] == [turn.rewards for turn in want.turns]
        assert info["ended"] == want.ended


def test_rewards_while_others_speak_come_with_this_seat_s_answer():
    task = Interview()
    env = Environment(task, agents=seats(task))
    observation, info = env.reset(seed=0)
    assert observation == "what is it?"
    # asked 1 was owed from the first question, and the second question comes before the seat is due again: 2
    # * 0.25
    observation, reward, *_, info = env.step("bread")
    assert (observation, reward, info["rewards"]) == ("why?", 0.5, {"asked": 2.0})
    observation, reward, terminated, _, info = env.step("because")
    assert (observation, reward, terminated, info["ended"]) == ("thank you", 0.93, True, "judged")
    with pytest.raises(BrokenAgent, match="asks the seat 'interviewer', which has no agent"):
        Environment(task).reset(seed=0)


def test_a_game_over_before_the_seat_was_asked():
    env = Environment(Interview(), agents=seats(Interview()), seat="nobody")
    env.agents["agent"] = Expert(env.task)
    with pytest.raises(BrokenTask, match="before the seat 'nobody' had a turn"):
        env.reset(seed=0)


# flags


def test_flags_of_rules_and_cuts():
    board = Environment(Board())
    board.reset(seed=0)
    for _ in range(6):
        *_, terminated, truncated, info = board.step("nonsense")
    # the spec truncates there
    assert (terminated, truncated, info["ended"], info["bootstrap"]) == (False, True, "out of turns", False)
    guess = Environment(Guess())
    guess.reset(seed=0, options={"id": "train:1"})
    *_, terminated, truncated, info = guess.step("0")
    assert (terminated, truncated, info["ended"], info["bootstrap"]) == (True, False, "found", False)
    with pytest.raises(EpisodeOver, match=r"has ended .*; call reset"):
        guess.step("0")


def test_only_the_token_form_truncates_an_over_long_answer():
    text = Environment(Echo(), max_length=10)
    text.reset(seed=0)
    *_, terminated, truncated, info = text.step("x" * 11)
    assert (terminated, truncated, info["ended"], info["bootstrap"], info["text"]) == (
        True,
        False,
        "length",
        False,
        "x" * 10,
    )
    assert text.episode().ended == "length"
    text.reset(seed=0)
    assert text.step("x" * 10)[-1]["ended"] == "said"
    token = Environment(Echo(), form="token", answer_length=10)
    token.reset(seed=0)
    for _ in range(10):
        *_, terminated, truncated, info = token.step(ord("x"))
    assert (terminated, truncated, info["ended"], info["bootstrap"], info["text"]) == (
        False,
        True,
        "cut",
        True,
        "x" * 10,
    )
    token.reset(seed=0)
    for byte in (*b"x" * 9, END):
        *_, terminated, truncated, info = token.step(byte)
    assert (terminated, truncated, info["ended"]) == (True, False, "said")


def test_a_task_without_a_horizon_is_not_ended_by_length():
    env = Environment(Guess(), max_length=3)
    env.reset(seed=0, options={"id": "train:100"})
    *_, terminated, truncated, info = env.step("9999")
    assert (terminated, truncated, info["ended"]) == (False, False, None)


def test_generation_cuts_in_the_token_form_unless_the_setting_says_terminal():
    for horizon, flags, ended in (("cut", (False, True), "cut"), ("terminal", (True, False), "end")):
        env = gymnasium.make(GENERATION, form="token", answer_length=2, limit=5, horizon=horizon)
        env.reset(seed=0)
        env.step(97)
        _, reward, terminated, truncated, info = env.step(98)
        assert ((terminated, truncated), info["ended"], reward) == (flags, ended, 0.0)


def test_the_last_observation_is_the_true_last():
    env = gymnasium.make(WORDLE)
    env.reset(seed=0, options={"id": "train:steel"})
    env.step("crane")
    observation, _, terminated, _, info = env.step("steel")
    assert (observation, terminated) == ("ggggg\n", True)
    assert info["observation"].fields["board"][-1] == ("steel", "ggggg")


# seeds and rows


def test_the_same_seed_gives_the_same_games():
    def games(seed):
        env = gymnasium.make(WORDLE)
        return [env.reset(seed=seed if i == 0 else None)[1]["row"] for i in range(8)]

    assert games(1) == games(1)
    assert games(1) != games(2)
    assert len(set(games(1))) > 4
    unseeded = [gymnasium.make(WORDLE).reset()[1]["row"] for _ in range(6)]
    assert len(set(unseeded)) > 1


def test_rows_can_be_chosen():
    env = gymnasium.make(WORDLE, split="validation")
    assert env.reset(seed=0, options={"index": 0})[1]["row"] == "validation:about"
    assert env.reset(options={"split": "test", "index": 1})[1]["row"] == "test:above"
    assert env.reset(options={"id": "validation:crane"})[1]["row"] == "validation:crane"
    for bad in ({"index": 738}, {"index": -1}, {"index": "0"}, {"index": True}):
        with pytest.raises(BadSetting, match=r"is not in 0\.\.737, the rows of validation"):
            env.reset(options=bad)
    with pytest.raises(BadSetting, match="reset has no option 'row'"):
        env.reset(options={"row": 1})
    with pytest.raises(UnknownName, match="validation:qqqqq"):
        env.reset(options={"id": "validation:qqqqq"})
    with pytest.raises(UnknownName, match="dev"):
        env.reset(options={"split": "dev"})


def test_the_numbers_of_games_are_those_of_the_loop():
    task = Guess()
    env = Environment(task)
    seen = [env.reset(seed=3 if i == 0 else None)[1] for i in range(3)]
    assert [info["number"] for info in seen] == [0, 1, 2]
    one = Live(task, task.row("train", seen[2]["row"]), 2, 3)
    assert one.step.observation == seen[2]["observation"]


# actions


@pytest.mark.parametrize(
    "action",
    [-1, 738, 1.0, True, np.True_, "0", None, np.float32(1), np.array([1.0]), np.array([1, 2]), np.array([])],
)
def test_a_malformed_index_is_refused_and_nothing_is_played(action):
    env = gymnasium.make(WORDLE, form="index").unwrapped
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="it must be an integer from 0 to 737"):
        env.step(action)
    assert env.step(0)[-1]["turn"] == 1


@pytest.mark.parametrize("action", [3, np.int64(3), np.uint8(3), np.array(3), np.array([3])])
def test_whole_numbers_of_any_kind_are_indices(action):
    env = gymnasium.make(WORDLE, form="index").unwrapped
    env.reset(seed=0)
    assert env.step(action)[-1]["text"] == Wordle().words[3]


@pytest.mark.parametrize("action", [b"crane", 3, None, ["crane"]])
def test_what_is_no_text_is_refused(action):
    env = gymnasium.make(WORDLE).unwrapped
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="it must be a string"):
        env.step(action)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "x" * 10**6, "</a>", "<|end|>"])
def test_no_text_raises(text):
    for task in (Wordle(), Echo(), Board()):
        env = Environment(task)
        env.reset(seed=0)
        env.step(text)


def test_an_empty_slot_says_nothing():
    env = Environment(SlotsGuess(), form="index")
    _, info = env.reset(seed=0)
    assert info["legal"] == ("1", "2", "3")
    assert info["action_mask"].tolist() == [1, 1, 1, 0]
    assert env.step(3)[-1]["text"] == ""
    with pytest.raises(InvalidAction):
        env.step(4)


def test_masks_and_legal_texts():
    env = Environment(Labels(), form="index")
    _, info = env.reset(seed=0)
    assert "action_mask" not in info  # 200,000 are refused
    assert "legal" not in info
    _, info = gymnasium.make(WORDLE, form="index", limit=20).reset(seed=0)
    assert info["action_mask"].tolist() == [1] * 20
    assert len(info["legal"]) == 20
    assert env.action_space.n == 200_000
    assert env.step(199_999)[-1]["text"] == "label 199999"


def test_a_view_makes_the_picture():
    env = Environment(Board(), form="index", view=VIEW)
    image, _ = env.reset(seed=0)
    assert image.shape == (100, 380)
    image, *_ = env.step(Board.actions.index("3 7 5"))
    assert image[5, 7] == 4
    assert image.sum() == 4
    assert image in env.observation_space


# tokens


def test_the_token_form_is_the_view_of_generation():
    task = Generation(Generation.Options(limit=5))
    env = Environment(task, form="token", prompt_length=64, answer_length=6)
    view = TokenView(prompt_length=64, answer_length=6)
    seen, info = env.reset(seed=0)
    opening = info["observation"]
    drawn = [*"né".encode(), END]
    assert _equal(seen, view.array(opening))
    for i, token in enumerate(drawn):
        seen, _, terminated, _, info = env.step(token)
        assert _equal(seen, view.array(opening, drawn[: i + 1]))
    assert terminated
    assert info["text"] == "né"
    assert not _equal(seen, view.array(opening, drawn[:-1]))


def test_tokens_over_several_turns():
    env = gymnasium.make(WORDLE, form="token", prompt_length=400, answer_length=8)
    env.reset(seed=0, options={"id": "train:steel"})
    for token in (*b"crane", END):
        seen, reward, *_, info = env.step(token)
    assert (reward, info["text"], info["turn"]) == (-1.0, "crane", 1)
    assert not seen["answer_real"].any()  # the next answer has not begun
    told = bytes(seen["prompt"][seen["prompt_real"] == 1].astype(np.uint8)).decode()
    assert told.startswith("Find the hidden")
    assert told.endswith("\ncrane\nbbbby\n")
    for token in b"steelxyz":  # no end: the answer is stopped, and a task without a horizon plays on
        seen, reward, terminated, truncated, info = env.step(token)
    assert (info["text"], info["ended"], terminated, truncated) == ("steelxyz", None, False, False)


@pytest.mark.parametrize("action", [257, -1, 1.5, True, "a"])
def test_a_malformed_token_is_refused(action):
    env = Environment(Echo(), form="token")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="an integer from 0 to 256"):
        env.step(action)


@pytest.fixture
def folder(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(["the film was good", "the film was bad"] * 20, trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_a_tokenizer_s_own_tokens(folder):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    size, end = tokenizer.get_vocab_size(), tokenizer.token_to_id("<|end|>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(
            gymnasium.make(
                GENERATION, form="token", tokenizer=str(folder), limit=5, answer_length=4
            ).unwrapped
        )
    env = gymnasium.make(GENERATION, form="token", tokenizer=str(folder), limit=5)
    seen, info = env.reset(seed=0)
    assert env.action_space.n == size
    assert tokenizer.decode(seen["prompt"][seen["prompt_real"] == 1].tolist()) == info["observation"].text
    assert set(seen["prompt"][seen["prompt_real"] == 0].tolist()) == {size}
    ids = tokenizer.encode(" the film was good").ids
    for id in (*ids, end):
        seen, _, terminated, _, info = env.step(id)
    assert terminated
    assert info["text"] == " the film was good"
    assert seen["answer"][-len(ids) - 1 :].tolist() == [*ids, end]


def test_markers_in_a_text_are_plain_characters(folder):
    from loquent.adapters.tokens import TokenizerFile

    vocabulary = TokenizerFile(folder, 8, 8)
    assert vocabulary.end not in vocabulary.encode("a <|end|> b")
    assert vocabulary.text(vocabulary.encode("a <|end|> b")) == "a <|end|> b"
    assert vocabulary.encode("\ud800") == vocabulary.encode("?")


def test_folders_that_hold_no_tokenizer(tmp_path, folder):
    with pytest.raises(BadModel, match=r"has no tokenizer\.json"):
        Environment(Echo(), form="token", tokenizer=str(tmp_path / "none"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "tokenizer.json").write_text("{}")
    with pytest.raises(BadModel, match="is not a tokenizer"):
        Environment(Echo(), form="token", tokenizer=str(other))
    (folder / "tokenizer_config.json").write_text('{"eos_token": {"content": "<nothing>"}}')
    with pytest.raises(BadModel, match="names no end token"):
        Environment(Echo(), form="token", tokenizer=str(folder))


# terms


class Length:
    name, version, higher_is_better = "length", 1, None

    def __call__(self, samples):
        return Measured({"length": [float(len(text)) if text else None for text in samples.predictions]})


@pytest.mark.parametrize("name", TRACERS)
@pytest.mark.parametrize("weights", [None, {"long": 0.5}])
def test_terms_inside_step_give_the_total_of_apply(name, weights):
    task, terms = TRACERS[name](), (Term("long", Length(), "length"),)
    used = Record(weights or {**task.spec.rewards, "long": 1.0})
    env = Environment(task, terms=terms, weights=weights, agents=seats(task))
    for number in range(4):
        _, info = env.reset(seed=5 if number == 0 else None)
        total, over, player = 0.0, False, Random(task)
        while not over:
            [answer] = player.answer([env._game.question()])
            _, reward, terminated, truncated, info = env.step(answer.text)
            total, over = total + reward, terminated or truncated
        plain = env.episode()
        scored = apply(terms, [plain], {plain.row: task.row("train", plain.row)})[0]
        assert total == pytest.approx(scored.total(used), abs=1e-9)
        assert "long" in info["rewards"]
        assert total != pytest.approx(plain.total(used), abs=1e-9)  # the term counts


def test_a_term_per_token_inside_step():
    terms = (TokenTerm("right", right),)
    env = Environment(Echo(), form="token", terms=terms, weights={"right": 1.0})
    env.reset(seed=0, options={"id": "train:0"})
    rewards = [env.step(token)[1] for token in (ord("a"), ord("x"), END)]
    # "ab" was shown; "a" is right, "x" and the end are not: one of three tokens
    assert rewards == [0.0, 0.0, pytest.approx(1 / 3)]
    plain = env.episode()
    scored = apply(terms, [plain], {plain.row: Echo().row("train", plain.row)})[0]
    assert scored.total(Record(right=1.0)) == pytest.approx(1 / 3)


def test_a_term_that_is_not_applicable_adds_nothing():
    env = Environment(Echo(), terms=(Term("long", Length(), "length"),))
    env.reset(seed=0, options={"id": "train:0"})
    _, reward, *_, info = env.step("")
    assert (reward, info["rewards"]) == (0.0, {"same": 0.0})


# vectors, rendering, names


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_reset_at_the_next_step(mode):
    settings = {"vector_kwargs": {"shared_memory": False}} if mode == "async" else {}
    envs = gymnasium.make_vec(WORDLE, num_envs=2, vectorization_mode=mode, form="text", limit=20, **settings)
    try:
        assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
        observations, info = envs.reset(seed=0)
        assert list(observations) == ["", ""]
        secret = info["row"][0].split(":")[1]
        observations, rewards, terminated, _, info = envs.step((secret, "zzzzz"))
        assert list(observations) == ["ggggg\n", "bbbbb\n"]  # the true last observation, not the next game's
        assert terminated.tolist() == [True, False]
        assert rewards.tolist() == [0.0, -1.0]
        assert info["ended"].tolist() == ["solved", None]
        observations, rewards, terminated, _, info = envs.step(("zzzzz", "zzzzz"))
        assert observations[0] == ""  # the answer was not played: this step began the next game
        assert rewards.tolist() == [0.0, -1.0]
        assert info["turn"].tolist() == [0, 2]
    finally:
        envs.close()


def test_texts_do_not_pass_through_shared_memory():
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.make_vec(WORDLE, num_envs=2, vectorization_mode="async", limit=20)


def test_vectors_of_arrays():
    envs = gymnasium.make_vec(
        WORDLE, num_envs=3, vectorization_mode="sync", form="index", view=BOARD, limit=20
    )
    observations, info = envs.reset(seed=0)
    assert observations.shape == (3, 6, 5, 2)
    assert info["action_mask"].shape == (3, 20)
    observations, *_ = envs.step(np.array([0, 1, 2]))
    assert observations[:, 0].any()


def test_rendering_is_text_and_safe():
    env = gymnasium.make("loquent/Generation-v0", render_mode="ansi", limit=5)
    env.reset(seed=0)
    env.step("\x1b[2J")
    shown = env.render()
    assert shown.startswith("task: ")
    assert "agent: \\x1b[2J\n" in shown
    assert "\x1b" not in shown


def test_options_of_the_task_are_settings_of_make():
    assert gymnasium.make(WORDLE, rule="official").unwrapped.task.options.rule == "official"
    with pytest.raises(BadSetting, match=r"task wordle has no setting 'ruel'. Nearest: rule"):
        gymnasium.make(WORDLE, ruel="official")
    with pytest.raises(BadSetting, match="form = 'words'"):
        gymnasium.make(WORDLE, form="words")
    with pytest.raises(BadSetting, match=r"task wordle has no setting 'vocabulary_of_frogs'. Known: words"):
        gymnasium.make(WORDLE, vocabulary_of_frogs=1)
    with pytest.raises(BadSetting, match="takes none"):
        Environment(Echo(), rule="x")
    with pytest.raises(BadSetting, match="render_mode"):
        Environment(Echo(), render_mode="rgb_array")
    assert Environment("helpers.tracers.echo:Echo").task.spec.id == "echo"


def test_an_observation_that_does_not_fit_says_what_to_do():
    env = Environment(Echo(), max_observation=1)
    with pytest.raises(BadSetting, match="more than max_observation = 1"):
        env.reset(seed=0, options={"id": "train:1"})


def test_stepping_before_the_first_reset():
    with pytest.raises(EpisodeOver, match="there is no episode; call reset"):
        Environment(Echo()).step("x")


def test_a_seat_that_answers_twice_is_broken():
    class Twice:
        name = "twice"

        def answer(self, asked):
            return [Answer("x")] * 2

    with pytest.raises(BrokenAgent, match="twice got 1 question and returned 2 answers"):
        Environment(Interview(), agents={"interviewer": Twice()}).reset(seed=0)


def test_ids_are_registered_by_strings_and_nothing_heavy_is_loaded():
    script = """
import sys, time
start = time.process_time()
import loquent, gymnasium
spent = time.process_time() - start
assert spent < 1, spent
assert "loquent.tasks.wordle.task" not in sys.modules
env = gymnasium.make("loquent/Wordle-v0")
env.reset(seed=0); env.step("crane")
assert not {"torch", "sklearn", "transformers", "tokenizers"} & set(sys.modules)
"""
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
    register()  # a second call changes nothing
    assert gymnasium.spec(WORDLE).entry_point == "loquent.adapters.gymnasium:Environment"
    assert loquent.__version__


# the space of texts


def test_any_text():
    space = AnyText(5)
    for text in ("", "a", "é你🙂\0\ud800"):
        assert text in space
    for other in ("abcdef", b"abc", 3, None):
        assert other not in space
    space.seed(0)
    assert all(space.sample() in space for _ in range(50))
    assert AnyText(5) == space != AnyText(6)
    flat = gymnasium.spaces.flatten(space, "é\ud800")
    assert flat[:2].tolist() == [0xE9, 0xD800]
    assert gymnasium.spaces.unflatten(space, flat) == "é\ud800"
    assert flat in gymnasium.spaces.flatten_space(space)
    assert space.sample(mask=(2, None)) in space


def _equal(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("terms", value) for value in (3, "abc", [3], True)],
        *[("agents", value) for value in (3, [3], {"judge": 3})],
        *[("weights", value) for value in (3, {"a": "b"}, {"a": float("nan")})],
        *[("view", value) for value in (3, (1, 2), "helpers.tracers.board:Board", (1,))],
        *[(name, value) for name in ("max_length", "max_observation") for value in (0, "x", 1.5, None, True)],
        *[
            ("tokenizer", 3),
            ("split", 3),
            ("seat", None),
            ("form", 3),
            ("form", []),
            ("task", 3),
            ("prompt_words", "x"),
            ("limit", -1),
            ("labels", 3),
        ],
    ],
)
def test_a_wrong_argument_of_make_is_named(name, value):
    form = {"form": "token"} if name == "tokenizer" else {}
    with pytest.raises(
        BadSetting, match=rf"\b{name} (= |is None; |must be .*, got {re.escape(repr(value))})"
    ) as caught:
        gymnasium.make("loquent/Generation-v0", **{**form, name: value})
    assert " a int" not in str(caught.value)


def test_right_arguments_of_make_are_taken():
    env = Environment(
        Echo(),
        terms=(),
        agents={},
        weights={"right": 2},
        view=None,
        max_length=1,
        max_observation=9,
        split="train",
    )
    assert env.weights == Record(right=2)


def test_whole_numbers_of_numpy_are_lengths_and_seeds():
    env, same = (
        Environment(Echo(), max_length=np.int64(5), split="train"),
        Environment(Echo(), max_length=5, split="train"),
    )
    assert env.reset(seed=np.int64(3))[0] == same.reset(seed=3)[0]
    assert type(env.episode().seed) is int
    for seed in (-1, np.int64(-1), 1.5, "3"):
        with pytest.raises(BadSetting, match="seed must be an integer of at least 0, got "):
            env.reset(seed=seed)
    for length in (np.int64(0), np.float64(2.0), np.bool_(True)):
        with pytest.raises(BadSetting, match="max_length = "):
            Environment(Echo(), max_length=length)


def test_sb3_s_make_vec_env_makes_our_environments():
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    env = env_util.make_vec_env(
        "loquent/SequenceTagging-v0", n_envs=2, env_kwargs={"view": "vector", "limit": 5}
    )
    assert env.reset().shape == (2, *env.observation_space.shape)
    with pytest.raises(BadSetting, match="rgb_array"):
        gymnasium.make("loquent/SequenceTagging-v0", render_mode="rgb_array", limit=5)
