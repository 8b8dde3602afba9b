"""A state as JSON and tensors: without copies, except where two paths would share memory."""

import torch
from safetensors.torch import load_file, save_file

from loquent.files import tensor_tree


def test_a_tensor_is_copied_only_if_a_file_could_not_hold_it(tmp_path):
    whole, tied = torch.arange(6.0), torch.ones(2)
    tree = {"whole": whole, "rows": [tied, tied], "view": whole[1:3], "number": 3}
    tensors = {}
    split = tensor_tree.split(tree, "", tensors)
    assert [path for path in tensors if tensors[path].data_ptr() == whole.data_ptr()] == ["/whole"]
    assert [path for path in tensors if tensors[path].data_ptr() == tied.data_ptr()] == ["/rows/0"]
    save_file(tensors, tmp_path / "tensors")
    again = tensor_tree.join(split, load_file(tmp_path / "tensors"))
    assert again["number"] == 3
    assert again["whole"].equal(whole)
    assert again["view"].equal(whole[1:3])
    assert all(row.equal(tied) for row in again["rows"])
