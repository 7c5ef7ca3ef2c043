"""The key that the cursors of `session_history` are sealed with (ROL-11).

One random key of the person lies in the state folder, for them alone (0600), and each session's is
made from it and the session's id. So a repository, which may bring folders of sessions along, can
plant none, no log or export holds one, and cursors outlive a restart. What a forged cursor could do
would be little: it names a place in the same log, and what may be read there is decided anew.
"""

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import make_private_dir, write_whole

NAME = "history.key"
_BYTES = 32


def history_key(state: Path, session: str) -> bytes:
    """A session's key. Where the state folder can't be read or written it holds for this call
    alone, and a cursor made with it is refused later: a search begins again then.
    """
    return hmac.digest(_master(state), session.encode(), "sha256")


def _master(state: Path) -> bytes:
    if found := _read(state / NAME):
        return found
    made = secrets.token_bytes(_BYTES)
    with contextlib.suppress(StoreError):
        make_private_dir(state)
        write_whole(state / NAME, made, 0o600)
    return _read(state / NAME) or made  # another process may have been the last to write


def _read(path: Path) -> bytes:
    """The key in a file; nothing where there is none, or no whole one."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        found = file.read(_BYTES + 1)
    return found if len(found) == _BYTES else b""
