"""What the person changed in the settings and has not saved yet, with its undo (TUI-5).

It knows the link's records, not the screen.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from nodwyn_tui.link.settings import (
    SaveSettings,
    Setting,
    SettingChange,
    SettingsShown,
    ShowSettings,
)

Path = tuple[str, ...]
Values = dict[Path, str | None]
MARKED: Mapping[Literal["lead", "fallback"], Path] = {"lead": ("model",), "fallback": ("fallback",)}
"""The setting that names the model with a mark."""
_TABLES = ("models", "servers")


class Changes:
    """Values by path, `None` for a key that goes. One that says what the file says is no change."""

    def __init__(self) -> None:
        self.values: Values = {}
        self.conflicts: dict[Path, str] = {}
        """What an editor saved meanwhile, where the person has not decided yet."""
        self._file: dict[Path, Setting] = {}
        """The rows as the file has them, without changes."""
        self._leading: Values = {}
        """Who leads and who takes over, where no row says it."""
        self._version = ""
        self._newest = ""
        """The version that the conflicts are about."""
        self._sent: Values = {}
        """What is being saved."""
        self._over: Values = {}
        """An editor's values that are to be written over: undo brings them back."""
        self._undo: list[Values] = []
        self._redo: list[Values] = []

    def __len__(self) -> int:
        return len(self.values)

    def put(self, values: Mapping[Path, str | None]) -> bool:
        """Change one or several values, as one step; whether that was a change."""
        return self._become(self._with(values))

    def remove(self, table: Path) -> None:
        """Take a whole table out, with what was changed in it, as one step."""
        kept = {path: value for path, value in self.values.items() if not _within(path, table)}
        if any(_within(path, table) for path in self._file):
            kept[table] = None
        self._become(kept)

    def reset(self, path: Path) -> bool:
        """Have a value's default count again; whether that was a change."""
        return self.put({path: None})

    def undo(self) -> bool:
        """Take the last step back."""
        return self._step(self._undo, self._redo)

    def redo(self) -> bool:
        """Go on to the step that was taken back."""
        return self._step(self._redo, self._undo)

    def shown(self, row: Setting) -> str:
        """What a row holds with the changes, also where the worker has not answered yet."""
        if row.path not in self.values:
            return row.value
        value = self.values[row.path]
        return row.default if value is None else value

    def told(self, event: SettingsShown) -> None:
        """Another picture: of the file, if nothing is changed; else it may tell of conflicts."""
        rows = {row.path: row for group in event.groups for row in group.rows}
        changed = event.unsaved or any(row.origin == "changed" for row in rows.values())
        if not (self.values or changed):
            self._file, self._version = rows, event.version
            used: dict[str, str] = {group.mark: group.name for group in event.groups if group.mark}
            self._leading = {
                path: used.get(mark) for mark, path in MARKED.items() if path not in rows
            }
        self._newest = event.version
        for path in self._file.keys() & rows.keys():  # a new entry's rows are not the file's
            if rows[path].origin != "changed":
                self._file[path] = rows[path]
        for path, row in rows.items():
            if row.theirs is not None and path in self.values:
                self.conflicts[path] = row.theirs

    def used_as(self, mark: Literal["lead", "fallback"]) -> str:
        """Which model leads, or takes over, with the changes; '' for none."""
        path = MARKED[mark]
        if path in self.values:
            return self.values[path] or ""
        row = self._file.get(path)
        return row.value if row else self._leading.get(path) or ""

    def keep_mine(self, path: Path) -> None:
        """The person's own value is to be written over the editor's."""
        theirs = self.conflicts.pop(path, None)
        if theirs is not None:
            self._over[path] = theirs or None
            self._decided()

    def take_theirs(self, path: Path) -> None:
        """The editor's value stays."""
        if self.conflicts.pop(path, None) is not None:
            self._become({key: value for key, value in self.values.items() if key != path})
            self._decided()

    def saved(self, version: str) -> None:
        """What was sent is in the file; what was changed since then is not. Undo turns back what
        was saved, as changes to be saved.
        """
        rows = {path: _in_file(row) for path, row in self._file.items()}
        files = rows | self._leading | self._over
        known = all(path in files for path in self._sent)
        back = {path: files[path] for path in self._sent} if known else {}
        sent, self._sent = self._sent, {}
        self.values = {p: v for p, v in self.values.items() if p not in sent or sent[p] != v}
        self.conflicts, self._over, self._version = {}, {}, version
        self._undo, self._redo = [back] if back and not self.values else [], []

    def throw_away(self) -> None:
        """Nothing is changed."""
        self.values, self.conflicts, self._over = {}, {}, {}
        self._undo, self._redo = [], []

    def in_file(self, path: Path) -> str | None:
        """What the file alone would have count; `None` for a row that it does not know."""
        row = self._file.get(path)
        return None if row is None else row.value

    def showing(self, typed: Mapping[Path, str | None] | None = None) -> ShowSettings:
        """Ask for the picture, with what is being typed."""
        return ShowSettings(changes=_changes(self._with(typed or {})))

    def saving(self) -> SaveSettings:
        """Ask for all of it to be written."""
        self._sent = self.values
        return SaveSettings(changes=_changes(self.values), version=self._version)

    def _decided(self) -> None:
        if not self.conflicts:
            self._version = self._newest

    def _with(self, values: Mapping[Path, str | None]) -> Values:
        """The changes with others, without those that say what the file says."""
        wanted = {**self.values, **values}
        return {path: value for path, value in wanted.items() if not self._is_idle(path, value)}

    def _is_idle(self, path: Path, value: str | None) -> bool:
        row = self._file.get(path)
        if row is not None:
            return value == _in_file(row)
        if path in self._leading:
            return value == self._leading[path]
        new = path[0] in _TABLES and not any(_within(known, path) for known in self._file)
        return value is None and new

    def _become(self, values: Values) -> bool:
        if values == self.values:
            return False
        self._undo.append(self.values)
        self._redo.clear()
        self.values = values
        return True

    def _step(self, source: list[Values], target: list[Values]) -> bool:
        if not source:
            return False
        target.append(self.values)
        self.values = source.pop()
        self.conflicts = {p: v for p, v in self.conflicts.items() if p in self.values}
        return True


def _changes(values: Mapping[Path, str | None]) -> tuple[SettingChange, ...]:
    def made() -> Iterator[SettingChange]:
        for path, value in values.items():
            yield SettingChange(path=path, value=value)

    return tuple(made())


def _in_file(row: Setting) -> str | None:
    """What the file says of a row, `None` for nothing."""
    return row.value if row.origin == "file" else None


def _within(path: Path, table: Path) -> bool:
    return path[: len(table)] == table
