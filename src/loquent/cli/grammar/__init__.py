"""The grammar of the command line: a command's options are a dataclass, from which its parser is made."""
