"""The grammar of the command line: the commands in groups, their arguments and the values these take."""

from loquent.cli.grammar.parser import parser, with_commands

__all__ = ["parser", "with_commands"]
