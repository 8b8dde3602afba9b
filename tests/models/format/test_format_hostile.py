"""Chat templates that hang, fill the memory, write without end or reach for Python: each is refused in
seconds, with the reason.
"""

import subprocess
import sys
import time

import pytest
from transformers.utils import chat_template_utils

from helpers.models.tokenizers_for_tests import CHATML, chatml
from loquent.core.episode import Turn
from loquent.core.guards import sandbox
from loquent.errors import BadModel
from loquent.models import serving
from loquent.models.format import template as rendering
from loquent.models.format.names import Chat, Plain
from loquent.models.format.template_worker import environment

LOOPS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% "
    "endfor %}{% endfor %}"
)
HOSTILE = {
    "nested loops": (LOOPS, "not finish within"),
    "loops that write": (LOOPS.replace("{% endfor %}", "xxxxxxxxxx{% endfor %}", 1), "writes more than"),
    "a wide range": ("{% for a in range(10**9) %}{% endfor %}", "Range too big"),
    "a power of a power": ("{{ 7 ** (10 ** 9) }}", "not finish within|memory"),
    "a long text": ("{{ 'a' * 10**10 }}", "memory"),
    "a text of some length": ("{{ 'a' * 10**7 }}", "writes more than"),
    "a wide format": ("{{ '%9999999999d' | format(1) }}", "memory|refuses"),
    "a list that doubles": (
        "{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "memory",
    ),
    "deep parentheses": ("{{ " + "(" * 50_000 + ")" * 50_000 + " }}", "refuses|process ended|cannot be used"),
    "itself": (
        "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
        "RecursionError|not finish within|process ended",
    ),
    "a long template": ("{# " + "x" * rendering.CHARACTERS + " #}" + CHATML, "at most 131,072 are allowed"),
    "a class": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError"),
    "a function's globals": (
        "{{ raise_exception.__globals__['os'] }}",
        "refuses.*(SecurityError|UndefinedError)",
    ),
    "a name of a namespace": ("{% set n = namespace(__class__=1) %}", "underscore"),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_template_is_refused_in_seconds(kind, monkeypatch):
    monkeypatch.setattr(rendering, "SECONDS", 1)
    template, why = HOSTILE[kind]
    tokenizer = chatml().__class__(
        tokenizer_object=chatml().backend_tokenizer, eos_token="<|end|>", chat_template=template
    )
    began = time.perf_counter()
    with pytest.raises(BadModel, match=why):
        Chat(tokenizer)
    assert time.perf_counter() - began < 30


def test_one_process_renders_all_conversations_and_each_text_once():
    format = Chat(chatml())
    process = rendering._process._process
    for _ in range(2):
        format.prompt("", [Turn("task", "a", to="agent")], "agent", 99)
        assert format._text_of.cache_info().misses == 2  # one of them when the format is made
    assert rendering._process._process is process
    assert process.poll() is None


def test_a_failure_of_a_busy_machine_is_not_kept(monkeypatch):
    rendering._process.close()  # it takes longer to start than patience lasts
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "PATIENCE", 0.001)
        with pytest.raises(BadModel, match="did not finish within"):
            Chat(chatml())
    Chat(chatml())


def test_no_default_among_several_templates_and_templates_that_are_no_text():
    for template, why in (
        ({"tool_use": CHATML}, "no 'default' one"),
        ({"default": 5}, "must be a text, got int"),
    ):
        tokenizer = chatml().__class__(tokenizer_object=chatml().backend_tokenizer, eos_token="<|end|>")
        tokenizer.chat_template = template
        with pytest.raises(BadModel, match=why):
            Chat(tokenizer)


def test_a_hostile_template_of_a_folder_is_not_rendered_by_an_export_either(monkeypatch):
    monkeypatch.setattr(rendering, "SECONDS", 1)
    tokenizer = chatml().__class__(
        tokenizer_object=chatml().backend_tokenizer, eos_token="<|end|>", chat_template=LOOPS
    )
    history = "", [Turn("task", "a", to="agent")], "agent"
    assert serving.server_prompts(tokenizer, Plain(tokenizer), [history] * 2) == [None, None]


FEATURES = (
    "{%- set n = namespace(first=true) -%}{%- for m in messages if m.role != 'system' -%}{%- if "
    "loop.index > 2 %}{% break %}{% endif %}\n   {% generation %}{{ m.content | trim }}{% "
    "endgeneration %}\n {{ m | tojson }}{{ {'é': [1, 2]} | tojson(indent=2) }}{{ bos_token }}{{ "
    "dict(a=1) | tojson }}{{ dict.fromkeys(['a'], 2) }}{% set n.first = false %}{{ n.first }}{{ "
    "tools is none }}{{ strftime_now('%Y') }}\n{% endfor %}{% if add_generation_prompt %}ask{% "
    "endif %}\n{{ eos_token }}{{ nothing }}\n"
)


@pytest.mark.parametrize("template", [CHATML, FEATURES])
def test_it_writes_what_the_library_writes(template):
    tokenizer = chatml(template)
    messages = [{"role": role, "content": f" {role} é "} for role in ("system", "user", "assistant", "user")]
    conversations = [(messages[:n], ask) for n in (1, 2, 3, 4) for ask in (False, True)]
    expected = [
        tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=ask)
        for said, ask in conversations
    ]
    assert rendering.render(tokenizer, conversations) == expected


def test_the_environment_has_what_the_library_s_has():
    theirs, ours = chat_template_utils._compile_jinja_template("").environment, environment()
    for part in ("globals", "filters", "tests"):
        assert set(getattr(ours, part)) == set(getattr(theirs, part)), part
    assert (ours.trim_blocks, ours.lstrip_blocks, ours.sandboxed) == (
        theirs.trim_blocks,
        theirs.lstrip_blocks,
        theirs.sandboxed,
    )
    tags = [
        {tag for extension in made.extensions.values() for tag in extension.tags} for made in (ours, theirs)
    ]
    assert tags[0] == tags[1]


def test_the_worker_can_write_no_file(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(sandbox.RUNNER.parent)!r}); from sandbox_worker "
        f"import limit; limit(1, 1 << 29)\nwith open({str(tmp_path / 'x')!r}, 'w') as file: "
        "file.write('x' * 100)"
    )
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "File too large" in done.stderr
    assert not (tmp_path / "x").read_text()
