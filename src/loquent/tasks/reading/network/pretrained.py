"""A transformers model as the encoder of question and memory."""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor, nn

from loquent.core.guards import tokenizer_files
from loquent.errors import BadModel
from loquent.pretrained.language import check_ids, load_module, load_tokenizer, transformers_library
from loquent.tasks.reading.network.inputs import Batch, Inputs

ENDLESS = 1 << 20  # tokens, for models without a bound
NOWHERE = -1  # the place of a word that is not read


class Pretrained(nn.Module):
    """The states of a transformers model that reads the question and the memory as a pair.

    The state of a word is that of its first piece; a query has the mean of the embeddings of its pieces.
    Where the model's context is too short for a pair, the oldest words of the memory are not read. All
    weights learn.

    Raises:
        BadModel: the model or its tokenizer cannot be loaded, or its context has no place for a question.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        settings, self.lexicon = inputs.settings, inputs.lexicon
        revision = settings.revision or None
        library = transformers_library()
        self.model = load_module(
            library.AutoModel, settings.encoder, revision, "cpu", "float32", spare="pooler."
        )
        if hasattr(self.model, "pooler"):
            self.model.pooler = None  # it reads states, and has no effect on them
        self._tokenizer = load_tokenizer(settings.encoder, revision)
        check_ids(self.model, self._tokenizer)
        own = self._tokenizer
        self._first = [i for i in (own.cls_token_id, own.bos_token_id) if i is not None][:1]
        self._between = [i for i in (own.sep_token_id, own.eos_token_id) if i is not None][:1]
        self._unknown = own.unk_token_id if own.unk_token_id is not None else 0
        config = self.model.config
        self._context = int(getattr(config, "max_position_embeddings", 0) or ENDLESS)
        self._typed = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        self._pieces: dict[int, list[int]] = {}
        embedding = self.model.get_input_embeddings()
        if settings.question_tokens * 2 + 3 > self._context:
            raise BadModel(
                f"{settings.encoder} reads {self._context} tokens; a question of question_tokens = "
                f"{settings.question_tokens} words may need more; set a smaller number"
            )
        self.states = nn.Linear(int(config.hidden_size), settings.width)
        self.queries = nn.Linear(int(embedding.weight.shape[1]), settings.width)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """States of the memory f[N, L, d], of the question f[N, M, d], and of the queries f[N, C, d]."""
        numbers = batch.numbers.tolist()
        words = [self._of_word(number) for number in numbers]
        rows = [
            self._row([words[i] for i in question if i], [words[i] for i in memory if i])
            for question, memory in zip(batch.question.tolist(), batch.memory.tolist(), strict=True)
        ]
        length = max(len(ids) for ids, _, _, _ in rows)
        ids = self._padded([row[0] for row in rows], length, batch)
        named = (
            {"token_type_ids": self._padded([row[1] for row in rows], length, batch)} if self._typed else {}
        )
        real = self._padded([[1] * len(row[0]) for row in rows], length, batch)
        states = self.model(input_ids=ids, attention_mask=real, **named).last_hidden_state
        question = self._at(states, [row[2] for row in rows], batch.question.shape[1])
        memory = self._at(states, [row[3] for row in rows], batch.memory.shape[1])
        return memory, question, self._of_queries(words, batch)

    def _row(
        self, question: list[list[int]], memory: list[list[int]]
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """Pieces, their types, and the places of the words of question and memory among them."""
        ends = len(self._first) + 2 * len(self._between)
        room = self._context - ends - sum(map(len, question))
        cut = next((i for i in range(len(memory)) if sum(map(len, memory[i:])) <= room), len(memory))
        head = [*self._first, *(piece for word in question for piece in word), *self._between]
        tail = [*(piece for word in memory[cut:] for piece in word), *self._between]
        asked = list(accumulate(map(len, question), initial=len(self._first)))[:-1]
        read = list(accumulate(map(len, memory[cut:]), initial=len(head)))[:-1]
        return head + tail, [0] * len(head) + [1] * len(tail), asked, [NOWHERE] * cut + read

    def _of_word(self, number: int) -> list[int]:
        pieces = self._pieces.get(number)
        if pieces is None:
            text = self.lexicon.spelled[number]
            with tokenizer_files.encoding(self._tokenizer, [text]):
                ids = self._tokenizer(f" {text}" if text else "", add_special_tokens=False)["input_ids"]
            pieces = self._pieces[number] = list(ids) or [self._unknown]
        return pieces

    def _padded(self, rows: list[list[int]], length: int, batch: Batch) -> Tensor:
        full = [[*row, *[0] * (length - len(row))] for row in rows]
        return torch.tensor(full, dtype=torch.int64, device=batch.numbers.device)

    def _at(self, states: Tensor, places: list[list[int]], width: int) -> Tensor:
        """The states at places in the width of the network; zeros where there is none."""
        full = [[*row, *[NOWHERE] * (width - len(row))] for row in places]
        index = torch.tensor(full, dtype=torch.int64, device=states.device)
        rows = index.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[2])
        result: Tensor = self.states(states.gather(1, rows)) * (index >= 0)[:, :, None]
        return result

    def _of_queries(self, words: list[list[int]], batch: Batch) -> Tensor:
        """The mean of the embeddings of each query's pieces."""
        index = batch.queries
        embedding = self.model.get_input_embeddings()
        pieces = [torch.tensor(words[i], device=index.device) for i in range(len(words))]
        means = torch.stack([embedding(each).mean(0) for each in pieces])
        result: Tensor = self.queries(means)[index] * (index > 0)[:, :, None]
        return result
