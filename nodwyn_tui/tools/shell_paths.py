"""Which guarded paths a shell command names, as far as can be seen from its text (C76). This is no
parser and no wall: it makes the question more exact. What confines a command is the sandbox.
"""

import glob
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

_OPEN = re.compile(r"/(bin|sbin|usr|lib\w*|opt|nix|tmp|var/tmp|dev|proc/(cpuinfo|meminfo))(/|\Z)")
"""Places outside that hold programs or scratch files; to name one is no reason for a question."""


def guarded_paths(command: str, files: Files, home: Path | None, folder: Path) -> list[Place]:
    """The places outside the workspace, and the secret files, that words of `command` lead to from
    `folder`.
    """
    found: dict[Path, Place] = {}
    for word in islice(_words(command, home), _MOST_WORDS):
        for path in _expanded(word, folder):
            try:
                place = locate(files, home, str(path))
            except ToolError:
                continue
            open_place = place.outside and _OPEN.match(word) and _OPEN.match(str(place.path))
            if place.guarded and (place.secret or not open_place):
                found.setdefault(place.path, place)
    return list(found.values())


def _words(command: str, home: Path | None) -> Iterator[str]:
    """Words that may be paths, quotes taken off, the home folder filled in."""
    text = command.replace("\\\n", "").replace("\\", "").replace("'", "").replace('"', "")
    if home is not None:
        text = re.sub(r"\$(HOME\b|\{HOME\})", lambda _: str(home), text)
    for word in _SEPARATORS.split(text):
        for part in {word, word.rpartition(":")[2]}:  # scp and docker name paths behind a colon
            if part and not part.startswith("-") and "\0" not in part:
                yield part


def _expanded(word: str, folder: Path) -> list[Path]:
    if word.startswith("~"):
        return [Path(word)]
    path = folder / word
    if glob.has_magic(word):
        try:
            names = glob.iglob(str(path))  # noqa: PTH207 - a word can be absolute
            return [Path(name) for name in islice(names, _MOST_EXPANDED)]
        except (OSError, re.error):
            return []
    return [path] if _is_path(word, path) else []


def _is_path(word: str, path: Path) -> bool:
    """A plain word that names nothing here is a word; one with a `/` or a dot may yet be made."""
    try:
        return "/" in word or word.startswith(".") or os.path.lexists(path)
    except ValueError:
        return False
