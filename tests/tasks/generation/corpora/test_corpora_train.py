"""Every real dataset is trained on, from its published files to a table, by the smoke profile of PPO."""

import json
import math
import warnings

import pytest

from loquent.cli import main as cli
from loquent.core.settings import Remark

RUNS = {
    "commongen": ("commongen", "meteor", ()),
    "daily_dialog": ("daily_dialog", "meteor", ()),
    "wmt16": ("wmt16_en_de", "sacrebleu", ()),
    "narrative_qa": ("narrativeqa", "rouge_l_max", ("task.source_words=60",)),
    "totto": ("totto_style_fetaqa", "parent", ("task.source_words=60",)),
    "scitldr": ("summarization_scitldr/SciTLDR-A", "rouge", ("task.source_words=60",)),
}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("dataset", RUNS)
def test_published_files_are_trained_on(dataset, beside, tmp_path):
    name, metric, more = RUNS[dataset]
    settings = [f"task.dataset={dataset}", "task.source=path", f"task.path={beside / 'data' / name}"]
    settings += ["task.prompt_words=0", f"rewards={{{metric}: 1.0}}", f"metrics={{{metric}: {{}}}}", *more]
    command = ["train", "reviews_ppo", "--profile", "smoke", "--out", str(tmp_path / "run"), *settings]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)  # some published rows stand in two splits
        assert cli.main(command) == 0
    evaluation = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert math.isfinite(evaluation["values"][f"reward/{metric}"])
    assert (tmp_path / "run" / "report.html").is_file()
