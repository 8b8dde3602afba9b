"""Real tables with predictions made by rule, for the scores that ToTTo's official scripts gave to them
(`golden/totto.json`).
"""

import gzip
import json

from loquent.core.task import Row
from loquent.core.values import freeze

FILES = ("totto/totto_dev_data.jsonl", "totto_style_fetaqa/totto_style_dev.jsonl.gz")
SIGNS = (" ,", " .", ' "', " '", " (", " )", " $", " 's", " <null>", " &amp;", " 【", " “")


def examples(beside):
    """The official records of both files, in order.

    Cells with line breaks or tabs, which the official files cannot hold, are blanked.
    """
    found = []
    for name in FILES:
        path = beside / "data" / name
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if name.endswith(".gz")
            else path.open(encoding="utf-8") as lines
        ):
            found += [json.loads(line) for line in lines]
    for example in found:
        for line in example["table"]:
            for cell in line:
                cell["value"] = " ".join(cell["value"].split())
        for field in ("table_page_title", "table_section_title", "table_section_text"):
            example[field] = " ".join((example[field] or "").split())
    return found


def pairs(beside):
    """(predictions, references, rows, examples): one, two or three references, a subset for half of the rows,
    and predictions of seven kinds.
    """
    told = examples(beside)
    sentences = [
        [" ".join(one["final_sentence"].split()) for one in example["sentence_annotations"]]
        for example in told
    ]
    predictions, references = [], []
    for i, example in enumerate(told):
        neighbours = [sentences[(i + k) % len(told)][0] for k in (1, 2)]
        references.append((sentences[i] + neighbours[: i % 3])[:3])
        predictions.append(said(i, example, sentences[i][0], neighbours[0]))
        example["overlap_subset"] = i % 2 == 0
    rows = [Row(f"t{i}", freeze(example)) for i, example in enumerate(told)]
    return predictions, references, rows, told


def said(i, example, sentence, other):
    """What a model might have said: the reference, a part of it, another text, the highlighted cells,
    nothing, or tokenised text with odd signs.
    """
    words = sentence.split()
    cells = [example["table"][line][column]["value"] for line, column in example["highlighted_cells"]]
    return (
        sentence,
        " ".join(word for k, word in enumerate(words) if k % 3),
        other,
        " ".join(cells),
        " " if i % 2 else "",
        "".join(f" {word}{SIGNS[(i + k) % len(SIGNS)] if k % 2 else ''}" for k, word in enumerate(words)),
        " ".join(words[:2]),
    )[i % 7]
