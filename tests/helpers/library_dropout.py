"""Counts the calls by which torch's own layers drop units."""

import torch
from torch.overrides import TorchFunctionMode


class LibraryDropout(TorchFunctionMode):
    """Inside the context, `count` grows with each call by which torch drops units."""

    count = 0

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function is torch.nn.functional.dropout:
            self.count += options.get("p", arguments[1] if len(arguments) > 1 else 0.5) > 0
        self.count += options.get("dropout_p", 0.0) > 0
        return function(*arguments, **options)
