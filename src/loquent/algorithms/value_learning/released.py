"""The training settings of ILQL's released code (arXiv:2206.11871), per task, as presets.

Each preset has what all configurations of the code share, and what the one of its task sets. A minibatch is
the code's batch times its accumulation. `adv_beta` and `adv_clip` are those of the evaluation in training.
"""

from __future__ import annotations

from loquent.core.values import Record

HEADS = Record(
    gamma=0.99,
    discount="token",
    double_q=True,
    backbones="separate",
    target_rate=0.005,
    target_every=0,
    q_weight=1.0,
    v_weight=1.0,
    cql_temperature=1.0,
    margin_weight=0.0,
    weight_decay=0.0,
    max_grad_norm=None,
    schedule="constant",
    epochs=1,
    adv_mode="exponential",
    adv_clip=None,
)
CLONING = Record(
    awac_weight=1.0, awac_beta=0.0, awac_mode="exponential", transition_weight=0.0, normaliser="tokens"
)


def _of(*shared: Record, **own: float | int | None) -> Record:
    return Record({name: value for record in (*shared, own) for name, value in record.items()})


ILQL = {
    "ilql_wordle": _of(
        HEADS,
        CLONING,
        learning_rate=1e-5,
        minibatch=1024,
        tau=0.7,
        cql_weight=1e-4,
        adv_beta=16.0,
        adv_clip=0.0,
    ),
    "ilql_visdial": _of(
        HEADS, CLONING, learning_rate=1e-5, minibatch=64, tau=0.8, cql_weight=1.0, adv_beta=16.0
    ),
    "ilql_toxicity": _of(
        HEADS, CLONING, learning_rate=1e-4, minibatch=64, tau=0.6, cql_weight=0.25, adv_beta=8.0
    ),
}
CQL = {
    "ilql_visdial": _of(
        HEADS, CLONING, learning_rate=1e-4, minibatch=64, tau=0.5, cql_weight=0.1, adv_beta=8.0
    ),
}
PSI = {
    "ilql_visdial": _of(
        HEADS, learning_rate=1e-5, minibatch=64, tau=0.5, cql_weight=0.0, adv_beta=8.0, reward_scale=0.1
    ),
}
