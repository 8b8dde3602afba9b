"""The process in which a chat template is rendered: few seconds, little memory, no files.

Run by its path; it imports jinja2 alone.

It reads a JSON line {"template", "names", "conversations": [[messages, ask], ...], "seconds", "bytes",
"longest"} and writes a JSON object: {"texts": [...]} with {"text": ...} or {"refused": ...} for each
conversation, or {"error": ...} where the template goes beyond a bound. The environment is that of
transformers' `apply_chat_template`.
"""

import contextlib
import datetime
import json
import sys
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """`{% generation %}...{% endgeneration %}`, which marks an answer.

    The text inside is written as it is.
    """

    tags = {"generation"}  # noqa: RUF012 - jinja's own way

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """The block as a call that gives back its body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Any) -> str:
        return str(caller())


class Dictionary:
    """What a template calls as `dict`, without the attributes of the class."""

    def __call__(self, *args: Any, **named: Any) -> dict[Any, Any]:
        """A dict."""
        return dict(*args, **named)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """`dict.fromkeys`."""
        return dict.fromkeys(*args)


class Names(jinja2.utils.Namespace):
    """Jinja's namespace without names that begin with an underscore."""

    def __init__(*args: Any, **named: Any) -> None:
        """As a dict is made."""
        self, attributes = args[0], dict(*args[1:], **named)
        for name in attributes:
            _allow(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an attribute."""
        _allow(name)
        super().__setitem__(name, value)


def _allow(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace has no {name!r}: names that begin with an underscore are not allowed"
        )


def environment() -> ImmutableSandboxedEnvironment:
    """Jinja's sandbox with the filters and functions that chat templates are written for."""

    def refuse(message: str) -> None:
        raise jinja2.exceptions.TemplateError(message)

    def as_json(
        value: Any,
        ensure_ascii: bool = False,
        indent: Any = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = as_json
    made.globals.update(
        raise_exception=refuse,
        strftime_now=lambda format: datetime.datetime.now().strftime(format),
        dict=Dictionary(),
        namespace=Names,
    )
    return made


def limit(seconds: int, memory: int) -> None:
    """Bound the processor time and memory of this process, and let it write no files, where the system
    can.
    """
    try:
        import resource
    except ImportError:  # Windows: the parent's clock alone ends it
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    whole = int(used.ru_utime + used.ru_stime) + 1 + seconds
    for kind, most in (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(ValueError, OSError):  # macOS knows no bound on address space
            resource.setrlimit(
                kind, (most, most) if hard == resource.RLIM_INFINITY else (min(most, hard), hard)
            )


def render(asked: dict[str, Any]) -> dict[str, Any]:
    """Each conversation's text, or why the template refuses it; or why the template cannot be used."""
    found: list[dict[str, str]] = []
    template = None
    for messages, ask in asked["conversations"]:
        try:
            template = template or environment().from_string(asked["template"])
            given = {
                "messages": messages,
                "tools": None,
                "documents": None,
                "add_generation_prompt": ask,
                **asked["names"],
            }
            parts, length = [], 0
            for part in template.generate(**given):
                parts.append(part)
                length += len(part)
                if length > asked["longest"]:
                    return {
                        "error": f"it writes more than {asked['longest']:,} characters for {len(messages)} "
                        "messages"
                    }
            found.append({"text": "".join(parts)})
        except MemoryError:
            return {"error": f"it needs more than {asked['bytes'] >> 20} MiB of memory"}
        except Exception as error:  # a template is a program of its own: it may raise anything
            found.append({"refused": f"{type(error).__name__}: {str(error)[:500]}"})
    return {"texts": found}


if __name__ == "__main__":
    job = json.loads(sys.stdin.readline())
    limit(job["seconds"], job["bytes"])
    sys.stdout.write(json.dumps(render(job)))
