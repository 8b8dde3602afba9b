"""Learners in plain torch on the Gymnasium environments of tagging, labelling and answering.

Nothing here is a learner of the library: a second implementation beside `sb3/ppo`, `sb3/double_dqn` and
`sb3/cloning`, which shows what features, scales, rewards and masks do on given rows.

Run: python -m tools.studies.decisions_study LEARNER TASK '{"options": {...}, "features": {...}, ...}' [FILE]
"""

import json
import subprocess
import sys
import time
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch import nn

import loquent
from loquent.adapters.gymnasium import Environment
from loquent.data.features.making import make


@dataclass(frozen=True)
class Settings:
    """One experiment."""

    options: dict = field(default_factory=dict)  # of the task
    features: dict = field(default_factory=dict)
    standard: bool = False  # whether inputs have mean 0 and deviation 1 over turns of a random player
    layers: tuple = (100, 100)
    actions: int = 50_000
    games: int = 16
    rate: float = 1e-3
    falls: bool = False  # whether the rate falls to 0 over the run
    gamma: float = 0.99
    lam: float = 0.95
    rollout: int = 64
    epochs: int = 4
    minibatch: int = 64
    entropy: float = 0.0
    replay: int = 50_000
    explore: float = 0.02
    explore_share: float = 0.1
    target_every: int = 60  # gradient steps
    weight: float = 1.0  # a factor for rewards
    rows: int = 300  # validation rows
    seed: int = 0


def share(observation, action, targets):
    """A reward for tagging: 1 / tokens for a right label, so that a game's rewards add up to its token F1."""
    return (action == targets[len(observation.fields["labels"])]) / len(targets)


class Games:
    """Environments side by side; an ended one begins its next episode at once."""

    def __init__(self, task, settings, split="train"):
        own = {"form": "index", "view": "vector", "featurizer": make(settings.features), "split": split}
        self.envs = [Environment(task, **own) for _ in range(settings.games)]
        begun = [env.reset(seed=1000 * settings.seed + i) for i, env in enumerate(self.envs)]
        self.seen = np.stack([seen for seen, _ in begun])

    def legal(self):
        return torch.as_tensor(np.stack([env.action_masks() for env in self.envs]))

    def expert(self):
        """The right actions of the present turns."""
        turns = [(env.task, env._game.step.state) for env in self.envs]
        return torch.tensor([task.actions.index(task.expert(state)) for task, state in turns])

    def step(self, actions):
        """Rewards, ends, and what is seen and legal after the step, before a new episode begins."""
        rewards, ends, after, legal = [], [], [], []
        for i, (env, action) in enumerate(zip(self.envs, actions.tolist())):
            seen, reward, terminated, truncated, _ = env.step(action)
            rewards.append(reward)
            ends.append(terminated or truncated)
            after.append(seen)
            legal.append(env.action_masks())
            self.seen[i] = env.reset()[0] if ends[-1] else seen
        arrays = (np.float32(rewards), np.array(ends), np.stack(after), np.stack(legal))
        return [torch.as_tensor(array) for array in arrays]


class Network(nn.Module):
    """An MLP on standardised inputs, with heads of `sizes`."""

    def __init__(self, inputs, sizes, settings, activation):
        super().__init__()
        widths, parts = [inputs, *settings.layers], []
        for low, high in pairwise(widths):
            parts += [nn.Linear(low, high), activation()]
        self.body = nn.Sequential(*parts)
        self.heads = nn.ModuleList(nn.Linear(widths[-1], size) for size in sizes)
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))

    def forward(self, seen):
        hidden = self.body(((torch.as_tensor(seen) - self.mean) * self.scale).clamp(-10, 10))
        return [head(hidden) for head in self.heads]


