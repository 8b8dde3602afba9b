"""What the fork server of the tests loads once, so that its children need not: libraries, learners, and what
the recipes of the built-in reviews read before a run begins.
"""

import gc
from contextlib import suppress

import sklearn.linear_model  # noqa: F401
import tokenizers.trainers  # noqa: F401
import transformers.convert_slow_tokenizer
import transformers.models.gpt2.modeling_gpt2  # noqa: F401
from transformers.conversion_mapping import get_checkpoint_conversion_mapping

import loquent.bench.runner
import loquent.cli.commands.train
import loquent.report.page
import loquent.training.train  # noqa: F401
from loquent.core import registry
from loquent.core.seeding import Key
from loquent.data.pools import Sampler
from loquent.errors import MissingExtra
from loquent.metrics.sentiment.classifiers import labelled_rows
from loquent.training import recipes
from loquent.training.start import make_task, pool

for name in registry.names("algorithm"):
    with suppress(MissingExtra):
        registry.find("algorithm", name)
get_checkpoint_conversion_mapping("gpt2")
recipe = recipes.load("reviews_ppo")
task = make_task(recipe)
labelled_rows(task)
Sampler(pool(task, recipe.training), Key(0)).state_dict()
gc.freeze()
