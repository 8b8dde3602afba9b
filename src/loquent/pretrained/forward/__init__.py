"""Our own forward passes, on the weights of transformers' modules: the same functions in less time."""

from loquent.pretrained.forward.choice import Pass, hidden_where, pass_of
from loquent.pretrained.forward.dropout import dropping

__all__ = ["Pass", "dropping", "hidden_where", "pass_of"]
