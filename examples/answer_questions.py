"""A game of multiple choice with a random player: listing A.3.1 of arXiv:2011.08272.

python examples/answer_questions.py                 questions made here
python examples/answer_questions.py qasc            a folder with train.jsonl: QASC, ARC, or rows of your own
"""

import sys

import gymnasium

import loquent  # noqa: F401 - it makes the environments known

options = {"source": "path", "path": sys.argv[1]} if len(sys.argv) > 1 else {}
env = gymnasium.make("loquent/MultipleChoice-v0", render_mode="ansi", **options)
names = env.unwrapped.task.actions

env.reset(seed=0)
env.action_space.seed(0)
total, over = 0.0, False
while not over:
    action = env.action_space.sample()
    _, reward, terminated, truncated, info = env.step(action)
    total, over = total + reward, terminated or truncated
    print(f"Action: {names.text(action)}")
print(env.render())
print(f"Chosen: {info['selected_choice']}, right: {info['target']}. Total reward: {total}")
