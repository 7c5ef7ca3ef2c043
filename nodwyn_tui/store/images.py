"""Images beside the sessions that name them (IMG-4): one private file an image, named by the digest
of its bytes. What an image shows is nobody's business here; `pictures.py` makes one fit to be kept.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.store.places import LOG_NAME
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

Gone = Literal["missing", "changed"]
"""Why an image cannot be had any more: its file is not there, or is another one."""

_DIGEST = re.compile("[0-9a-f]{64}")
_DIGESTS = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image ready to be kept. `note` says what was done to it, '' for nothing."""

    data: bytes
    mime: str
    width: int
    height: int
    note: str = ""


class ImageFiles:
    """The images of the sessions on one shelf: a workspace's, or a folder of the state folder."""

    def __init__(self, session_folder: Path) -> None:
        """`session_folder` is that of any session on the shelf."""
        shelf = self._shelf = session_folder.parent
        own = shelf.name == "sessions"  # else it is a workspace's place among the state's sessions
        top = shelf.parent if own else shelf.parent.parent
        self.folder = top / "attachments" if own else top / "attachments" / shelf.name

    def path(self, digest: str) -> Path:
        """Where an image lies."""
        return self.folder / digest

    def keep(self, data: bytes) -> str:
        """Keeps an image, the same one once; gives its digest. Raises `StoreError`."""
        digest = sha256(data)
        if self.read(digest, len(data)) != data:
            make_private_dir(self.folder)
            write_whole(self.path(digest), data, 0o600, inside=self.folder.parent)
        return digest

    def read(self, digest: str, size: int | None = None) -> bytes | Gone:
        """An image's bytes, if they are still those that its digest and `size` name. Raises
        `StoreError` where the disk refuses.
        """
        path = self.path(digest)
        if not _DIGEST.fullmatch(digest) or self.folder.is_symlink():
            return "missing"
        try:
            fd = os.open(path, _READ)
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            if path.is_symlink():
                return "changed"
            raise disk_error("read", path, error) from error
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or size not in {None, about.st_size}:
                return "changed"
            try:
                data = file.read()
            except OSError as error:
                raise disk_error("read", path, error) from error
        return data if sha256(data) == digest else "changed"

    def unnamed(self, besides: Path | None = None) -> set[str]:
        """The images that no session on the shelf names, that of the folder `besides` not asked.
        Raises `StoreError`.
        """
        left = set(self.names())
        for log in sorted(self._shelf.glob(f"*/{LOG_NAME}")) if left else ():
            if log.parent != besides:
                left -= _named_in(log, left)
        return left

    def remove(self, digest: str) -> None:
        """Removes an image. Raises `StoreError`."""
        try:
            self.path(digest).unlink(missing_ok=True)
        except OSError as error:
            raise disk_error("remove", self.path(digest), error) from error

    def names(self) -> list[str]:
        """The digests of the images that are kept. Raises `StoreError`."""
        try:
            found = sorted(path.name for path in self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_error("read", self.folder, error) from error
        return [name for name in found if _DIGEST.fullmatch(name)]


def _named_in(log: Path, digests: set[str]) -> set[str]:
    """Those of the digests that stand in a log, damaged or not."""
    found: set[str] = set()
    try:
        with log.open("rb") as file:
            for line in file:
                found |= {name.decode() for name in _DIGESTS.findall(line)} & digests
    except OSError as error:
        raise disk_error("read", log, error) from error
    return found
