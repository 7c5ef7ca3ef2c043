"""Changes of the file's values: what each does to them, what follows from it, and which of them an
editor's save has overtaken. Nothing here reads or writes a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.problems import dotted
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError

MISSING = object()
"""Stands for the value of a key that is not there."""

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What is to stand at `path`; `None` takes the key, or a whole table, out."""

    path: KeyPath
    value: Any


def value_at(values: Values, path: KeyPath) -> Any:
    """What stands at `path`, `MISSING` where nothing does."""
    node: Any = values
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            return MISSING
        node = node[key]
    return node


def change(values: dict[str, Any], made: Change) -> None:
    """Makes one change. `ConfigError` where a value stands in the place of a table."""
    node = values
    for depth, key in enumerate(made.path[:-1], 1):
        if made.value is None and key not in node:
            return
        below = node.setdefault(key, {})
        if not isinstance(below, dict):
            raise in_the_way(made.path[:depth])
        node = below
    if made.value is None:
        node.pop(made.path[-1], None)
    else:
        node[made.path[-1]] = made.value


def in_the_way(path: KeyPath, file: str = "", wanted: str = "a table") -> ConfigError:
    """Why nothing can be put where something else stands."""
    return ConfigError(
        "something else stands there, so nothing can be saved; mend it first",
        file=file,
        key=dotted(path),
        allowed=wanted,
    )


def with_consequences(
    values: Values, changes: Sequence[Change], known: Mapping[str, ServerSettings]
) -> tuple[Change, ...]:
    """The changes, and what follows from them: `model` and `fallback` name no model that is taken
    out, a new model on an Anthropic server asks for its cache (PRV-3), and a table of no keys goes
    with its last one. `known` are the well-known servers.
    """
    named = {each.path for each in changes}
    more = [each for each in _follow(values, changes, known) if each.path not in named]
    return _pruned(values, (*changes, *more))


def _follow(
    values: Values, changes: Sequence[Change], known: Mapping[str, ServerSettings]
) -> Iterator[Change]:
    for made in changes:
        match made.path:
            case ("models", name) if made.value is None:
                for key in ("model", "fallback"):
                    if values.get(key) == name:
                        yield Change((key,), None)
            case ("models", name, "server") if value_at(values, ("models", name)) is MISSING:
                if _speaks(values, changes, known, made.value) == "anthropic":
                    yield Change(("models", name, "cache_control"), "ephemeral")


def _speaks(
    values: Values, changes: Sequence[Change], known: Mapping[str, ServerSettings], server: object
) -> object:
    """The protocol of a server as it will be."""
    path = ("servers", server, "provider")
    wanted = [each.value for each in changes if each.path == path]
    if wanted:
        return wanted[-1]
    found = value_at(values, ("servers", str(server), "provider"))
    usual = known.get(str(server))
    return found if found is not MISSING else usual and usual.provider


def _pruned(values: Values, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The same, where a table that would be empty goes itself: an entry's, or one in it."""
    made = list(changes)
    for number, each in enumerate(made):
        path = each.path
        while each.value is None and len(path) > 2 and _empties(values, made, path[:-1]):
            path = path[:-1]
            made[number] = Change(path, None)
    return tuple(made)


def _empties(values: Values, changes: Sequence[Change], table: KeyPath) -> bool:
    held = value_at(values, table)
    if not isinstance(held, Mapping):
        return False
    inside = {each.path[len(table)]: each.value for each in changes if _within(each.path, table)}
    kept = any(value is not None for value in inside.values())
    return not kept and set(held) <= set(inside)


def _within(path: KeyPath, table: KeyPath) -> bool:
    return len(path) == len(table) + 1 and path[: len(table)] == table


def overtaken(base: Values | None, now: Values, changes: Sequence[Change]) -> dict[KeyPath, Any]:
    """The changes whose key an editor set otherwise meanwhile, with what stands there now
    (`MISSING` for nothing). `base` is what they were made on; where that is unknown, all that
    differs counts.
    """
    found = {}
    for made in changes:
        theirs = value_at(now, made.path)
        wanted = MISSING if made.value is None else made.value
        was = MISSING if base is None else value_at(base, made.path)
        if theirs != wanted and (theirs is not MISSING if base is None else theirs != was):
            found[made.path] = theirs
    return found
