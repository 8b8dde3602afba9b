"""The options of the task: data, commands, memory, rewards and what an agent observes."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.errors import BadSetting
from loquent.tasks.reading.commands import EASY, HARD
from loquent.tasks.reading.corpus.tokens import SPLITTERS
from loquent.tasks.reading.scores import MATCHES

BUILTIN, SQUAD, NEWSQA, SAMPLES = "builtin", "squad", "newsqa", "samples"
QUESTION, QUESTION_MEMORY, VOCABULARY, ANY = "question", "question+memory", "vocabulary", "any"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings under `task:` for reading."""

    source: str = setting(
        BUILTIN,
        "builtin: made paragraphs; squad: files in SQuAD's form; newsqa: the official split CSV files; "
        "samples: the rows in `samples`",
        choices=(BUILTIN, SQUAD, NEWSQA, SAMPLES),
    )
    path: str = setting(
        "", "source squad: a file, or a folder of files; source newsqa: the folder", file=True
    )
    samples: tuple[Record, ...] = setting(
        (), "source samples: the rows as mappings with context, question, answers; may be empty"
    )
    drop_duplicates: bool = setting(False, duplicates.HELP)
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)
    splitter: str = setting(
        "imrc",
        "imrc: sentences as in the paper's code, without the delimiter; whole: sentences keep it",
        choices=tuple(SPLITTERS),
    )
    mode: str = setting(
        EASY, "easy: previous, next, ctrl+f, stop; hard: ctrl+f, stop", source="§3.2", choices=(EASY, HARD)
    )
    queries: str = setting(
        QUESTION,
        "where queries come from: the question, the question and the memory, the words of the training "
        "rows, or any text",
        source="§3.3",
        choices=(QUESTION, QUESTION_MEMORY, VOCABULARY, ANY),
    )
    vocabulary: int = setting(
        0, "queries=vocabulary: the number of most frequent words; 0: all", source="§3.3", low=0
    )
    stop_words: str = setting(
        "",
        "a file with the words that are never queries, one a line; empty: a list in the package",
        source="§3.3",
        file=True,
    )
    slots: int = setting(
        256, "the most queries that are numbered actions; later ones can still be written", low=1
    )
    search: str = setting(
        "exact", "how a query is found: exact (one token), phrase, fuzzy, or a function module:name"
    )
    memory: int = setting(
        3, "how many of the last different sentences the memory holds", source="§4.2.1", low=1
    )
    steps: int = setting(20, "the most commands; after them the game halts", source="§3.1", low=1)
    start: str = setting(
        "first", "the first sentence that is shown, or a random one", choices=("first", "random")
    )
    distractors: int = setting(
        0, "training rows: how many other paragraphs' sentences are inserted at random places", low=0
    )
    answer_phase: bool = setting(
        False, "true: after the game halts, the agent answers the question; F1 and exact match are rewards"
    )
    reward: str = setting(
        "sufficient",
        "the reward with weight 1: sufficient (the memory holds an answer), or f1 (of the answer)",
        source="§4.2.2",
        choices=("sufficient", "f1"),
    )
    match: str = setting(
        "token",
        "how an answer is found in memory: by whole words, or by characters as in the paper's code",
        choices=MATCHES,
    )
    invalid_penalty: float = setting(
        0.0, "the weight of the reward `invalid`, which is -1 for an invalid command", low=0.0
    )
    expose_found: bool = setting(False, "tell the agent when a search finds nothing")
    reveal_position: bool = setting(False, "show the number of each sentence, as 3/5")
    instruct: bool = setting(
        True, "state the rules before the first command; a small model trained on episodes needs none"
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        files = self.source in (SQUAD, NEWSQA)
        if files and not self.path:
            raise BadSetting(f"source = {self.source!r} needs path, which is empty; set it")
        for name, value, fits in (
            ("path", self.path, files),
            ("samples", self.samples, self.source == SAMPLES),
            ("vocabulary", self.vocabulary, self.queries == VOCABULARY),
        ):
            if value and not fits:
                needs = {
                    "path": "source squad or newsqa",
                    "samples": "source samples",
                    "vocabulary": "queries=vocabulary",
                }
                raise BadSetting(f"{name} = {value!r:.80} has no effect; it needs {needs[name]}")
        if self.reward == "f1" and not self.answer_phase:
            raise BadSetting("reward = 'f1' needs an answer; set answer_phase=true")
