"""Over-long results, kept whole in the session's folder (AGT-7). The log names the file."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nodwyn_tui.store.places import ARTIFACTS_NAME
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

_MOST_NAME = 80
_PIECE = 1 << 20
_REACH = 16 * 1024
"""Bytes; no credential of the table is longer."""
_STEP = 512


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
        """Takes the credentials out of a file that a tool wrote, in bounded memory (C52). Raises
        `StoreError`.
        """
        path = self._folder / name
        try:
            with path.open("rb") as file:
                holds_any = any(was != without for was, without in self._pieces(file))
            if holds_any:
                with path.open("rb") as file:
                    write_whole(path, (without for _, without in self._pieces(file)), 0o600)
        except OSError as error:
            raise disk_error("read", path, error) from error

    def _pieces(self, file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
        """The file in pieces, each as it is and without credentials."""
        rest = b""
        while chunk := file.read(_PIECE):
            rest += chunk
            edge = self._edge(rest)
            yield rest[:edge], self._redacted(rest[:edge])
            rest = rest[edge:]
        yield rest, self._redacted(rest)

    def _edge(self, data: bytes) -> int:
        """A place near the end where no credential would be cut in two."""
        usual = max(len(data) - _REACH, 0)
        for edge in range(usual, max(usual - _REACH, 0), -_STEP):
            before, after = data[max(edge - _REACH, 0) : edge], data[edge : edge + _REACH]
            if self._redacted(before + after) == self._redacted(before) + self._redacted(after):
                return edge
        return usual  # in the midst of something that no credential is as long as

    def _redacted(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self._redactor.text(text).encode("utf-8", "surrogateescape")
