"""The evaluation at the end of a run: its scores per episode are kept beside it and checked."""

import pytest

from loquent.core.episode import Episode
from loquent.errors import BadCheckpoint
from loquent.files import atomic, final_evaluation, manifest
from loquent.files.run_folder import RunFolder

CONTENT = {
    "task": "t-v1",
    "split": "test",
    "n": 2,
    "episodes": 2,
    "rows": 2,
    "values": {"a": 1.5},
    "errors": {},
}


def written(path, samples):
    folder = RunFolder(path)
    episodes = [Episode("t-v1", row, "test", 0, 0, ()) for row in "xy"]
    folder.write_evaluation(CONTENT, episodes, samples)
    return folder


def test_scores_per_episode_are_read_apart_from_the_evaluation(tmp_path):
    folder = written(tmp_path, {"a": [1.0, 2.0], "some": [None, 0.5]})
    assert folder.evaluation() == CONTENT
    assert folder.evaluation_samples() == {"a": [1.0, 2.0], "some": [None, 0.5]}


def test_an_evaluation_of_an_earlier_version_has_none(tmp_path):
    assert written(tmp_path, {}).evaluation_samples() == {}


@pytest.mark.parametrize("wrong", [[1.0], [1.0, "x"], [1.0, True], 3, {"a": 1.0}, [1.0, 2.0, 3.0]])
def test_torn_scores_are_named(wrong, tmp_path):
    folder = written(tmp_path, {})
    atomic.write_json(folder.evaluation_file, manifest.add_seal({**CONTENT, "samples": {"a": wrong}}))
    with pytest.raises(BadCheckpoint, match=r"torn: samples\.a"):
        folder.evaluation_samples()
    atomic.write_json(folder.evaluation_file, manifest.add_seal({**CONTENT, "samples": [1.0]}))
    with pytest.raises(BadCheckpoint, match=r"samples must be an object \{...\}, got \[1.0\]"):
        folder.evaluation_samples()


@pytest.mark.parametrize(
    "wrong", [{}, {"lines": 1}, {"sha256": 3}, {"lines": -1, "marks": "", "bytes": -8}, [1]]
)
def test_a_record_of_the_episodes_that_is_none_is_refused(wrong, tmp_path):
    folder = written(tmp_path, {})
    content = manifest.add_seal({**CONTENT, "files": {"episodes.jsonl": wrong}})
    atomic.write_json(folder.evaluation_file, content)
    with pytest.raises(BadCheckpoint, match=r"torn: files\.episodes\.jsonl"):
        final_evaluation.check_episodes(tmp_path)
