"""A port of this machine, taken before its address is told to anybody: what answers there is this program and no other."""

import errno
import socket

from ml.errors import InputError


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free. Raises ``InputError`` naming the option to change."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        match error.errno:
            case errno.EADDRINUSE:
                remedy = "End the program that listens there, or name another port with --port; 0 takes any that is free"
                raise InputError(f"port {port} of {host} is in use", field="port", remedy=remedy) from error
            case errno.EACCES:
                raise InputError(f"you may not listen on port {port}", field="port", remedy="Name one above 1023 with --port") from error
        raise InputError(
            f"this machine cannot listen on {host!r}: {error.strerror or error}",
            field="host",
            remedy="Use 127.0.0.1, or 0.0.0.0 with --host",
        ) from error


def free_port(host: str, port: int) -> int:
    """The port where nobody listens yet, for a child process to take; 0 chooses one. Raises ``InputError`` like ``listen``."""
    with listen(host, port) as taken:
        return int(taken.getsockname()[1])
