"""What the optional extra's package is to Nodwyn, with a strict fake in place of llama.cpp: found
by tests that put this folder on the path.
"""

from pathlib import Path
from types import SimpleNamespace

from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say


class CommonParams:
    """The parameters that are set; any other one would be a mistake."""

    __slots__ = (
        "api_keys",
        "endpoint_slots",
        "hostnames",
        "model",
        "model_alias",
        "n_ctx",
        "n_parallel",
        "port",
        "ui",
        "use_jinja",
        "verbosity",
    )

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")


class Server:
    """Listens from its making on, on the loopback alone."""

    def __init__(self, wanted: CommonParams) -> None:
        assert (wanted.hostnames, wanted.port) == (["127.0.0.1"], 0)
        if Path(wanted.model.path).read_bytes() != b"weights":
            raise RuntimeError("failed to load the model")
        (name,), (key,) = wanted.model_alias, wanted.api_keys
        self._fake = ChatServer(
            [say("hello")],
            flavour="llamacpp",
            model=name,
            context=wanted.n_ctx,
            key=key,
            repeat=True,
        ).__enter__()
        self.listening_address = self._fake.root
