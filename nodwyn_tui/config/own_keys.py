"""Keys that this program keeps itself: one put where it is kept and named in the settings, or both
taken back. What the person keeps elsewhere is theirs, and stays.
"""

from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.config.changes import Change
from nodwyn_tui.config.credentials import OAUTH, clean_key
from nodwyn_tui.config.files import parse, read_text
from nodwyn_tui.config.keychain import KEPT_IN, Keychain, own_place
from nodwyn_tui.config.saving import save_changes, set_value
from nodwyn_tui.errors import ConfigError


@dataclass(frozen=True, slots=True)
class OwnKeys:
    """Of the servers of one file. Raises `ConfigError`, which never shows a key. Each call may wait
    for the person to unlock a keyring: call it in a thread.
    """

    file: Path
    keychain: Keychain

    def keep(self, server: str, credential: str, kept_in: str, given: str) -> str:
        """Keeps a key as it was given, and names its place, which it gives back, in the server's
        entry; nothing else changes (C71, C74). `credential` is the server's until now.
        """
        key = clean_key(given)
        if not key:
            raise ConfigError("no key was given; nothing was changed")
        place = own_place(kept_in, server)
        self.put(server, credential, place, key, place)
        return place

    def put(self, server: str, credential: str, place: str, secret: str, named: str) -> None:
        """Both, or neither where the settings cannot be saved: `secret` at `place`, which the entry
        calls `named`. What was kept for it elsewhere before goes.
        """
        was_there = bool(self.keychain.read(place))
        self.keychain.keep(place, secret)
        try:
            set_value(self.file, ("servers", server, "credential"), named)
        except ConfigError:
            if not was_there:
                self.keychain.forget(place)
            raise
        before = _own_places(server).get(credential, place)
        if before != place:
            self.keychain.forget(before)

    def is_own(self, server: str, credential: str) -> bool:
        """Whether a server's credential names a place of this program's own."""
        return credential in _own_places(server)

    def forget(self, server: str, credential: str) -> bool:
        """Forgets what this program keeps, whether anything was, and takes the place's name out of
        the settings, with an entry that says nothing else.
        """
        own = _own_places(server).get(credential, "")
        gone = bool(own) and self.keychain.forget(own)
        entry = parse(read_text(self.file), self.file).get("servers", {}).get(server, {})
        path = ("servers", server)
        only = set(entry) == {"credential"}
        save_changes(self.file, lambda _: [Change(path if only else (*path, "credential"), None)])
        return gone


def _own_places(server: str) -> dict[str, str]:
    """Where this program keeps what belongs to a server, by the credential that names it."""
    places = {own_place(kind, server): own_place(kind, server) for kind in KEPT_IN}
    tokens = (own_place(kind, f"{server}.tokens") for kind in KEPT_IN)
    return places | {f"{OAUTH}{place}": place for place in tokens}
