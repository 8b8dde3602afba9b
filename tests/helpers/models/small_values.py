"""Values with sharp opinions beside the small random models, and plain readings of what decoding does with
them.
"""

import torch

from helpers.models.small_models import END
from loquent.core.seeding import Key, borrow_generators
from loquent.models.values.networks import TokenValues


def values_of(module, backbones="separate", sharp=4.0, seed=0, **options):
    """Values whose trunks differ from the policy's and from each other's, and whose Q-values are far
    apart.
    """
    grads = {name: parameter.requires_grad for name, parameter in module.named_parameters()}
    values = TokenValues.build(module, backbones=backbones, key=Key(seed), **options).to(module.dtype)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(grads[name])
    own = {id(parameter) for parameter in module.parameters()}
    with torch.no_grad(), borrow_generators(Key(seed, ("noise",))):
        for parameter in values.parameters():
            if id(parameter) not in own:
                parameter.add_(0.05 * torch.randn_like(parameter))
        for head in (*values.q_heads, *values.target_heads, values.v_head):
            head.outer.weight.mul_(sharp)
    return values


@torch.no_grad()
def plainly(module, values, ids):
    """Logits, T and V for the token after `ids`, each network read whole, without a cache."""
    tokens = torch.tensor([ids], device=module.device)

    def last(trunk):
        return trunk(input_ids=tokens, use_cache=False).last_hidden_state[:, -1]

    value = module.base_model if values.value_trunk is None else values.value_trunk
    target = value if values.target_trunk is None else values.target_trunk
    return (
        module(input_ids=tokens, use_cache=False).logits[0, -1],
        values.target_q(last(target))[0],
        values.v(last(value))[0],
    )


def formula(logits, q, v, *, adv_beta=1.0, adv_clip=None, mode="exponential", with_logits=True):
    """The perturbed log-probabilities, as the paper's code writes them, without filters."""
    more = (
        adv_beta * (q - v)
        if mode == "exponential"
        else (adv_beta * (q > v) + (1 - adv_beta) * (q <= v)).log()
    )
    if adv_clip is not None:
        more = torch.minimum(more, torch.tensor(adv_clip, dtype=more.dtype))
    return (logits * with_logits + more).log_softmax(-1)


def counted(*trunks):
    """How often each trunk is read, as a list that counts on.

    The hooks also keep our own forward pass away.
    """
    counts = [0] * len(trunks)
    for i, trunk in enumerate(trunks):
        trunk.register_forward_hook(lambda *given, i=i: counts.__setitem__(i, counts[i] + 1))
    return counts


def ids_of(answers):
    return [answer.tokens.ids.tolist() for answer in answers]


__all__ = ["END", "counted", "formula", "ids_of", "plainly", "values_of"]
