"""Which skills there are, and where they lie (ORD-10): the person's own beside their settings, and
those of the workspace, in its `.nodwyn` and where other programs keep them.

What a repository brings along is read only if it lies within it (SEC-4); links in the person's own
folder are theirs. What is wrong with a skill is told, and keeps no other from being used.
"""

import itertools
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.words import Keeper
from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import disk_error

FILE = "SKILL.md"
SHELVES = (".nodwyn/skills", ".agents/skills", ".claude/skills")
"""A workspace's folders of skills, in the order in which a name is looked for."""
LARGEST = 256 * 1024
"""Bytes of a file that is read; more is no skill, and is said to be too much."""
LONGEST_NAME = 64
MOST = 100
"""Skills of one folder that are listed, by name; any other can still be named."""
MOST_SEEN = 10_000
"""Entries of one folder that are looked at."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Content:
    """What stands in a `SKILL.md`. `description` is one line of printable text without markup,
    `first` the line (from 1) that `body` begins at, `digest` the file's SHA-256.
    """

    name: str
    description: str
    body: str
    first: int
    digest: str


Read = Callable[[bytes, str, str], Content]
"""Reads a file's bytes, which `shown` names, of the folder called so (`skill_file.read`)."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: whose it is, and its file, as a path of the workspace or, of the person's own, in
    full.
    """

    content: Content
    keeper: Keeper
    file: str

    @property
    def name(self) -> str:
        """What it is called, and its folder too."""
        return self.content.name


@dataclass(frozen=True, slots=True)
class Found:
    """Skills by name, the person's own first, and what is wrong with others, a line each."""

    skills: Sequence[Skill] = ()
    problems: Sequence[str] = ()


class Skills:
    """The skills of one workspace and of the person, read anew each time."""

    def __init__(self, workspace: Path, person: Path, read: Read) -> None:
        self._workspace, self._read = workspace, read
        self._shelves: tuple[tuple[Keeper, Path], ...] = (
            ("person", person),
            *(("workspace", workspace / shelf) for shelf in SHELVES),
        )

    @property
    def places(self) -> tuple[str, ...]:
        """Where a skill can be put, for the person."""
        return tuple(self._shown(shelf, keeper) for keeper, shelf in self._shelves)

    def all(self) -> Found:
        """All that can be used. Of one name the first counts; another text of it is told."""
        skills: dict[str, Skill] = {}
        problems: list[str] = []
        for keeper, shelf in self._shelves:
            for name in self._names(shelf, keeper, problems):
                try:
                    skill = self._skill(shelf, keeper, name)
                except StoreError as error:
                    problems.append(str(error))
                    continue
                first = skills.setdefault(name, skill) if skill else None
                if skill and first and first.content.digest != skill.content.digest:
                    problems.append(
                        f"{skill.file} is not used: {first.file} has the name {name!r} before it;"
                        " rename one of them, and its folder alike"
                    )
        return Found((*skills.values(),), problems)

    def find(self, name: str) -> Skill | None:
        """The skill of that name, the same that `all` has. Raises `StoreError` where there is one,
        but it can't be used.
        """
        if len(name) > LONGEST_NAME or not name.replace("-", "").isalnum():
            return None
        wrong: StoreError | None = None
        for keeper, shelf in self._shelves:
            try:
                if (skill := self._skill(shelf, keeper, name)) is not None:
                    return skill
            except StoreError as error:
                wrong = wrong or error
        if wrong is not None:
            raise wrong
        return None

    def _names(self, shelf: Path, keeper: Keeper, problems: list[str]) -> Sequence[str]:
        """The names of a shelf's folders, in order."""
        shown = self._shown(shelf, keeper)
        try:
            if keeper == "workspace" and shelf.exists() and not self._is_inside(shelf):
                problems.append(f"{shown} is a link out of the workspace, and not followed")
                return ()
            with os.scandir(shelf) as entries:
                seen = itertools.islice(entries, MOST_SEEN)
                names = sorted(entry.name for entry in seen if _is_folder(entry))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, RuntimeError) as error:
            problems.append(str(_refused(shelf, error)))
            return ()
        if len(names) > MOST:
            problems.append(
                f"{shown} has more than {MOST} folders: the first {MOST} by name are listed; any"
                " other can be picked by its name"
            )
        return names[:MOST]

    def _skill(self, shelf: Path, keeper: Keeper, name: str) -> Skill | None:
        """The skill in a folder; `None` where no file makes it one."""
        path = shelf / name / FILE
        shown = self._shown(path, keeper)
        try:
            real = path.resolve(strict=True)
            if keeper == "workspace" and not (self._is_inside(real) and real.name == FILE):
                raise StoreError(
                    f"{shown} is a link out of the workspace, and not followed; copy it there"
                )
            data = _data(real, shown)
        except (FileNotFoundError, NotADirectoryError):
            if keeper == "person" or self._is_inside(path.parent):
                _refuse_other_letters(path.parent, shown)
            return None
        except (OSError, RuntimeError) as error:
            raise _refused(path, error) from error
        return Skill(self._read(data, shown, name), keeper, shown)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._workspace.resolve())

    def _shown(self, path: Path, keeper: Keeper) -> str:
        """A path for a reader, on one line."""
        inside = keeper == "workspace"
        return one_line(str(path.relative_to(self._workspace) if inside else path))


def one_line(text: str) -> str:
    """A stranger's text on one line: printable characters alone, and no angle brackets, so that
    nothing in it ends a frame or begins one.
    """
    seen = "".join(each if each.isprintable() else " " for each in clean(text))
    return " ".join(seen.replace("<", "(").replace(">", ")").split())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a circle of links, or a folder that may not be looked into
        return False


def _refuse_other_letters(folder: Path, shown: str) -> None:
    """A file that is called nearly so would be missed without a word."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, MOST_SEEN)]
    except OSError:
        return
    for name in names:
        if name != FILE and name.casefold() == FILE.casefold():
            raise StoreError(f"{shown.removesuffix(FILE)}{name} is not read: call it {FILE}")


def _refused(path: Path, error: OSError | RuntimeError) -> StoreError:
    """A circle of links is the one or the other, by Python's version."""
    failed = error if isinstance(error, OSError) else OSError(str(error))
    return StoreError(one_line(str(disk_error("read", path, failed))))


def _data(path: Path, shown: str) -> bytes:
    """The bytes of a regular file, one more than may be read at most. A pipe never blocks this."""
    fd = os.open(path, _READ | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise StoreError(f"{shown} is no file; move it away")
    with os.fdopen(fd, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise StoreError(
            f"{shown} has more than {LARGEST:,} bytes; move parts of it into other files"
        )
    return data
