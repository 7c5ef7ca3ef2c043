"""Writes single settings into `config.toml`, keeping whatever else stands there: comments, order,
unknown keys, and what an editor saved meanwhile.
"""

import copy
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from filelock import FileLock, Timeout
from tomlkit.container import Container, OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, Array, InlineTable, KeyType, SingleKey

from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.changes import Change, change, in_the_way
from nodwyn_tui.config.files import parse, read_text
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.system.atomic import write_whole

_LOCK_SECONDS = 10.0
_MODE = 0o600
_NAMED_TABLES = frozenset({"servers", "models", "mcp"})
"""Tables whose keys are the person's own names: always written as one quoted key (C73)."""

_INLINE = frozenset({"price", "timeouts"})

_Table = Container | AbstractTable | OutOfOrderTableProxy
"""The last is a table with others between its parts, such as servers and models in pairs."""
_Edit = Callable[[str], str]


def save_changes(file: Path, plan: Callable[[Mapping[str, Any]], Sequence[Change]]) -> str:
    """Makes all changes or none, and gives the file's text; makes the file if there is none.

    `plan` gives the changes for the values that stand in the file; it is asked under the lock, so
    that nothing comes between, and what it raises keeps the file as it is. `ConfigError` where the
    file is not TOML or something else stands in the way.
    """

    def edit(text: str) -> str:
        document = _document(text, file)
        changes = plan(parse(text, file))
        for made in changes:
            if made.value is None:
                _drop(document, made.path)
            else:
                _put(_table_for(document, made.path, file), made.path, made.value)

        def change_all(values: dict[str, Any]) -> None:
            for made in changes:
                change(values, Change(made.path, copy.deepcopy(made.value)))

        emptied = {made.path[0] for made in changes if made.value is None}
        return _checked(text, document, file, change_all, emptied)

    return _save(file, edit)


def set_value(file: Path, path: KeyPath, value: Any) -> None:
    """Sets one key, or a whole table from a mapping."""
    save_changes(file, lambda _: [Change(path, value)])


def remove_value(file: Path, path: KeyPath) -> None:
    """Takes one key or table out; nothing happens if it is not there."""
    save_changes(file, lambda _: [Change(path, None)])


def add_allow_pattern(file: Path, pattern: str) -> None:
    """Adds a pattern `TOOL: GLOB` to `[approvals] allow`, once: "always" of an approval."""
    path = ("approvals", "allow")

    def edit(text: str) -> str:
        document = _document(text, file)
        table = _table_for(document, path, file)
        listed = table.get("allow")
        if listed is None:
            listed = table["allow"] = tomlkit.array()
        if not isinstance(listed, Array):
            raise in_the_way(path, str(file), "a list of patterns")
        if pattern in listed.unwrap():
            return text
        listed.append(pattern)
        return _checked(text, document, file, lambda values: _append_plain(values, pattern))

    _save(file, edit)


def _save(file: Path, edit: _Edit) -> str:
    """Reads, edits and writes under a lock; starts anew if an editor saved in between. Gives the
    text that stands there then.
    """
    target = file.resolve()  # a link to the person's own store of settings stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=_LOCK_SECONDS):
            while True:
                before = read_text(target)
                after = edit(before)
                if after == before:
                    return after
                _refuse_read_only(target, file)
                if read_text(target) == before:
                    mode = None if target.exists() else _MODE
                    write_whole(target, after.encode("utf-8"), mode)
                    return after
    except Timeout as error:
        raise ConfigError(
            "another Nodwyn is saving settings and does not end; try again", file=str(file)
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot be saved ({error.strerror}); mend the permissions of its folder",
            file=str(file),
        ) from error


def _refuse_read_only(target: Path, file: Path) -> None:
    """A file that the person closed to themselves stays as it is: writing it whole would pass."""
    if target.exists() and not target.stat().st_mode & stat.S_IWUSR:
        raise ConfigError(
            "is read-only; make it writable (chmod u+w) and try again", file=str(file)
        )


def _document(text: str, file: Path) -> tomlkit.TOMLDocument:
    parse(text, file)  # names the line where it is not TOML
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(f"cannot be changed here: {error}; edit it", file=str(file)) from error


def _table_for(document: tomlkit.TOMLDocument, path: KeyPath, file: Path) -> _Table:
    """The table that holds the path's last key; made where it is not there."""
    node: _Table = document
    for depth, key in enumerate(path[:-1], 1):
        if key not in node:
            _add(node, _key(path[:depth]), _new_table(path[:depth]))
        found = node[key]
        if not isinstance(found, _Table):
            raise in_the_way(path[:depth], str(file))
        node = found
    return node


def _new_table(path: KeyPath) -> AbstractTable:
    """Prices and times stand in their entry's own line, where keys can still follow."""
    if path[-1] in _INLINE:
        return tomlkit.inline_table()
    return tomlkit.table(is_super_table=len(path) == 1 and path[0] in _NAMED_TABLES)


def _drop(document: tomlkit.TOMLDocument, path: KeyPath) -> None:
    node: Any = document
    for key in path[:-1]:
        node = node.get(key) if isinstance(node, Mapping) else None
    if isinstance(node, Mapping) and path[-1] in node:
        del node[path[-1]]  # type: ignore[attr-defined]  # every table of tomlkit has it


def _put(table: _Table, path: KeyPath, value: Any) -> None:
    if path[-1] in table:
        table[path[-1]] = value
    elif isinstance(value, Mapping) and not isinstance(table, InlineTable):
        made = tomlkit.table()
        for key, item in value.items():
            made.append(key, item)
        _add(table, _key(path), made)
    else:
        _add(table, _key(path), value)


def _add(table: _Table, key: SingleKey, value: Any) -> None:
    if isinstance(table, OutOfOrderTableProxy):
        table[key] = value
    else:
        table.append(key, value)


def _key(path: KeyPath) -> SingleKey:
    quoted = len(path) == 2 and path[0] in _NAMED_TABLES
    return SingleKey(path[-1], KeyType.Basic if quoted else None)


def _checked(
    before: str,
    document: tomlkit.TOMLDocument,
    file: Path,
    change: Callable[[dict[str, Any]], None],
    emptied: Iterable[str] = (),
) -> str:
    """The new text, if another reader finds in it exactly what was there with the one change. A
    table that is `emptied` by it may be gone with its last entry: it had no line of its own.
    """
    expected = tomllib.loads(before)
    change(expected)
    after = tomlkit.dumps(document)
    try:
        found = tomllib.loads(after)
    except ValueError:
        found = {}
    for key in emptied:
        if expected.get(key) == {} and key not in found:
            del expected[key]
    if found != expected:
        raise ConfigError(
            "this change cannot be made without touching something else; edit the file by hand",
            file=str(file),
        )
    return after


def _append_plain(values: dict[str, Any], pattern: str) -> None:
    values.setdefault("approvals", {}).setdefault("allow", []).append(pattern)
