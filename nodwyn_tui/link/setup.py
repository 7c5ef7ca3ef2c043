"""The first run over the link: what could answer here, and getting it ready (TUI-6)."""

from typing import Literal

from nodwyn_tui.link.record import Record


class FindWays(Record):
    """Ask for `WaysFound`: looks for an Ollama, for keys in the environment, and for the small
    local model. Nothing is sent to any host but loopback (or `OLLAMA_HOST`).
    """


class Way(Record):
    """One way to the first answer. `ollama`: a local Ollama, with its models; `server`: a
    well-known server, whose key stands in the environment (`ready`) or is asked for; `local`: the
    small model of the optional extra; `tour`: the built-in guide.
    """

    kind: Literal["ollama", "server", "local", "tour"]
    name: str
    title: str
    detail: str = ""
    ready: bool = False
    models: tuple[str, ...] = ()
    key_page: str = ""


class WaysFound(Record):
    """What could answer here, the nearest first."""

    ways: tuple[Way, ...]


class ChooseModel(Record):
    """Write a model of a server into the settings as the one that leads, and go on with it: a
    session opens with it, or the open one asks it from now on. A model that has an entry leads by
    that.
    """

    server: str
    model: str


class PullModel(Record):
    """Have a local Ollama fetch a model: `PullProgress` until it is `done` or failed."""

    server: str
    model: str


class StopPull(Record):
    """Stop fetching; what was fetched stays with Ollama for the next time."""


class PullProgress(Record):
    """How far the fetching is; bytes, 0 where they are not known yet."""

    model: str
    status: str
    done_bytes: int = 0
    all_bytes: int = 0
    done: bool = False
    error: str = ""


class StartLocal(Record):
    """Start the small local model of the optional extra: `LocalStarting` with what it does
    meanwhile, until it names the model, which `ChooseModel` then takes.
    """


class LocalStarting(Record):
    """The local model's server comes up, or did not: `error`. It runs once `model` is there."""

    status: str = ""
    server: str = ""
    model: str = ""
    error: str = ""


SetupCommand = FindWays | ChooseModel | PullModel | StopPull | StartLocal
SetupEvent = WaysFound | PullProgress | LocalStarting
