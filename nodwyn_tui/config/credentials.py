"""Keys: where they are kept, and how they become what a header may hold (C71).

The file names the place; the key itself stands in this process's memory only.
"""

import asyncio
import importlib
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nodwyn_tui.config.environment import KEY_VARIABLES, Environment
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.system import processes
from nodwyn_tui.system.processes import CannotStart, Process

CREDENTIAL_FORMS = "env:NAME | keyring:NAME | file:PATH | command:…"
KEYRING_SERVICE = "nodwyn"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)
_LARGEST_KEY = 64 * 1024
_ROUNDS = 3
"""Wrappings taken off a key at most, one in another: `'Bearer "…"'`."""

COMMAND_SECONDS = 60.0
"""Long enough to unlock a password store."""


def credential_fault(text: str) -> str:
    """Why a `credential` cannot stand in the file, '' if it can. Never shows it."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("env", "keyring", "file", "command"):
        return "this looks like the key itself; keep the key elsewhere and name the place"
    if not rest.strip():
        return f"{kind}: names nothing"
    if kind == "env" and not _VARIABLE.fullmatch(rest.strip()):
        return "env: is followed by something that is not a variable's name"
    return ""


def variable_names(servers: Iterable[ServerSettings]) -> frozenset[str]:
    """The environment variables that hold a key: those that servers name, and the usual ones.
    No tool's child gets them.
    """
    named = (server.credential.partition(":") for server in servers)
    usual = (name for group in KEY_VARIABLES.values() for name in group)
    return frozenset(usual) | {rest.strip() for kind, _, rest in named if kind == "env"}


class Credentials:
    """Resolves credentials and remembers every key it saw, for redaction and for the environment
    of children. `folder` is where relative `file:` paths start.
    """

    def __init__(self, environment: Environment, folder: Path) -> None:
        self._environment, self._folder = environment, folder
        self._seen: set[str] = set()

    async def resolve(self, server_name: str, server: ServerSettings) -> str:
        """The server's key, '' where it names no credential; a `ConfigError` says what to do."""
        if not server.credential:
            return ""
        kind, _, rest = server.credential.partition(":")
        name = rest.strip()
        match kind:
            case "env":
                text = self._environment.get(name)
                where, remedy = f"the variable {name}", f"export {name}=… and start again"
            case "keyring":
                text = await asyncio.to_thread(_from_keyring, name)
                remedy = f"store it: python -m keyring set {KEYRING_SERVICE} {name}"
                where = f"the keyring's entry {name!r} of {KEYRING_SERVICE!r}"
            case "file":
                text = self._from_file(name)
                where, remedy = f"the file {name}", "write the key into it"
            case "command":
                text = await self._from_command(name)
                where, remedy = "the command's output", "make the command print the key"
            case _:
                raise ConfigError(f"server {server_name!r}: {credential_fault(server.credential)}")
        key = clean_key(text, where)
        if not key:
            raise ConfigError(f"server {server_name!r} needs a key, but {where} is empty; {remedy}")
        self._seen.add(key)
        return key

    def held(self, servers: Iterable[ServerSettings] = ()) -> frozenset[str]:
        """Every key this process knows: those resolved, and whatever key variables hold."""
        variables = (self._environment.get(name) for name in variable_names(servers))
        raw = {value.strip() for value in variables}
        return frozenset(self._seen | raw | {_unwrapped(value) for value in raw}) - {""}

    def _from_file(self, name: str) -> str:
        try:
            path = self._folder / Path(name).expanduser()
            with path.open("rb") as stream:
                return stream.read(_LARGEST_KEY).decode("utf-8")
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"the key file {name} cannot be read: {reason}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"the key file {name} is not text; it should hold the key alone"
            ) from error

    async def _from_command(self, command: str) -> str:
        # Errors are thrown away: the key is what stands on the standard output alone.
        program = ["/bin/sh", "-c", f"exec 2>/dev/null\n{command}"]
        variables = self._environment.variables
        try:
            process = await processes.start(program, folder=Path.home(), environment=variables)
        except CannotStart as error:
            raise ConfigError(f"the command for the key cannot be run: {error}") from error
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output = await _output(process)
                code = await process.wait()
        except TimeoutError as error:
            raise ConfigError(
                f"the command for the key gave nothing within {COMMAND_SECONDS:.0f} seconds; it "
                "cannot ask on the terminal: unlock its store first"
            ) from error
        finally:
            await process.end()
            process.close()
        if code:
            raise ConfigError(
                f"the command for the key failed with exit code {code}; run it by hand to see why"
            )
        return output.decode("utf-8", "replace")


async def _output(process: Process) -> bytes:
    output = b""
    while len(output) < _LARGEST_KEY and (piece := await process.read()):
        output += piece
    return output[:_LARGEST_KEY]


def clean_key(text: str, where: str) -> str:
    """The key as a header takes it: without a byte order mark, blanks and line ends around it,
    quotes or a `Bearer` in front. A sign that no header can hold is named by its position.
    """
    key = _unwrapped(text)
    for position, sign in enumerate(key, 1):
        if not "!" <= sign <= "~":
            name = unicodedata.name(sign, "a control character")
            raise ConfigError(
                f"the key in {where} cannot be used: its character {position} of {len(key)} is "
                f"U+{ord(sign):04X} ({name.lower()}); remove it there"
            )
    return key


def _unwrapped(text: str) -> str:
    key = text
    for _ in range(_ROUNDS):
        key = key.strip().strip("\ufeff").strip()
        if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'":
            key = key[1:-1]
        key = _BEARER.sub("", key, count=1) if _BEARER.match(key) else key
    return key.strip()


def _from_keyring(name: str) -> str:
    # Loaded only where asked for: it brings a message bus along.
    keyring: Any = importlib.import_module("keyring")
    errors: Any = importlib.import_module("keyring.errors")
    try:
        return keyring.get_password(KEYRING_SERVICE, name) or ""
    except errors.KeyringError as error:
        raise ConfigError(
            f"the keyring cannot be asked for {name!r} ({type(error).__name__}); unlock it, or use "
            "env: or file: as the credential"
        ) from error
