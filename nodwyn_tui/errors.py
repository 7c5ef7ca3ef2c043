"""The family of errors. An error's type says whose turn it is.

NodwynError
├── UsageError          the person: the command line                         exit 2
├── ConfigError         the person: config.toml, keys, environment           exit 2
│   └── ConfigErrors    several of them
├── ProviderError       the far side: a model server refused or failed       exit 4
├── StoreError          the disk: a log, a lock, an artifact                 exit 1
│   └── SessionLocked   another process holds the session
├── ReplayError         a recorded request does not rebuild                  exit 3
├── BlockedError        context, budget or an approval nobody can give       exit 5
└── ToolError           the model: told to it as a result, never raised past the turn loop

Everything else is a bug in this program.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

ErrorKind = Literal[
    "authentication",
    "permission",
    "not_found",
    "rate_limit",
    "overloaded",
    "context_exceeded",
    "invalid_request",
    "refused_content",
    "transport",
    "timeout",
    "cancelled",
    "incomplete_stream",
    "server_error",
]


def kind_words(kind: str) -> str:
    """A kind as a person reads it."""
    return "connection" if kind == "transport" else kind.replace("_", " ")


class NodwynError(Exception):
    """Any failure this program knows; `str()` is one line for the person, with the remedy."""

    exit_code: ClassVar[int] = 1


class UsageError(NodwynError):
    """The command line asks for what cannot be done."""

    exit_code = 2


class ConfigError(NodwynError):
    """A setting is wrong: names file, line, key, what was found and what is allowed."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        key: str = "",
        found: str = "",
        allowed: str = "",
    ) -> None:
        self.file, self.line, self.key = file, line, key
        self.message, self.found, self.allowed = message, found, allowed
        place = file + (f":{line}" if line is not None else "")
        head = ": ".join(part for part in (place, key) if part)
        tail = f" (found {found})" if found else ""
        tail += f"; allowed: {allowed}" if allowed else ""
        super().__init__(f"{head}: {message}{tail}" if head else message + tail)


class ConfigErrors(ConfigError):
    """Several settings are wrong; each stands on a line of its own, and in `errors`."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))


class ProviderError(NodwynError):
    """A model server refused or failed.

    `kind` is one of `ErrorKind`; `message` holds the provider's own words, already redacted and in
    one line; `remedy` says what the person can do; `retry_after_s` is the server's lower bound in
    seconds, if it gave one; `passing` its word on whether asking again may help, `None` if it gave
    none; `detail` is the body as it came, cut to a few kB, for the log.
    """

    exit_code = 4

    def __init__(  # noqa: PLR0913 - an error names all it knows
        self,
        kind: ErrorKind,
        message: str,
        *,
        server: str = "",
        status: int | None = None,
        remedy: str = "",
        retry_after_s: float | None = None,
        passing: bool | None = None,
        detail: str = "",
    ) -> None:
        self.kind: ErrorKind = kind
        self.message, self.server, self.status = message, server, status
        self.remedy, self.retry_after_s, self.detail = remedy, retry_after_s, detail
        self.passing = passing
        where = f"{server}: " if server else ""
        code = f" [{status}]" if status else ""
        what = kind_words(kind)
        words = f"{message.removesuffix('.')}. {remedy}" if remedy else message
        super().__init__(f"{where}{what}{code}: {words}")


class StoreError(NodwynError):
    """The disk refused: the message names the path and what to do."""


class SessionLocked(StoreError):
    """Another process holds the session; `pid` is its process id, 0 if unknown."""

    def __init__(self, message: str, *, pid: int) -> None:
        self.pid = pid
        super().__init__(message)


class ReplayError(NodwynError):
    """A recorded request cannot be rebuilt, or does not match its digest; says what differs."""

    exit_code = 3


class BlockedError(NodwynError):
    """The run cannot go on without a person: context, budget, or an approval."""

    exit_code = 5


class ToolError(NodwynError):
    """A call failed in a way the model can act on; the message is its result."""
