"""Wordle: colours, rewards, ends, words, and the golden games."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loquent.core import episode
from loquent.core.rollout.loop import games, play, replay
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadRow, BadSetting, EpisodeOver, UnknownName
from loquent.tasks.wordle import rows
from loquent.tasks.wordle import task as home
from loquent.tasks.wordle.lexicon import Lexicon, information
from loquent.tasks.wordle.lexicon import lexicon as lexicon_of
from loquent.tasks.wordle.marks import CODE, WRITTEN, code, letters, marks, pairs, table
from loquent.tasks.wordle.task import Wordle, WordleOptions

WORDS = rows.read("builtin")
WORD = st.text("abcde", min_size=5, max_size=5)

# guess, secret, the marks without counting (a letter is y wherever it occurs), the newspaper's (each letter
# accounts for one mark)
MARKED = [
    ("speed", "abide", "bbyyy", "bbyby"),  # one e in abide: the first e of speed takes it
    ("geese", "those", "byygg", "bbbgg"),  # the e in place takes the only e
    ("allay", "label", "yyyyb", "yyybb"),  # label has two l and one a: the second a gets nothing
    ("eerie", "crepe", "yyybg", "ybybg"),  # crepe has two e: one in place, one for the first
    ("llama", "label", "gyyby", "gyybb"),  # the first a takes label's only a
    ("abbey", "babes", "yyggb", "yyggb"),
    ("sassy", "glass", "yyygb", "yybgb"),  # glass has two s: one in place, one for the first
    ("crane", "crane", "ggggg", "ggggg"),
]


@pytest.mark.parametrize(("guess", "secret", "ilql", "official"), MARKED)
def test_marks_by_hand(guess, secret, ilql, official):
    assert marks(guess, secret) == ilql
    assert marks(guess, secret, "official") == official


def test_the_rules_differ():
    assert sum(ilql != official for _, _, ilql, official in MARKED) == 6


@given(WORD, WORD)
def test_marks_keep_their_laws(guess, secret):
    ilql, official = marks(guess, secret), marks(guess, secret, "official")
    place = [a == b for a, b in zip(guess, secret, strict=True)]
    assert [mark == "g" for mark in ilql] == [mark == "g" for mark in official] == place
    assert [mark != "b" for mark in ilql] == [letter in secret for letter in guess]
    for letter in set(guess):
        told = [mark for mark, said in zip(official, guess, strict=True) if said == letter]
        assert len([mark for mark in told if mark != "b"]) == min(guess.count(letter), secret.count(letter))


@given(
    st.lists(WORD, min_size=1, max_size=6),
    st.lists(WORD, min_size=1, max_size=6),
    st.sampled_from(("ilql", "official")),
)
def test_the_table_is_the_function(guesses, secrets, rule):
    want = [[code(marks(guess, secret, rule)) for secret in secrets] for guess in guesses]
    assert table(guesses, secrets, rule).tolist() == want


def test_codes_by_hand():
    # b, y, g are the digits 0, 1, 2, the first mark the lowest: g b y b b = 2 + 0 + 1 * 9
    assert code("gbybb") == 11
    assert code("bbbbb") == 0
    assert code("ggggg") == 242
    assert code("gbbyb") != 11
    assert [CODE[told] for told in WRITTEN] == list(range(243))


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(WORDS) | WORD, max_size=5),
    st.sampled_from(WORDS),
    st.sampled_from(("ilql", "official")),
)
def test_what_fits_is_what_every_row_allows(guesses, secret, rule):
    lexicon = lexicon_of(WORDS, rule)
    board = tuple((guess, marks(guess, secret, rule)) for guess in guesses)
    want = [word for word in WORDS if all(marks(guess, word, rule) == told for guess, told in board)]
    assert [WORDS[i] for i in lexicon.fits(board)] == want
    assert secret in want
    best = [WORDS[i] for i in lexicon.best(board)]
    assert best
    assert set(best) <= set(want)
    assert all(lexicon.marks(guess, secret) == told for guess, told in board)


def test_the_table_is_kept_within_bounds(monkeypatch):
    from loquent.tasks.wordle import lexicon as home

    monkeypatch.setattr(home, "ROWS", 3 * len(WORDS))
    monkeypatch.setattr(home, "REMEMBERED", 4)
    lexicon = Lexicon(WORDS, "official")
    for guess in WORDS[:20]:
        assert lexicon.marks(guess, "steel") == marks(guess, "steel", "official")
        assert WORDS.index("steel") in lexicon.fits(((guess, lexicon.marks(guess, "steel")),))
        assert WORDS.index(guess) in lexicon.best(((guess, "ggggg"),))
    assert len(lexicon._rows) <= 4
    assert len(lexicon._fits) <= 5
    assert len(lexicon._best) <= 4


def test_best_by_hand():
    lexicon = Lexicon(("aaaaa", "aaaab", "aabbb", "ccccc"), "ilql")
    # aaaaa is told ggggg, ggggb, ggbbb and bbbbb by the four: four patterns, ln 4 nats; aaaab ggggb, ggggg,
    # ggyyg and bbbbb: as many, and aabbb likewise; ccccc is told ggggg by itself and bbbbb by the three
    # others: ln 4 - 3/4 ln 3
    assert lexicon.best(()).tolist() == [0, 1, 2]
    told = information(lexicon.codes)
    assert told[:3] == pytest.approx([np.log(4)] * 3)
    assert told[3] == pytest.approx(np.log(4) - 3 / 4 * np.log(3))
    assert lexicon.best((("zzzzz", "bbbbb"), ("aaaab", "ggggg"))).tolist() == [1]
    assert lexicon.best((("ccccc", "ggggb"),)).tolist() == []  # no word would be told that


@pytest.mark.parametrize("board", [(("peach", "bybby"),), (("power", "bbbgg"),), (("quest", "bbbbg"),)])
def test_ties_do_not_depend_on_the_order_of_sums(board, monkeypatch):
    # on these boards two words tell equally much, and their sums differ in the last bits as their patterns
    # stand in another order
    shuffled = tuple(WORDS[i] for i in Key(0).generator().permutation(len(WORDS)))
    best = [
        {lexicon.words[i] for i in lexicon.best(board)}
        for lexicon in (Lexicon(WORDS, "ilql"), Lexicon(shuffled, "ilql"))
    ]
    assert best[0] == best[1]
    assert len(best[0]) == 2
    monkeypatch.setattr("loquent.tasks.wordle.lexicon.TIE", 0.0)
    assert len(Lexicon(WORDS, "ilql").best(board)) == 1, "it can fail"


def play_out(texts, secret="steel", **options):
    task = Wordle(WordleOptions(**options))
    step = task.start(task.row("train", f"train:{secret}"), Key(0))
    earned = []
    for text in texts:
        step = task.act(step, text)
        earned.append(step.rewards["guess"])
    return step, earned


@pytest.mark.parametrize("k", range(1, 7))
def test_solved_at_guess_k_returns_minus_k_minus_1(k):
    step, earned = play_out(["crane"] * (k - 1) + ["steel"])
    assert step.ended == "solved"
    assert earned == [-1.0] * (k - 1) + [0.0]
    assert step.turn == k


def test_six_wrong_guesses_return_minus_six():
    step, earned = play_out(["crane"] * 6)
    assert (step.ended, sum(earned)) == ("out of turns", -6.0)
    assert step.observation.fields["left"] == 0
    with pytest.raises(EpisodeOver):
        Wordle().act(step, "steel")


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "ABCDE",
        "ab!de",
        "",
        "steel ",
        " steel",
        "steel\n",
        "ste\0l",
        "stéel",
        "steels",
        "ｓｔｅｅｌ",
        "\ud800bcde",
        "s" * 10**6,
    ],
)
def test_an_invalid_word_costs_the_turn_and_is_told_nothing(text):
    step, earned = play_out([text])
    assert earned == [-1.0]
    assert step.observation.text == ""
    assert step.observation.fields["board"] == ()
    assert step.observation.fields["left"] == 5
    assert play_out([text, "steel"])[0].ended == "solved"
    assert play_out([text] * 6)[0].ended == "out of turns"


def test_five_letters_outside_the_list_are_a_guess():
    step, earned = play_out(["zzzzz", "eeels"])
    assert step.observation.fields["board"] == (("zzzzz", "bbbbb"), ("eeels", "yygyy"))
    assert earned == [-1.0, -1.0]


def test_the_observation_is_the_newest_row_only():
    step, _ = play_out(["crane", "speed"])
    assert step.observation.text == "gbggb\n"
    assert step.observation.fields["board"] == (("crane", "bbbby"), ("speed", "gbggb"))


def test_the_secret_is_not_told():
    step, _ = play_out(["crane"])
    assert "steel" not in repr(step.observation)


# the redrawn secret


def test_a_redrawn_secret_fits_all_that_was_told_and_depends_on_the_key():
    task = Wordle(WordleOptions(secret="redrawn"))
    row = task.rows("train")[0]
    ends = set()
    for seed in range(20):
        step = task.start(row, Key(seed))
        assert step.state.secret is None
        while step.ended is None:
            step = task.act(step, task.expert(step.state))
            assert len(task.lexicon.fits(step.state.board))
        ends.add(step.state.board[-1][0])
    assert len(ends) > 5
    assert task.act(task.start(row, Key(1)), "crane") == task.act(task.start(row, Key(1)), "crane")


def test_a_redrawn_secret_changes_no_return():
    # each mean over 5,000 games of the consistent player; the difference of two equal means exceeds 3
    # standard errors once in 370
    from loquent.tasks.wordle.experts import consistent

    means, errors = [], []
    for secret in ("row", "redrawn"):
        task = Wordle(WordleOptions(secret=secret, limit=250))
        returns = [
            one.total(task.spec.rewards)
            for one in play(task, games(task.rows("train"), each=20), consistent(task), seed=2)
        ]
        means.append(np.mean(returns))
        errors.append(np.std(returns) / np.sqrt(len(returns)))
    assert len(returns) == 5000
    assert abs(means[0] - means[1]) < 3 * np.hypot(*errors)
    assert np.hypot(*errors) < 0.02  # small enough to see a difference of a tenth


# words and rows


def test_the_built_in_list():
    assert len(WORDS) == 738
    assert list(WORDS) == sorted(set(WORDS))
    assert all(re.fullmatch("[a-z]{5}", word) for word in WORDS)
    assert f"list of {len(WORDS)} words" in home.__doc__


def test_a_limit_draws_once_and_nests():
    small, large = rows.read("builtin", 50), rows.read("builtin", 200)
    assert (len(small), len(large)) == (50, 200)
    assert set(small) < set(large) < set(WORDS)
    assert small == rows.read("builtin", 50) == tuple(sorted(small))
    assert small != WORDS[:50]
    assert rows.read("builtin", 738) == WORDS
    with pytest.raises(BadSetting, match="limit = 739 is more than the 738 words"):
        rows.read("builtin", 739)


def test_splits_share_secrets_and_no_id():
    task = Wordle(WordleOptions(limit=5))
    secrets = {split: [row["secret"] for row in task.rows(split)] for split in task.spec.splits}
    assert secrets["train"] == secrets["validation"] == secrets["test"]
    assert len({row.id for split in task.spec.splits for row in task.rows(split)}) == 15
    with pytest.raises(UnknownName, match="no split of wordle is named 'dev'"):
        task.rows("dev")


def test_words_of_a_file(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("zebra\n\n  apple \ncrane")
    task = Wordle(WordleOptions(words=str(file)))
    assert task.words == ("apple", "crane", "zebra")
    assert len(task.actions) == 3
    assert task.identity != Wordle().identity == "wordle-v1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "words.txt: the word list is empty"),
        ("\n \n", "words.txt: the word list is empty"),
        ("crane\nCRANE\n", "words.txt:2: 'CRANE' is not a word of five letters a-z"),
        ("crane\nabc\n", "words.txt:2: 'abc' is not"),
        ("crane\nslate\ncrane\n", "words.txt:3: 'crane' repeats line 1"),
        (b"cr\xe4ne\n", "the word list cannot be read"),
    ],
)
def test_a_bad_list_names_file_and_line(tmp_path, text, words):
    file = tmp_path / "words.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadRow, match=re.escape(words)):
        Wordle(WordleOptions(words=str(file)))


def test_the_five_letter_lines_of_a_general_vocabulary(tmp_path):
    file = tmp_path / "10k_words.txt"
    file.write_text("the\nabout\nof\nUSA\nother\nwhich\nand\nthen\n")
    with pytest.warns(Remark, match="its 3 lines with five characters are used, the other 5 are left out"):
        assert Wordle(WordleOptions(words=str(file))).words == ("about", "other", "which")
    torn = tmp_path / "torn.txt"
    torn.write_text("the\nof\nAbout\nand\n")
    with (
        pytest.warns(Remark, match="vocabulary"),
        pytest.raises(BadRow, match=r"torn\.txt:3: 'About' is not a word of five letters a-z"),
    ):
        Wordle(WordleOptions(words=str(torn)))
    none = tmp_path / "none.txt"
    none.write_text("the\nof\n")
    with pytest.raises(BadRow, match=r"none\.txt:1: 'the' is not a word"):
        Wordle(WordleOptions(words=str(none)))


@pytest.mark.data
def test_the_vocabulary_of_ilqls_release():
    file = Path(__file__).resolve().parents[4] / "shared" / "data" / "wordle" / "10k_words.txt"
    if not file.is_file():
        pytest.skip(f"no {file}")
    with pytest.warns(Remark, match="its 1,379 lines with five characters are used"):
        assert len(Wordle(WordleOptions(words=str(file))).words) == 1379  # as the release counts


def test_no_list_at_all(tmp_path):
    with pytest.raises(BadRow, match="'builtin' or a file"):
        Wordle(WordleOptions(words=str(tmp_path / "none.txt")))


@pytest.mark.parametrize("options", [{"rule": "other"}, {"secret": "none"}, {"limit": -1}])
def test_options_have_ranges(options):
    with pytest.raises(BadSetting, match=next(iter(options))):
        WordleOptions(**options)


# the golden games


def test_the_golden_games_are_played_again():
    file = Path(home.__file__).with_name("golden.jsonl")
    recorded = list(episode.read(file))
    task = Wordle()
    assert len(recorded) == 4
    assert [replay(task, one) for one in recorded] == recorded
    assert [one.ended for one in recorded] == ["solved", "solved", "solved", "out of turns"]
    wrong = json.loads(file.read_text().splitlines()[0].replace("gbbbg", "gbbbb"))
    assert replay(task, episode.from_json(wrong)) != episode.from_json(wrong)


# real lists


@pytest.mark.data
def test_what_first_guesses_tell_on_the_official_list(beside):
    # the paper's code, measured elsewhere: information in nats under the rule ilql
    task = Wordle(WordleOptions(words=str(beside / "data/wordle/wordle_official.txt")))
    assert len(task.words) == 2315
    told = dict(zip(task.words, information(task.lexicon.codes), strict=True))
    assert [round(told[word], 4) for word in ("raise", "slate", "crate")] == [4.0743, 4.0589, 4.0444]
    assert max(told, key=told.get) == task.expert(task.start(task.rows("test")[0], Key(0)).state) == "raise"


@pytest.mark.data
def test_the_long_lists_are_read(beside):
    lists = beside / "data/wordle"
    task = Wordle(
        WordleOptions(
            words=str(lists / "wordle_official.txt"),
            guesses=str(lists / "wordle_official_guess.txt"),
            rule="official",
        )
    )
    assert (len(task.words), len(task.actions)) == (2315, 12972)
    step = task.start(task.row("train", "train:aback"), Key(0))
    # a word of the long list alone; aback has a second a
    assert task.act(step, "aahed").observation.text == "gybbb\n"
    assert task.act(step, "abcde").observation.fields["board"] == ()


# a list of guesses


def test_guesses_may_be_those_of_the_list_alone():
    step, earned = play_out(["zzzzz", "speed", "x"], guesses="words")
    assert step.observation.fields["board"] == (("speed", "gbggb"),)
    assert earned == [-1.0] * 3
    assert step.observation.fields["left"] == 3
    task = Wordle(WordleOptions(guesses="words"))
    assert task.read(None, "zzzzz").why == "not in the list of guesses"
    assert task.read(None, "zzzz").why == "not five letters a-z"
    assert task.read(None, "steel") == "steel"


def test_guesses_may_be_those_of_a_file(tmp_path):
    file = tmp_path / "guesses.txt"
    file.write_text("zzzzz\nsteel\n")
    task = Wordle(WordleOptions(limit=20, guesses=str(file)))
    assert len(task.words) == 20
    assert set(task.actions.texts) == {*task.words, "zzzzz", "steel"}
    step = task.start(task.rows("train")[0], Key(0))
    assert task.act(step, "zzzzz").observation.text == "bbbbb\n"
    assert task.act(step, "yyyyy").observation.text == ""
    with pytest.raises(BadRow, match=r"none\.txt"):
        Wordle(WordleOptions(guesses=str(tmp_path / "none.txt")))


# a game goes on from any of its steps


@pytest.mark.parametrize("secret", ["row", "redrawn"])
def test_a_branch_keeps_what_was_said_and_what_fits(secret):
    task = Wordle(WordleOptions(secret=secret))
    trunk = task.start(task.row("train", "train:steel"), Key(3))
    for guess in ("crane", "building", "cloud"):
        trunk = task.act(trunk, guess)
    board = trunk.observation.fields["board"]
    assert [guess for guess, _ in board] == ["crane", "cloud"]
    ends = []
    for branch in (("crane", "cloud", "crane"), ("steel", "speed", "spell"), ("sheep", "sheet", "shelf")):
        step = trunk
        for guess in branch:
            if step.ended is None:
                step = task.act(step, guess)
                assert step.observation.fields["board"][:2] == board
                assert set(task.lexicon.fits(step.observation.fields["board"])) <= set(
                    task.lexicon.fits(board)
                )
        ends.append((step.ended, step.turn))
    assert ends[0] == ("out of turns", 6)  # its two words again never win
    assert trunk == task.act(
        task.act(task.act(task.start(task.row("train", "train:steel"), Key(3)), "crane"), "building"), "cloud"
    )


def test_repeating_two_guesses_returns_minus_four_from_there_and_minus_six_in_all():
    _, earned = play_out(["crane", "cloud", "crane", "cloud", "cloud", "crane"])
    assert (sum(earned[2:]), sum(earned)) == (-4.0, -6.0)


def test_feedback_as_letters_by_hand():
    # "crane" against "raise": c absent, r and a elsewhere, n absent, e in place
    assert letters("crane", marks("crane", "raise")) == "-ra-E"
    assert letters("crane", "ggggg") == "CRANE"


@given(WORD, WORD)
def test_feedback_as_letters_tells_the_same(guess, secret):
    shown = letters(guess, marks(guess, secret))
    told = "".join("b" if seen == "-" else "g" if seen.isupper() else "y" for seen in shown)
    assert told == marks(guess, secret)
    assert all(seen in ("-", said, said.upper()) for seen, said in zip(shown, guess, strict=True))


@given(WORD, WORD)
def test_feedback_as_pairs_is_the_guess_with_its_marks(guess, secret):
    assert pairs("crane", marks("crane", "raise")) == "cb ry ay nb eg"
    shown = pairs(guess, marks(guess, secret)).split(" ")
    assert "".join(letter for letter, _ in shown) == guess
    assert "".join(mark for _, mark in shown) == marks(guess, secret)


def test_the_feedback_changes_what_is_seen_and_explained_alone():
    plain, spelled, paired = (
        Wordle(WordleOptions(limit=20, feedback=form)) for form in ("marks", "letters", "pairs")
    )
    row = plain.rows("train")[0]
    guess = next(word for word in plain.words if word != row["secret"])
    for task, expected in (
        (plain, marks(guess, row["secret"])),
        (spelled, letters(guess, marks(guess, row["secret"]))),
        (paired, pairs(guess, marks(guess, row["secret"]))),
    ):
        opening = task.first(row, Key(0))
        after = task.play(opening.state, guess)
        assert (after.observation.text, dict(after.rewards)) == (expected + "\n", {"guess": -1.0})
    assert "upper case" in spelled.spec.instruction
    assert "upper case" not in plain.spec.instruction
    assert "each letter with a mark" in paired.spec.instruction
