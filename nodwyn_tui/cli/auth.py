"""`nodwyn auth`: where each server's key is kept, and putting one there. No key is ever printed,
nor taken as an argument, where other programs could read it.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from nodwyn_tui.agent.connecting import Connector
from nodwyn_tui.cli import output
from nodwyn_tui.cli.configured import Configured, config_option, configured
from nodwyn_tui.config.credentials import OAUTH
from nodwyn_tui.config.keychain import KEPT_IN, own_place
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError, UsageError
from nodwyn_tui.providers.oauth import kept, tokens_of
from nodwyn_tui.providers.sign_in import sign_in
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.browser import open_page
from nodwyn_tui.system.clock import SystemClock

State = Literal["there", "missing", "none", "when needed", "unusable"]


def run(arguments: Sequence[str]) -> int:
    """Does what one of the sub-commands says."""
    parsed = _parser().parse_args(arguments)
    found = configured(parsed.config)
    match parsed.command:
        case "list":
            _list(found, as_json=parsed.json)
        case "set":
            if parsed.sign_in:
                asyncio.run(_sign_in(found, parsed.server, parsed.kept))
            else:
                _set(found, parsed.server, parsed.kept)
        case "remove":
            _remove(found, parsed.server)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn auth", description="Keys of model servers.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="each server, where its key is kept, and whether")
    listing.add_argument("--json", action="store_true", help="as JSON")
    setting = commands.add_parser(
        "set", help="keep a server's key: asked for without echo, or from standard input"
    )
    setting.add_argument(
        "--in", dest="kept", choices=KEPT_IN, default="keyring",
        help="the system's keyring (default), or a private file beside config.toml",
    )  # fmt: skip
    setting.add_argument(
        "--sign-in", action="store_true",
        help="sign in with the browser instead, where the server's entry says how (oauth)",
    )  # fmt: skip
    removing = commands.add_parser("remove", help="forget a server's key")
    for command in (setting, removing):
        command.add_argument("server", help="the server's name in config.toml, or a well-known one")
    for command in (listing, setting, removing):
        config_option(command)
    return parser


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a server's key comes from, and whether it is there."""

    server: str
    credential: str
    state: State
    detail: str = ""


def _list(found: Configured, *, as_json: bool) -> None:
    standings = [standing_of(found, name, each) for name, each in found.loaded.servers.items()]
    if as_json:
        output.json_line([asdict(each) for each in standings])
        return
    for each in standings:
        credential = each.credential or "-"
        output.show(f"{each.server:<14} {credential:<28} {each.detail or each.state}")


def standing_of(found: Configured, name: str, server: ServerSettings) -> Standing:
    """Where a server's key comes from, and whether it is there; no program is run for it."""
    kind, _, rest = server.credential.partition(":")
    place = rest.strip()
    match kind:
        case "":
            return Standing(name, "", "none", "needs no key, or names none")
        case "env":
            there = bool(found.environment.get(place).strip())
            return Standing(name, f"env:{place}", "there" if there else "missing")
        case "command":
            program = place.split()[0]
            return Standing(name, f"command:{program} …", "when needed", "run when a key is needed")
        case "oauth":
            return _signed_in(found, name, server.credential)
        case _:
            return _kept(found, name, f"{kind}:{place}")


def _kept(found: Configured, name: str, place: str) -> Standing:
    try:
        there = bool(found.credentials.keychain.read(place).strip())
    except ConfigError as error:
        return Standing(name, place, "unusable", str(error))
    return Standing(name, place, "there" if there else "missing")


def _signed_in(found: Configured, name: str, credential: str) -> Standing:
    place = credential.removeprefix(OAUTH).strip()
    try:
        tokens = tokens_of(found.credentials.keychain.read(place))
    except ConfigError as error:
        return Standing(name, credential, "unusable", str(error))
    if tokens is None:
        return Standing(name, credential, "missing", "nobody is signed in")
    scopes = f", granted: {' '.join(tokens.scopes)}" if tokens.scopes else ""
    return Standing(name, credential, "there", f"signed in{scopes}")


def _set(found: Configured, name: str, kept: str) -> None:
    """Keeps the key, and names its place in the settings; those alone change (C74)."""
    found.server(name)
    credential = found.server(name).credential
    given = output.secret(f"Key of {name}: ")
    if not given.strip():
        raise UsageError("no key was given; nothing was changed")
    place = found.own_keys.keep(name, credential, kept, given)
    output.tell(f"the key of {name} is kept as {place}, which {found.file} names")


async def _sign_in(found: Configured, name: str, kept_in: str) -> None:
    """Has the person sign in with their browser, and keeps what they were granted."""
    server = found.server(name)
    connector = Connector(
        loaded=found.loaded,
        environment=found.environment,
        credentials=found.credentials,
        clock=SystemClock(),
        redactor=Redactor(),
    )
    grant = connector.grant(name, server)
    assert server.oauth is not None, "there is something to be granted"
    place = own_place(kept_in, f"{name}.tokens")
    found.credentials.keychain.read(
        place
    )  # what will not keep them is told before anybody signs in

    def show(address: str) -> None:
        output.tell(f"Sign in to {name} in your browser:\n\n  {address}\n")
        if found.environment.has_desktop:  # in a thread: some are waited for until they are closed
            asyncio.get_running_loop().run_in_executor(None, open_page, address)

    tokens = await sign_in(
        grant, server.oauth.authorize_url, server.oauth.redirect_uri, connector.clock, show
    )
    found.own_keys.put(name, server.credential, place, kept(tokens), f"{OAUTH}{place}")
    scopes = f" for {' '.join(tokens.scopes)}" if tokens.scopes else ""
    output.tell(f"signed in to {name}{scopes}; {found.file} names where that is kept")


def _remove(found: Configured, name: str) -> None:
    """Forgets what this program keeps; what the person keeps elsewhere is theirs."""
    credential = found.server(name).credential
    gone = found.own_keys.forget(name, credential)
    if gone:
        output.tell(f"the key of {name} is gone")
    elif found.own_keys.is_own(name, credential):
        output.tell(f"no key of {name} was kept")
    elif credential:
        kind = credential.partition(":")[0]
        output.tell(f"{name} has its key elsewhere ({kind}:…), where it is still")
    else:
        output.tell(f"{name} had no key")
