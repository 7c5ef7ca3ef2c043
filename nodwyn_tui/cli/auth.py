"""`nodwyn auth`: where each server's key is kept, and putting one there. No key is ever printed,
nor taken as an argument, where other programs could read it.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from nodwyn_tui.cli import output
from nodwyn_tui.cli.configured import Configured, config_option, configured
from nodwyn_tui.config.credentials import clean_key
from nodwyn_tui.config.files import parse, read_text
from nodwyn_tui.config.keychain import KEPT_IN, own_place
from nodwyn_tui.config.saving import remove_value, set_value
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError, UsageError

State = Literal["there", "missing", "none", "when needed", "unusable"]


def run(arguments: Sequence[str]) -> int:
    """Does what one of the sub-commands says."""
    parsed = _parser().parse_args(arguments)
    found = configured(parsed.config)
    match parsed.command:
        case "list":
            _list(found, as_json=parsed.json)
        case "set":
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
    standings = [_standing(found, name, each) for name, each in found.loaded.servers.items()]
    if as_json:
        output.json_line([asdict(each) for each in standings])
        return
    for each in standings:
        credential = each.credential or "-"
        output.show(f"{each.server:<14} {credential:<28} {each.detail or each.state}")


def _standing(found: Configured, name: str, server: ServerSettings) -> Standing:
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
        case _:
            return _kept(found, name, f"{kind}:{place}")


def _kept(found: Configured, name: str, place: str) -> Standing:
    try:
        there = bool(found.credentials.keychain.read(place).strip())
    except ConfigError as error:
        return Standing(name, place, "unusable", str(error))
    return Standing(name, place, "there" if there else "missing")


def _set(found: Configured, name: str, kept: str) -> None:
    """Keeps the key, and names its place in the settings; those alone change (C74)."""
    found.server(name)
    keychain, place = found.credentials.keychain, own_place(kept, name)
    key = clean_key(output.secret(f"Key of {name}: "), "what was given")
    if not key:
        raise UsageError("no key was given; nothing was changed")
    was_there = bool(keychain.read(place))
    keychain.keep(place, key)
    try:
        set_value(found.file, ("servers", name, "credential"), place)
    except ConfigError:
        if not was_there:
            keychain.forget(place)
        raise
    output.tell(f"the key of {name} is kept as {place}, which {found.file} names")


def _remove(found: Configured, name: str) -> None:
    """Forgets what this program keeps, and takes the place's name out of the settings. What the
    person keeps elsewhere is theirs.
    """
    credential = found.server(name).credential
    own = next((place for kind in KEPT_IN if (place := own_place(kind, name)) == credential), "")
    gone = bool(own) and found.credentials.keychain.forget(own)
    _take_out(found, name)
    if gone:
        output.tell(f"the key of {name} is gone")
    elif own:
        output.tell(f"no key of {name} was kept")
    elif credential:
        kind = credential.partition(":")[0]
        output.tell(f"{name} has its key elsewhere ({kind}:…), where it is still")
    else:
        output.tell(f"{name} had no key")


def _take_out(found: Configured, name: str) -> None:
    """The setting, and an entry that says nothing else with it."""
    entry = parse(read_text(found.file), found.file).get("servers", {}).get(name, {})
    only = set(entry) == {"credential"}
    remove_value(found.file, ("servers", name) if only else ("servers", name, "credential"))
