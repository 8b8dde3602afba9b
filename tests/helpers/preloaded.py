"""What the fork server of the tests loads once, so that its children need not: libraries, learners, and the
built-in reviews, which take two seconds to make.
"""

import sklearn.linear_model  # noqa: F401
import tokenizers.trainers  # noqa: F401
import transformers.models.gpt2.modeling_gpt2  # noqa: F401

import loquent.algorithms.imitation.supervised
import loquent.algorithms.policy_gradient.ppo
import loquent.algorithms.value_learning.ilql
import loquent.cli.commands.train
import loquent.tasks.generation.task
import loquent.training.train  # noqa: F401
from loquent.data.reviews.corpus import reviews

reviews()