class Learner:
    """A network, its optimizer, and the games."""

    sizes, activation = ("actions",), nn.Tanh

    def __init__(self, task, settings):
        torch.manual_seed(settings.seed)
        self.settings, self.games, self.task = settings, Games(task, settings), task
        sizes = [len(task.actions) if size == "actions" else size for size in self.sizes]
        self.network = Network(self.games.seen.shape[1], sizes, settings, self.activation)
        if settings.standard:
            seen = []
            for _ in range(2000 // settings.games):
                seen.append(self.games.seen.copy())
                self.games.step(torch.multinomial(self.games.legal().float(), 1)[:, 0])
            deviation = torch.as_tensor(np.concatenate(seen).std(0))
            self.network.mean.copy_(torch.as_tensor(np.concatenate(seen).mean(0)))
            self.network.scale.copy_(torch.where(deviation > 1e-6, 1 / deviation, 1.0))
        self.optimizer = torch.optim.Adam(self.network.parameters(), settings.rate, eps=1e-5)
        self.done = 0

    def scores(self, seen, legal):
        return self.network(seen)[0].masked_fill(~legal, -torch.inf)

    def descend(self, loss):
        if self.settings.falls:
            share = max(0.0, 1 - self.done / self.settings.actions)
            self.optimizer.param_groups[0]["lr"] = self.settings.rate * share
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()

    def learn(self):
        while self.done < self.settings.actions:
            self.cycle()

    @torch.no_grad()
    def judge(self, split="validation"):
        """Corpus scores of the best actions, and the share of actions that repeat an earlier one."""
        rows = list(self.task.rows(split))[: self.settings.rows]
        ended, repeats, count, tags = [], 0, 0, self.task.spec.id == "tagging"
        for start in range(0, len(rows), len(self.games.envs)):
            batch = rows[start : start + len(self.games.envs)]
            live = [
                (env, row, env.reset(options={"sample": row})[0]) for env, row in zip(self.games.envs, batch)
            ]
            while live:
                legal = torch.as_tensor(np.stack([env.action_masks() for env, _, _ in live]))
                best = self.scores(np.stack([seen for _, _, seen in live]), legal).argmax(1).tolist()
                following = []
                for (env, row, _), action in zip(live, best):
                    text = self.task.actions.text(action)
                    repeats += not tags and text in env._game.step.observation.fields.get("labels", ())
                    count += 1
                    seen, _, terminated, truncated, _ = env.step(action)
                    if terminated or truncated:
                        ended.append((row, env._game.step.observation))
                    else:
                        following.append((env, row, seen))
                live = following
        return {**self.task.measure(ended), "turns": count / len(rows), "repeats": repeats / count}


class Clone(Learner):
    """Cross-entropy against the expert's actions, in states that the expert reached."""

    def cycle(self):
        settings, seen, right = self.settings, [], []
        for _ in range(settings.rollout):
            seen.append(torch.as_tensor(self.games.seen.copy()))
            right.append(self.games.expert())
            self.games.step(right[-1])
        self.done += settings.rollout * settings.games
        seen, right = torch.cat(seen), torch.cat(right)
        for _ in range(settings.epochs):
            for rows in torch.randperm(len(right)).split(settings.minibatch):
                self.descend(nn.functional.cross_entropy(self.network(seen[rows])[0], right[rows]))


class PPO(Learner):
    """Clipped surrogates with generalised advantages; policy and value have a network each."""

    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.critic = deepcopy(self.network)
        self.critic.heads = nn.ModuleList([nn.Linear(settings.layers[-1], 1)])
        nn.init.zeros_(self.network.heads[0].weight)
        self.optimizer.add_param_group({"params": list(self.critic.parameters())})

    def cycle(self):
        settings, turns = self.settings, []
        with torch.no_grad():
            for _ in range(settings.rollout):
                seen, legal = torch.as_tensor(self.games.seen.copy()), self.games.legal()
                chances = self.scores(seen, legal).log_softmax(1)
                actions = torch.multinomial(chances.exp(), 1)[:, 0]
                rewards, ends, _, _ = self.games.step(actions)
                value = self.critic(seen)[0][:, 0]
                turns.append(
                    (
                        seen,
                        legal,
                        actions,
                        chances.gather(1, actions[:, None])[:, 0],
                        value,
                        rewards * settings.weight,
                        ends.float(),
                    )
                )
            following = self.critic(self.games.seen)[0][:, 0]
            gained, advantages = torch.zeros(settings.games), []
            for _, _, _, _, value, rewards, ends in reversed(turns):
                error = rewards + settings.gamma * (1 - ends) * following - value
                gained = error + settings.gamma * settings.lam * (1 - ends) * gained
                advantages.append(gained)
                following = value
        self.done += settings.rollout * settings.games
        seen, legal, actions, old, values, _, _ = (torch.cat(part) for part in zip(*turns))
        advantages = torch.cat(advantages[::-1])
        targets = advantages + values
        for _ in range(settings.epochs):
            for rows in torch.randperm(len(old)).split(settings.minibatch):
                chances = self.scores(seen[rows], legal[rows]).log_softmax(1)
                new = chances.gather(1, actions[rows, None])[:, 0]
                part = advantages[rows]
                part = (part - part.mean()) / (part.std() + 1e-8)
                ratio = (new - old[rows]).exp()
                gain = torch.minimum(ratio * part, ratio.clamp(0.8, 1.2) * part).mean()
                entropy = -(chances.exp() * chances.clamp(min=-50)).sum(1).mean()
                miss = nn.functional.mse_loss(self.critic(seen[rows])[0][:, 0], targets[rows])
                self.descend(0.5 * miss - gain - settings.entropy * entropy)


class DQN(Learner):
    """Double DQN with a uniform replay: one gradient step after each action of all games."""

    activation = nn.ReLU

    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.target, self.replay, self.steps = deepcopy(self.network), [], 0
        self.draws = np.random.default_rng(settings.seed)

    def cycle(self):
        settings = self.settings
        share = min(1.0, self.done / (settings.explore_share * settings.actions))
        seen, legal = torch.as_tensor(self.games.seen.copy()), self.games.legal()
        with torch.no_grad():
            best = self.scores(seen, legal).argmax(1)
        other = torch.multinomial(legal.float(), 1)[:, 0]
        explores = torch.rand(settings.games) < 1 + share * (settings.explore - 1)
        actions = torch.where(explores, other, best)
        rewards, ends, after, allowed = self.games.step(actions)
        turns = list(zip(seen, actions, rewards * settings.weight, ends.float(), after, allowed))
        self.replay = (self.replay + turns) if len(self.replay) < settings.replay else self.replay
        if len(self.replay) >= settings.replay:
            place = self.done % settings.replay
            self.replay[place : place + len(turns)] = turns
        self.done += settings.games
        if self.done < 1000:
            return
        drawn = [self.replay[i] for i in self.draws.integers(len(self.replay), size=settings.minibatch)]
        seen, actions, rewards, ends, after, allowed = (torch.stack(part) for part in zip(*drawn))
        with torch.no_grad():
            chosen = self.scores(after, allowed).argmax(1, keepdim=True)
            following = self.target(after)[0].gather(1, chosen)[:, 0]
        right = rewards + settings.gamma * (1 - ends) * following
        self.descend(
            nn.functional.smooth_l1_loss(self.network(seen)[0].gather(1, actions[:, None])[:, 0], right)
        )
        self.steps += 1
        if self.steps % settings.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())


LEARNERS = {"clone": Clone, "ppo": PPO, "dqn": DQN}


def run(learner, name, settings):
    """The scores of one learner on one task, and the processor seconds it took."""
    began = time.process_time()
    task = loquent.task(name, **{"instruct": False, **settings.options})
    made = LEARNERS[learner](task, settings)
    made.learn()
    scores = {key: round(float(value), 4) for key, value in made.judge().items()}
    return scores, round(time.process_time() - began, 1)


def main(learner, name, text, file=None):
    torch.set_num_threads(1)
    settings = Settings(**json.loads(text))
    scores, seconds = run(learner, name, settings)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    changed = {key: value for key, value in asdict(settings).items() if value != getattr(Settings(), key)}
    command = f"python -m tools.studies.decisions_study {learner} {name} '{text}'"
    line = {
        "command": command,
        "commit": commit,
        "seconds": seconds,
        "learner": learner,
        "task": name,
        "settings": changed,
        "split": "validation",
        "values": scores,
    }
    print(json.dumps(line), flush=True)
    if file:
        with open(file, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
