"""Walks a folder as the person sees their project: without what `.gitignore` leaves out, without
git's and this program's own folders, and without following links.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from nodwyn_tui.tools.secret_files import PRIVATE_FOLDERS, folded

MOST_ENTRIES = 200_000
"""Entries that one walk looks at; then it ends and says so."""

_LARGEST_RULES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder; `path` is relative to the walk's base, with `/`."""

    path: str
    is_folder: bool
    is_link: bool
    is_file: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """One ignore file; it judges paths below `folder`, absolute."""

    folder: Path
    spec: GitIgnoreSpec


@dataclass(slots=True)
class Walk:
    """A walk over `base`, in the order of names' bytes; `ignored` are the topmost entries left out,
    `cut` says that it ended at `MOST_ENTRIES`. A base that is itself ignored was meant: there, no
    rules hold. `depth` 1 looks at the base's own entries only.
    """

    base: Path
    root: Path
    depth: int | None = None
    ignored: list[str] = field(default_factory=list)
    cut: bool = False
    looked: int = 0

    def __iter__(self) -> Iterator[Entry]:
        yield from self._folder(self.base, "", outer_rules(self.base, self.root), 1)

    def _folder(
        self, folder: Path, prefix: str, rules: tuple[_Rules, ...] | None, level: int
    ) -> Iterator[Entry]:
        if rules is not None:
            rules += _rules_of(folder, ".gitignore")
        try:
            with os.scandir(folder) as scan:
                found = sorted(scan, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            return
        for entry in found:
            self.looked += 1
            if self.looked > MOST_ENTRIES:
                self.cut = True
                return
            is_folder = entry.is_dir(follow_symlinks=False)
            path = prefix + entry.name
            if is_folder and folded(entry.name) in PRIVATE_FOLDERS:
                continue
            if rules and _is_ignored(Path(entry.path), is_folder, rules):
                self.ignored.append(path + "/" * is_folder)
                continue
            is_file = entry.is_file(follow_symlinks=False)
            yield Entry(path, is_folder, entry.is_symlink(), is_file)
            if is_folder and (self.depth is None or level < self.depth):
                yield from self._folder(Path(entry.path), path + "/", rules, level + 1)
                if self.cut:
                    return


def outer_rules(base: Path, root: Path) -> tuple[_Rules, ...] | None:
    """The rules that hold in `base` from folders above it, up to the repository's top, else to
    `root`, the workspace; `None` if they leave out `base` itself.
    """
    top = next((folder for folder in (base, *base.parents) if (folder / ".git").exists()), None)
    if top is None:
        top = root if base.is_relative_to(root) else base
    rules = _rules_of(top, ".git/info/exclude")
    folder = top
    for part in base.relative_to(top).parts:
        rules += _rules_of(folder, ".gitignore")
        folder /= part
        if _is_ignored(folder, folder.is_dir(), rules):
            return None
    return rules


def _rules_of(folder: Path, name: str) -> tuple[_Rules, ...]:
    path = folder / name
    with contextlib.suppress(OSError, ValueError):  # an unreadable or senseless file has no rules
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST_RULES:
            text = path.read_text(encoding="utf-8", errors="replace")
            return (_Rules(folder, GitIgnoreSpec.from_lines(text.splitlines())),)
    return ()


def _is_ignored(path: Path, is_folder: bool, rules: tuple[_Rules, ...]) -> bool:
    """The innermost file with a say decides, as git has it."""
    for rule in reversed(rules):
        relative = path.relative_to(rule.folder).as_posix()
        verdict = rule.spec.check_file(relative + "/" * is_folder).include
        if verdict is not None:
            return verdict
    return False
