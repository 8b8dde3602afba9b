"""Double DQN that never chooses an illegal action: in acting, in exploration, and in the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from torch import Tensor

from loquent.algorithms.sb3 import private_names
from loquent.algorithms.sb3.double_dqn import DoubleDQN
from loquent.core.actions import Legal


class Drawn(NamedTuple):
    """A batch of N turns of the replay. The fields before `legal` are the library's."""

    observations: Tensor
    actions: Tensor
    next_observations: Tensor
    dones: Tensor
    rewards: Tensor
    legal: Tensor  # bool[N, actions]: True for the legal actions of the next observation
    discounts: Tensor | None = None


class MaskedReplay(ReplayBuffer):
    """The library's replay, which also keeps the legal actions of each next observation.

    Args:
        mask: the function from `Observation.legal` to bool[actions].
    """

    def __init__(self, *arguments: Any, mask: Callable[[Legal], NDArray[np.bool_]], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.mask = mask
        actions: Any = self.action_space  # a Discrete
        self.legal = np.ones((self.buffer_size, self.n_envs, int(actions.n)), dtype=np.bool_)

    def add(self, *arguments: Any) -> None:
        """Add a turn of each episode; the last argument is the infos of `adapters.sb3.Games`."""
        self.legal[self.pos] = np.stack([self.mask(info["legal"]) for info in arguments[-1]])
        super().add(*arguments)

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        places = np.random.randint(0, self.n_envs, len(batch_inds))  # noqa: NPY002 - inside `borrow_generators`
        ended = self.dones[batch_inds, places] * (1 - self.timeouts[batch_inds, places])
        return Drawn(
            self.to_torch(self.observations[batch_inds, places]),
            self.to_torch(self.actions[batch_inds, places]),
            self.to_torch(self.next_observations[batch_inds, places]),
            self.to_torch(ended[:, None]),
            self.to_torch(self.rewards[batch_inds, places][:, None]),
            self.to_torch(self.legal[batch_inds, places]),
        )


class MaskableDoubleDQN(DoubleDQN):
    """Double DQN among the legal actions of a state. `env` is an `adapters.sb3.Games`."""

    def __init__(self, policy: Any, env: Any, **keywords: Any) -> None:
        replay: dict[str, Any] = {
            "replay_buffer_class": MaskedReplay,
            "replay_buffer_kwargs": {"mask": env.actions.mask},
        }
        super().__init__(policy, env, **replay, **keywords)

    def next_values(self, drawn: Any) -> Tensor:
        """The online values of the next observations, -inf for illegal actions."""
        return super().next_values(drawn).masked_fill(~drawn.legal, -torch.inf)

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """A legal action of each episode: all drawn, with the chance of exploration, or all the best."""
        assert self.env is not None
        legal = np.stack(self.env.env_method("action_masks"))
        if self.num_timesteps < learning_starts or torch.rand(()).item() < self.exploration_rate:
            chosen = np.array([self.action_space.sample(row.astype(np.int8)) for row in legal])
        else:
            inputs = self.policy.obs_to_tensor(private_names.observations(self))[0]
            with torch.no_grad():
                values = self.q_net(inputs)
            masked = values.masked_fill(~torch.as_tensor(legal, device=values.device), -torch.inf)
            chosen = masked.argmax(1).cpu().numpy()
        return chosen, chosen
