"""Rendering of a chat template, for the process with limits of `core.guards.sandbox`.

It imports only jinja2 beside the standard library. The Jinja environment is that of transformers'
`apply_chat_template`.
"""

import datetime
import functools
import json
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """The block `{% generation %}...{% endgeneration %}`, which marks an answer; its text is unchanged."""

    tags = {"generation"}  # noqa: RUF012 - jinja reads a class attribute

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """The block as a call that returns its body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Any) -> str:
        return str(caller())


class Dictionary:
    """The `dict` of a template, without the attributes of the Python class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """A new dict."""
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """A new dict, like `dict.fromkeys`."""
        return dict.fromkeys(*args)


class Names(jinja2.utils.Namespace):
    """Jinja's namespace without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        """The arguments are those of `dict`."""
        self, attributes = args[0], dict(*args[1:], **kwargs)
        for name in attributes:
            _check_name(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an attribute."""
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace has no {name!r}: names that begin with an underscore are not allowed"
        )


def environment() -> ImmutableSandboxedEnvironment:
    """Jinja's sandbox with the filters and functions that chat templates use."""

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

    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    sandbox.filters["tojson"] = as_json
    sandbox.globals.update(
        raise_exception=refuse,
        strftime_now=lambda format: datetime.datetime.now().strftime(format),
        dict=Dictionary(),
        namespace=Names,
    )
    return sandbox


@functools.lru_cache(maxsize=2)
def compile_template(template: str) -> jinja2.Template:
    """A template in an environment of its own."""
    return environment().from_string(template)


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Each conversation's text or refusal; or the error that makes the template unusable.

    Args:
        job: {"template", "variables", "conversations": [[messages, ask], ...], "longest"}.

    Returns:
        {"texts": [...]} with {"text": ...} or {"refused": ...} for each conversation, or {"error": ...} if
        the template writes too much.
    """
    results: list[dict[str, str]] = []
    for messages, ask in job["conversations"]:
        try:
            template = compile_template(job["template"])
            variables = {
                "messages": messages,
                "tools": None,
                "documents": None,
                "add_generation_prompt": ask,
                **job["variables"],
            }
            parts, length = [], 0
            for part in template.generate(**variables):
                parts.append(part)
                length += len(part)
                if length > job["longest"]:
                    count = len(messages)
                    return {
                        "error": f"it writes more than {job['longest']:,} characters for {count} messages"
                    }
            results.append({"text": "".join(parts)})
        except MemoryError:
            raise
        except Exception as error:  # a template is a program and may raise anything
            results.append({"refused": f"{type(error).__name__}: {str(error)[:500]}"})
    return {"texts": results}
