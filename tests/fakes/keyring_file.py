"""A keyring that the real library takes, kept in a file that a variable names: one process of a
test sees what another one put there. Never for anything but tests: the file is in clear.
"""

import json
import os
from pathlib import Path

import keyring.backend
import keyring.errors

VARIABLE = "NODWYN_TEST_KEYRING"
BACKEND = "tests.fakes.keyring_file.FileRing"
LOCKED = "locked"
"""An entry that nobody unlocks."""


class FileRing(keyring.backend.KeyringBackend):
    """The library makes one where `PYTHON_KEYRING_BACKEND` names it."""

    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        if username == LOCKED:
            raise keyring.errors.KeyringLocked("nobody unlocked it")
        return self._read().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        if username == LOCKED:
            raise keyring.errors.PasswordSetError("nobody unlocked it")
        self._file.write_text(json.dumps({**self._read(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        kept = self._read()
        if kept.pop(f"{service}/{username}", None) is None:
            raise keyring.errors.PasswordDeleteError("no such entry")
        self._file.write_text(json.dumps(kept))

    @property
    def _file(self) -> Path:
        return Path(os.environ[VARIABLE])

    def _read(self) -> dict[str, str]:
        return json.loads(self._file.read_text()) if self._file.exists() else {}
