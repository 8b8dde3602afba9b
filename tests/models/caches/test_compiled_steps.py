"""Steps that torch compiles give the answers of other steps, also after an update of the weights."""

import warnings

import numpy as np
import pytest
import torch

from helpers.models.small_models import drawn, gemma, gpt2, llama, prompts_of
from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.models.caches.compilation import compiled_step
from loquent.models.decode.loop import Decoding
from loquent.pretrained.pytorch.torch_private import failed_compilation, missing_compiler

CPU = torch.device("cpu")
NEEDS_COMPILER = pytest.mark.skipif(missing_compiler(CPU) is not None, reason="no C++ compiler")


def answers(module, *, compile, **settings):
    """Answers of different lengths to more prompts than live rows, so that rows leave and join."""
    stop = [(lambda ids, n=2 + 5 * i % 7: len(ids) >= n) for i in range(7)]
    return drawn(module, prompts_of(7), {"live": 3, "compile": compile, **settings}, {"stop": stop})


def same(found, expected, within):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.tokens.ids.tolist() == theirs.tokens.ids.tolist()
        assert np.abs(ours.tokens.drawn_logprob - theirs.tokens.drawn_logprob).max() < within


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.parametrize(("build", "within"), [(gpt2, 1e-10), (llama, 1e-5)], ids=["gpt2", "llama"])
def test_compiled_steps_have_the_same_answers_also_after_an_update(build, within):
    """Llama's norms and rotations are float32 whatever the type of the weights; they differ by 1e-6 here."""
    module = build("float64")
    with pytest.warns(Remark, match=r"compiled in \d+\.\d s \(\w+Model, live rows: 3\)"):
        found = answers(module, compile=True)
    same(found, answers(module, compile=False), within)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Remark)  # nothing is compiled again
        greedy = {"method": "greedy"}
        same(answers(module, compile=True, **greedy), answers(module, compile=False, **greedy), within)
        with torch.no_grad():
            for weight in module.parameters():
                weight.mul_(1.3)
        changed = answers(module, compile=True)
        same(changed, answers(module, compile=False), within)
    assert [a.tokens.ids.tolist() for a in changed] != [a.tokens.ids.tolist() for a in found]


def test_a_missing_compiler_is_named():
    with torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}):
        assert "C++ compiler" in missing_compiler(CPU)
        with pytest.raises(BadSetting, match=r"needs a C\+\+ compiler .*CXX.* which is missing; install it"):
            compiled_step(CPU)
        with pytest.raises(BadSetting, match="which is missing"):
            answers(gpt2(), compile=True)


def test_steps_that_cannot_be_compiled_are_refused():
    with pytest.raises(BadSetting, match=r"decoding\.compile = true does not serve Gemma"):
        drawn(gemma(), prompts_of(1), {"compile": True})
    with pytest.raises(BadSetting, match="compile = true does not serve method = beam"):
        Decoding(method="beam", compile=True)


def test_a_failed_compilation_has_its_cause_and_full_memory_is_none():
    def failing(graph, inputs):
        raise OSError(28, "No space left on device")

    with pytest.raises(RuntimeError) as error:
        torch.compile(lambda x: x + 1, backend=failing)(torch.ones(2))
    assert failed_compilation(error.value) == "OSError: [Errno 28] No space left on device"
    assert failed_compilation(torch.OutOfMemoryError("full")) is None
