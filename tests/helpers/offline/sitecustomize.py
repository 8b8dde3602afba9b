"""On PYTHONPATH of a process that a test starts: sockets to anywhere but this machine's own files are
refused.
"""

import socket

_real = socket.socket


class Refusing(_real):
    def __init__(self, family=-1, *rest, **named):
        if (
            family not in (getattr(socket, "AF_UNIX", None),)
            and named.get("fileno") is None
            and (len(rest) < 3 or rest[2] is None)
        ):
            raise RuntimeError("a test may not use the network")
        super().__init__(family, *rest, **named)


socket.socket = Refusing
