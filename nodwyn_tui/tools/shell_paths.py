"""Which guarded paths a shell command names, as far as can be seen from its text (C76). This is no
parser and no wall: it makes the question more exact. What confines a command is the sandbox.
"""

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.base import Files
from nodwyn_tui.tools.paths import Place, locate

_SEPARATORS = re.compile(r"[\s;|&<>()=,`]+")
_MOST_WORDS = 500
_MOST_EXPANDED = 50
_MOST_LOOKED_AT = 5000

_MAGIC = re.compile(r"[*?\[]")
_PROCESSES = re.compile(r"/proc(/(\d+|self|thread-self)(/.*)?)?")
"""Other processes' environments and memory, this program's own among them (SEC-1)."""

_OPEN = re.compile(r"/(bin|sbin|usr|lib\w*|opt|nix|tmp|var/tmp)(/|\Z)")
"""Places outside that hold programs or scratch files; to name one is no reason for a question."""


def guarded_paths(command: str, files: Files, home: Path | None, folder: Path) -> list[Place]:
    """The places outside the workspace, and the secret files, that words of `command` lead to from
    `folder`.
    """
    found: dict[Path, Place] = {}
    for word in islice(_words(command, home), _MOST_WORDS):
        for path in _expanded(word, folder):
            place = _place(path, files, home)
            if place is None or not place.guarded:
                continue
            is_open = place.outside and _OPEN.match(word) and _OPEN.match(str(place.path))
            if place.secret or not is_open:
                found.setdefault(place.path, place)
    return list(found.values())


def named_paths(command: str, home: Path | None, folder: Path) -> Iterator[Path]:
    """What words of `command` name outright, without wildcards, from `folder`."""
    for word in islice(_words(command, home), _MOST_WORDS):
        if not _MAGIC.search(word):
            yield from _expanded(word, folder)


def _place(path: Path, files: Files, home: Path | None) -> Place | None:
    if _PROCESSES.fullmatch(str(path)):
        return Place(path=path, base=None, relative=str(path), secret=True)
    try:
        return locate(files, home, str(path))
    except ToolError:
        return None


def _words(command: str, home: Path | None) -> Iterator[str]:
    """Words that may be paths, quotes taken off, the home folder filled in."""
    text = command.replace("\\\n", "").replace("\\", "").replace("'", "").replace('"', "")
    if home is not None:
        text = re.sub(r"\$(HOME\b|\{HOME\})", lambda _: str(home), text)
    for written in _SEPARATORS.split(text):
        word = written.removeprefix("@").removeprefix("file://")
        if not word or word.startswith("-") or "://" in word or "\0" in word:
            continue
        yield word
        if ":" in word:  # scp and docker name paths behind a colon
            yield word.rpartition(":")[2]


def _expanded(word: str, folder: Path) -> Iterator[Path]:
    """The paths that a word may be: wildcards in a last name are filled in, of others the folder
    before them is taken.
    """
    if word.startswith("~"):
        yield Path(word)
        return
    parts = Path(word).parts
    wild = next((index for index, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    path = folder.joinpath(*parts[:wild])
    if wild == len(parts):
        # A plain word that names nothing here is a word; one with a `/` or a dot may yet be made.
        if "/" in word or word.startswith(".") or os.path.lexists(path):
            yield path
    elif wild < len(parts) - 1:
        yield path
    else:
        yield from islice(_filled_in(path, parts[wild]), _MOST_EXPANDED)


def _filled_in(folder: Path, pattern: str) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(folder) as scan:
        for entry in islice(scan, _MOST_LOOKED_AT):
            hidden = entry.name.startswith(".") and not pattern.startswith(".")
            if not hidden and fnmatch.fnmatchcase(entry.name, pattern):
                yield Path(entry.path)
