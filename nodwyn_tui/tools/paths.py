"""Where a path that the model gave truly leads, and whether it may be opened (AGT-9, C75)."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.base import Context, Files
from nodwyn_tui.tools.names import quoted, unquoted
from nodwyn_tui.tools.secret_files import is_secret

_LONGEST = 4096
_FORBIDDEN = re.compile(r"/(proc|dev(?!/shm/))(/|\Z)")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\..*|:.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a path truly leads. `path` has no link in it; `base` is the folder it was found in,
    the workspace or one that the person added, `None` outside of all; `relative` is what globs are
    matched with: relative to the workspace with `/`, absolute elsewhere.
    """

    path: Path
    base: Path | None
    relative: str
    secret: bool

    @property
    def outside(self) -> bool:
        return self.base is None

    @property
    def guarded(self) -> bool:
        """Whether the person must agree even to a look."""
        return self.outside or self.secret

    @property
    def shown(self) -> str:
        """The place in a result or a question."""
        return quoted(self.relative)


def locate(files: Files, home: Path | None, text: str) -> Place:
    """The place of `text`: relative to the workspace, `~` is the person's home folder, a name in
    quotes is read as listings show it. Nothing needs to be there. Raises `ToolError` for what can
    be no file's path: a loop of links, a device, `/proc`.
    """
    path = _true_path(files, home, text)
    root = Path(os.path.realpath(files.root))
    for base in (root, *(Path(os.path.realpath(extra)) for extra in files.extra)):
        inner = _below(path, base)
        if inner is not None:
            path = base / inner
            relative = inner.as_posix() if base == root else path.as_posix()
            return Place(path=path, base=base, relative=clean(relative), secret=is_secret(inner))
    return Place(path=path, base=None, relative=clean(str(path)), secret=is_secret(path))


def admit(place: Place, context: Context) -> None:
    """Passes if `place` may be opened now. Raises `ToolError` if it needs an agreement that was not
    given, or leads elsewhere than when it was agreed to (a link was put in its way).
    """
    granted = context.granted
    if granted is None and not place.guarded:
        return
    if granted is not None and str(place.path) in granted.paths:
        return
    if granted is not None:
        raise ToolError(
            f"{place.shown}: the path leads elsewhere than when it was allowed; nothing was done."
            " Look at the folder and its links, then call again."
        )
    what = "outside the workspace" if place.outside else "a secret or private file"
    raise ToolError(f"{place.shown} is {what}: it needs the person's agreement.")


def _true_path(files: Files, home: Path | None, text: str) -> Path:
    text = unquoted(text)
    if not text.strip() or "\0" in text or len(text) > _LONGEST:
        raise ToolError(
            "path: give a file's path of 1 to 4096 characters, relative to the workspace."
        )
    given = Path(text)
    if given.parts[:1] == ("~",):
        if home is None:
            raise ToolError("~: the home folder is not known here; give an absolute path.")
        given = home.joinpath(*given.parts[1:])
    try:
        path = Path(os.path.realpath(Path(files.root) / given))
        _refuse_loop(path)
    except (OSError, ValueError) as error:  # ValueError: half a surrogate pair is no file name
        raise ToolError(f"{quoted(text)}: no such path can be ({error}).") from error
    if _FORBIDDEN.match(str(path)):
        raise ToolError(
            f"{quoted(str(path))}: devices and /proc are not files; use the shell tool."
        )
    if os.name == "nt" and is_device(path):
        raise ToolError(f"{quoted(text)} is the name of a device; use another name.")
    return path


def is_device(path: Path) -> bool:
    """Whether Windows takes a part of `path` for a device, whatever its folder and suffix."""
    return any(_DEVICE.fullmatch(part.rstrip(" .")) for part in path.parts)


def _refuse_loop(path: Path) -> None:
    """A resolved path that still has a link in it is a loop, or can't be looked through."""
    for part in (path, *path.parents):
        if part.is_symlink():
            raise ToolError(
                f"{quoted(str(part))} is a link that leads to itself or can't be followed; name the"
                " file that you mean."
            )


def _below(path: Path, base: Path) -> Path | None:
    """`path` relative to `base`, or `None`; where the file system knows no case, folders are
    compared by what they are.
    """
    if path.is_relative_to(base):
        return path.relative_to(base)
    try:
        wanted = base.stat()
    except OSError:
        return None
    for folder in (path, *path.parents):
        try:
            same = os.path.samestat(folder.stat(), wanted)
        except OSError:
            continue
        if same:
            return path.relative_to(folder)
    return None
