"""Where this program reads and keeps what is secret: the system's keyring, and files that are the
person's alone. What is kept there means nothing here.
"""

import contextlib
import importlib
import os
import re
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import AsyncFileLock, Timeout

from nodwyn_tui.config.problems import shown_place
from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.errors import ConfigError, StoreError
from nodwyn_tui.system.atomic import make_private_dir, write_whole

KEYRING_SERVICE = "nodwyn"
KEYS_FOLDER = "keys"
"""Beside `config.toml`: the files that this program makes itself."""

KEPT_IN = ("keyring", "file")

_FILE_NAME = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,63}")
"""Small letters alone: some file systems do not tell them from others."""

_LOCK_SECONDS = 60.0
_LARGEST = 64 * 1024
"""Bytes of a key file, or of a signed-in person's tokens."""
_PRIVATE = 0o600
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Keychain:
    """Reads, keeps and forgets secrets at places named as a credential names them: `keyring:NAME`
    or `file:PATH`. `folder` is where relative paths start. Raises `ConfigError`, which never shows
    a secret. Each call may wait for the person to unlock a keyring: call it in a thread.
    """

    folder: Path

    def read(self, place: str) -> str:
        """What is kept there; '' where nothing is."""
        kind, _, name = place.partition(":")
        return self._from_keyring(name) if kind == "keyring" else self._from_file(name)

    def keep(self, place: str, secret: str) -> None:
        """Puts a secret there, in the place of what was."""
        kind, _, name = place.partition(":")
        if kind == "keyring":
            self._ask("set_password", "cannot keep", name, secret)
            return
        path = self._path(name)
        try:
            if not path.parent.is_dir():  # a folder of the person's own stays as open as it is
                make_private_dir(path.parent)
            write_whole(path, secret.encode(), _PRIVATE)
        except StoreError as error:
            raise ConfigError(str(error)) from error

    def forget(self, place: str) -> bool:
        """Takes what is kept there away; whether anything was."""
        kind, _, name = place.partition(":")
        if kind == "keyring":
            if not self.read(place):
                return False
            self._ask("delete_password", "cannot take out", name)
            return True
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f"{_named('file', name)} cannot be removed: {_why(error)}") from error
        return True

    @contextlib.asynccontextmanager
    async def alone(self, place: str) -> AsyncIterator[None]:
        """While it lasts no other process is in here for the same place."""
        lock = AsyncFileLock(self.folder / f".{sha256(place.encode())[:16]}.lock", _LOCK_SECONDS)
        try:
            await lock.acquire()
        except Timeout as error:
            raise ConfigError(
                "another Nodwyn renews the same sign-in and does not end; try again"
            ) from error
        except OSError as error:
            raise ConfigError(
                f"{self.folder} takes no file that guards the sign-in: {_why(error)}"
            ) from error
        try:
            yield
        finally:
            await lock.release()

    def _from_keyring(self, name: str) -> str:
        return self._ask("get_password", "cannot be asked for", name) or ""

    def _ask(self, method: str, failing: str, name: str, *more: str) -> Any:
        # Loaded only where asked for: it brings a message bus along.
        keyring: Any = importlib.import_module("keyring")
        errors: Any = importlib.import_module("keyring.errors")
        try:
            return getattr(keyring, method)(KEYRING_SERVICE, name, *more)
        except errors.NoKeyringError as error:
            raise ConfigError(
                "no keyring works on this machine: a desktop session brings one, as GNOME Keyring, "
                "KWallet or the macOS keychain. Without one keep the key elsewhere, as env:NAME, "
                "command:… or file:PATH; `nodwyn auth set SERVER --in file` makes such a file"
            ) from error
        except (errors.KeyringError, OSError, RuntimeError) as error:
            raise ConfigError(
                f"the keyring {failing} {shown_place(name)} ({type(error).__name__}); unlock it, "
                "or use env:, file: or command: as the credential"
            ) from error

    def _path(self, name: str) -> Path:
        path = Path(name)
        with contextlib.suppress(RuntimeError):  # no home folder: then it will not be found
            path = path.expanduser()
        return self.folder / path

    def _from_file(self, name: str) -> str:
        what = _named("file", name)
        try:
            with self._path(name).open("rb") as stream:
                status = os.fstat(stream.fileno())
                data = stream.read(_LARGEST + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ConfigError(f"{what} cannot be read: {_why(error)}") from error
        if open_to := _open_to_others(status):
            raise ConfigError(
                f"{what} is open to others on this machine (mode {open_to:04o}), so it is not used;"
                " make it yours alone: chmod 600"
            )
        if len(data) > _LARGEST:
            raise ConfigError(f"{what} is larger than {_LARGEST} bytes; it should hold a key alone")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{what} is not text; it should hold a key alone") from error


def own_place(kind: str, server: str) -> str:
    """The place in which this program keeps what belongs to a server: its name, where that can be
    any file's name, else a digest of it.
    """
    fits = _FILE_NAME.fullmatch(server) is not None
    name = server if fits else f"server-{sha256(server.encode('utf-8', 'surrogatepass'))[:16]}"
    return f"keyring:{name}" if kind == "keyring" else f"file:{KEYS_FOLDER}/{name}"


def _open_to_others(status: os.stat_result) -> int:
    """The mode of a file of the person's own that others may read or change, else 0. A file that
    belongs to somebody else (a mounted secret, a helper's) is theirs to open or to close.
    """
    mode = stat.S_IMODE(status.st_mode)
    own = hasattr(os, "geteuid") and status.st_uid == os.geteuid()
    return mode if own and mode & _OTHERS else 0


def _named(kind: str, name: str) -> str:
    """A place in words; a name that may be a key is not shown."""
    return f"the key {kind} {shown_place(name)}"


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
