"""A free port for a server that must be told its port before it starts."""

import random
import socket


def free_port():
    """A port on which nobody listens, below those that the system hands out to whoever asks for any."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("a hundred ports are taken")
