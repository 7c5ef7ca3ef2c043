"""Over-long results, kept whole in the session's folder (AGT-7). The log names the file."""

import os
import re
from pathlib import Path

from nodwyn_tui.store.places import ARTIFACTS_NAME
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

_MOST_NAME = 80


class ArtifactFiles:
    """The artifacts of one session: private files, each written once."""

    def __init__(self, session_folder: Path, redactor: Redactor) -> None:
        self._folder = session_folder / ARTIFACTS_NAME
        self._redactor = redactor

    def open(self, name: str) -> tuple[str, Path]:
        """A new and empty file's name and path, for a tool that writes while it runs; it calls
        `finish` with the name when it is done. Raises `StoreError`.
        """
        make_private_dir(self._folder)
        fit = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_MOST_NAME] or "result"
        own, number = fit, 1
        while True:
            path = self._folder / own
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                number += 1
                own = f"{Path(fit).stem}-{number}{Path(fit).suffix}"
                continue
            except OSError as error:
                raise disk_error("make", path, error) from error
            return own, path

    def finish(self, name: str) -> None:
        """Takes the credentials out of a file that a tool wrote. Raises `StoreError`."""
        path = self._folder / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise disk_error("read", path, error) from error
        clean = self._redacted(data)
        if clean != data:
            write_whole(path, clean, 0o600)

    def _redacted(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self._redactor.text(text).encode("utf-8", "surrogateescape")
