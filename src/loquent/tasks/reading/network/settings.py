"""The settings of the network of QA-DQN."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting

PAPER = "1908.10449 app. B"
CODE = "the released code"
QANET = "1804.09541 sec. 2"


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What the network reads, its layers, and how it scores commands, queries and answers.

    Raises:
        BadSetting: two settings contradict each other.
    """

    encoder: str = setting(
        "qanet",
        "qanet: the encoder of the paper, which learns here; else the Hugging Face name or folder of a "
        "transformers model, which reads question and memory as a pair",
        source="sec. 4.1",
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    question_tokens: int = setting(60, "tokens of a question that are read at most", low=1)
    memory_tokens: int = setting(
        512, "tokens of the memory that are read at most; the oldest ones are cut off", low=1
    )
    vectors: str = setting(
        "",
        "a text file of word vectors (fastText's or GloVe's form), which stay fixed; a word outside it has "
        "zeros. empty: each word has a fixed random vector",
        source=PAPER,
    )
    word_size: int = setting(300, "size of a word's fixed vector", source=PAPER, low=1)
    character_size: int = setting(200, "size of a character's vector, which learns", source=PAPER, low=1)
    matches: bool = setting(
        False,
        "mark the tokens of the memory that occur in the question (arXiv:1704.00051 sec. 3.2)",
    )
    history: bool = setting(
        False,
        "read the commands left, and mark the words that were searched for; without them the best command "
        "repeats to the end of the budget where it changes no memory",
    )
    width: int = setting(96, "size of the states", source=PAPER, low=2)
    heads: int = setting(1, "attention heads", source=CODE, low=1)
    encoder_blocks: int = setting(1, "blocks of the encoder of question and memory", source=CODE, low=0)
    encoder_convolutions: int = setting(4, "convolutions in one of them", source=CODE, low=0)
    encoder_window: int = setting(7, "tokens that one of these convolutions reads; odd", source=CODE, low=1)
    blocks: int = setting(7, "blocks after the attention between memory and question", source=CODE, low=0)
    convolutions: int = setting(2, "convolutions in one of them", source=CODE, low=0)
    window: int = setting(5, "tokens that one of these convolutions reads; odd", source=CODE, low=1)
    dropout: float = setting(
        0.1, "dropout of embeddings, attention and blocks", source=CODE, low=0.0, high=0.9
    )
    skip: float = setting(
        0.1,
        "stochastic depth: the probability to leave out the last sub-layer of a stack in training; earlier "
        "ones have proportionally less",
        source=CODE,
        low=0.0,
        high=0.9,
    )
    pool: str = setting(
        "mean",
        "how the states of the memory become one: their mean or their maximum (released code)",
        source="eq. 1",
        choices=("mean", "max"),
    )
    hidden: int = setting(150, "size of the layer that the heads share", source=PAPER, low=1)
    queries: str = setting(
        "rows",
        "how a query is scored. rows: each word of the training rows has weights of its own; states: by the "
        "states of the word's places in question and memory, so unknown words have a score of their own, too",
        source="eq. 1",
        choices=("rows", "states"),
    )
    combine: str = setting(
        "sum",
        "the value of a search: the sum of the values of command and query, or their mean (released code)",
        source="eq. 5",
        choices=("sum", "mean"),
    )
    pointer: str = setting(
        "stacks",
        "the states that the answer is pointed at with. stacks: two more stacks of blocks; shared: the stack "
        "of `blocks` again, two times (released code)",
        source="sec. 4.1.2",
        choices=("stacks", "shared"),
    )
    pointer_hidden: int = setting(150, "size of the hidden layer of the pointer", source=PAPER, low=1)
    longest_answer: int = setting(30, "tokens of an answer at most", low=1)
    answers: int = setting(
        64,
        "memories in one gradient step of the question answerer; 0: it does not learn",
        source=PAPER,
        low=0,
    )
    answer_replay: int = setting(100_000, "memories with an answer that are kept", low=1)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % (2 * self.heads):
            raise BadSetting(
                f"width = {self.width} must be an even multiple of heads = {self.heads}; change one of them"
            )
        for name in ("encoder_window", "window"):
            if getattr(self, name) % 2 == 0:
                raise BadSetting(f"{name} = {getattr(self, name)} must be odd; add 1")
        unused = [name for name in ("vectors", "matches", "history") if getattr(self, name)]
        if self.encoder != "qanet" and unused:
            name = unused[0]
            raise BadSetting(
                f"{name} = {getattr(self, name)!r} has no effect with encoder = {self.encoder!r}; remove it"
            )
        if self.encoder == "qanet" and self.revision:
            raise BadSetting(f"revision = {self.revision!r} has no effect with encoder = 'qanet'; remove it")
