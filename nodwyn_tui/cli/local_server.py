"""The child that serves the small local model: llama.cpp's own server, on a free port of this
machine, until it is told to end or the process that started it is gone.
"""

import importlib
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

from nodwyn_tui.agent.local_weights import CONTEXT
from nodwyn_tui.cli import output
from nodwyn_tui.config.environment import LOCAL_KEY, read_environment
from nodwyn_tui.errors import UsageError

_LOOK_S = 0.5


def serve(arguments: Sequence[str]) -> int:
    """Serves the weights in a file under a model's name; tells on which address it listens."""
    parent = os.getppid()
    if len(arguments) != 2:
        raise UsageError("this is started by the worker: a file of weights and a name")
    weights, name = arguments
    key = read_environment().get(LOCAL_KEY)
    if not key:
        raise UsageError("without a key nobody may ask it")
    llama: Any = importlib.import_module("xllamacpp")
    server = llama.Server(_parameters(llama.CommonParams(), weights, name, key))
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    output.show(f"\nnodwyn-local listens on {server.listening_address}")
    while os.getppid() == parent and not ended.wait(_LOOK_S):
        pass
    return 0


def _parameters(wanted: Any, weights: str, name: str, key: str) -> Any:
    wanted.model.path = weights
    wanted.model_alias = {name}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.api_keys = [key]
    wanted.n_ctx = CONTEXT
    wanted.n_parallel = 1
    wanted.use_jinja = True
    wanted.verbosity = 1
    wanted.ui = False
    wanted.endpoint_slots = False
    return wanted
