"""Keys: where they are kept, and how they become what a header may hold (C71).

The file names the place; the key itself stands in this process's memory only.
"""

import asyncio
import re
import shlex
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from nodwyn_tui.config.environment import KEY_VARIABLES, Environment
from nodwyn_tui.config.keychain import KEPT_IN, Keychain
from nodwyn_tui.config.problems import shown_place
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.system import processes
from nodwyn_tui.system.processes import CannotStart, Process

CREDENTIAL_FORMS = (
    "env:NAME | keyring:NAME | file:PATH | command:PROGRAM ARGUMENTS | oauth:keyring:NAME |"
    " oauth:file:PATH"
)

OAUTH = "oauth:"
"""How a credential begins that names a signed-in person's tokens; their place follows."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)
_LARGEST_KEY = 64 * 1024
_ROUNDS = 3
"""Wrappings taken off a key at most, one in another: `'Bearer "…"'`."""

COMMAND_SECONDS = 60.0
"""Long enough to unlock a password store."""

NO_SHELL = "No shell reads it: where it needs one, write command:sh -c '…'"


def credential_fault(text: str) -> str:
    """Why a `credential` cannot stand in the file, '' if it can. Never shows it."""
    kind, colon, rest = text.removeprefix(OAUTH).partition(":")
    kinds = KEPT_IN if text.startswith(OAUTH) else ("env", "command", *KEPT_IN)
    if not colon or kind not in kinds:
        return "this looks like the key itself; keep the key elsewhere and name the place"
    if not rest.strip():
        return f"{kind}: names nothing"
    if kind == "env" and not _VARIABLE.fullmatch(rest.strip()):
        return "env: is followed by something that is not a variable's name"
    if kind == "command" and not _words(rest):
        return "command: is followed by no command: a quote in it has no end"
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
        self._environment = environment
        self._seen: set[str] = set()
        self._lent: dict[str, str] = {}
        self.keychain = Keychain(folder)

    async def resolve(self, server_name: str, server: ServerSettings) -> str:
        """The server's key, '' where it names no credential; a `ConfigError` says what to do."""
        if not server.credential:
            return self._lent.get(server_name, "")
        kind, _, rest = server.credential.partition(":")
        name = rest.strip()
        named = shown_place(name)
        match kind:
            case "env":
                text = self._environment.get(name)
                where, remedy = f"the variable {named}", f"export {named}=… and start again"
            case "keyring" | "file":
                text = await asyncio.to_thread(self.keychain.read, f"{kind}:{name}")
                where = f"the {kind} {named}" if kind == "file" else f"the keyring's entry {named}"
                remedy = f"`nodwyn auth set {server_name}` puts one there"
            case "command":
                text = await self._from_command(name)
                where, remedy = "the command's output", "make the command print the key"
            case _:
                raise ConfigError(f"server {server_name!r}: {credential_fault(server.credential)}")
        key = clean_key(text, where)
        if not key:
            raise ConfigError(
                f"server {server_name!r} needs a key, but {where} holds none; {remedy}"
            )
        self.remember(key)
        return key

    def remember(self, *keys: str) -> None:
        """Keys that came by another way."""
        self._seen.update(keys)

    def lend(self, server_name: str, key: str) -> None:
        """The key of a server that this process runs, for as long as it does."""
        self._lent[server_name] = key
        self.remember(key)

    def held(self, servers: Iterable[ServerSettings] = ()) -> frozenset[str]:
        """Every key this process knows: those resolved, and whatever key variables hold."""
        variables = (self._environment.get(name) for name in variable_names(servers))
        raw = {value.strip() for value in variables}
        return frozenset(self._seen | raw | {_unwrapped(value) for value in raw}) - {""}

    async def _from_command(self, command: str) -> str:
        """What a program prints. No shell reads the command, and what the program says of errors is
        thrown away: a key may stand in it.
        """
        program, *arguments = _words(command)
        try:
            process = await processes.start(
                [_at_home(program), *arguments],
                folder=Path.home(),
                environment=self._environment.variables,
                errors="dropped",
            )
        except CannotStart as error:
            why = getattr(error.__cause__, "strerror", None) or "its folder is not there"
            raise ConfigError(
                f"the command for the key cannot be run: {why}. {NO_SHELL}"
            ) from error
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
                f"the command for the key failed with exit code {code}; run it by hand to see why."
                f" {NO_SHELL}"
            )
        return output.decode("utf-8", "replace")


async def _output(process: Process) -> bytes:
    output = b""
    while len(output) < _LARGEST_KEY and (piece := await process.read()):
        output += piece
    return output[:_LARGEST_KEY]


def clean_key(text: str, where: str = "") -> str:
    """The key as a header takes it: without a byte order mark, blanks and line ends around it,
    quotes or a `Bearer` in front. A sign that no header can hold is named by its position, and by
    `where` it is to be mended, '' for a key that was typed.
    """
    key = _unwrapped(text)
    for position, sign in enumerate(key, 1):
        if not "!" <= sign <= "~":
            name = unicodedata.name(sign, "a control character")
            key_in = f"the key in {where}" if where else "this key"
            remedy = "remove it there" if where else "give it again without"
            raise ConfigError(
                f"{key_in} cannot be used: its character {position} of {len(key)} is "
                f"U+{ord(sign):04X} ({name.lower()}); {remedy}"
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


def _words(command: str) -> list[str]:
    """A command's words, their quotes taken off; none where a quote has no end."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _at_home(program: str) -> str:
    try:
        return str(Path(program).expanduser()) if program.startswith("~") else program
    except RuntimeError:  # no such home folder: then it will not be found
        return program
