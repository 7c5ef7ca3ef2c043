"""Records of the link to JSON lines and back. Both ends are this program, so nothing is validated
here beyond shape; no library, so that the screen starts light.
"""

import dataclasses
import json
import types
import typing
from functools import cache
from typing import Any, cast

from nodwyn_tui.link import commands, events
from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.events import UpEvent

_RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for union in (commands.Command, events.UpEvent)
    for kind in typing.get_args(union)
}


def encode(record: Command | UpEvent) -> bytes:
    """One line, with its line end. Fields at their defaults are left out."""
    value = {"is": type(record).__name__} | _value(record)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def decode(line: bytes) -> Command | UpEvent:
    """The record of a line that `encode` wrote."""
    value = json.loads(line)
    kind = _RECORDS[value.pop("is")]
    return cast("Command | UpEvent", _record(kind, value))


def _value(record: Any) -> Any:
    if dataclasses.is_dataclass(record):
        return {
            field.name: _value(value)
            for field in dataclasses.fields(record)
            if (value := getattr(record, field.name)) != field.default
        }
    if isinstance(record, tuple):
        return [_value(item) for item in record]
    return record


def _record(kind: type[Any], value: dict[str, Any]) -> Any:
    shapes = _shapes(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(**{name: _shaped(shapes[name], item) for name, item in value.items()})


@cache
def _shapes(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: _shape(hints[field.name]) for field in dataclasses.fields(kind)}


def _shape(hint: Any) -> Any:
    """What a JSON value becomes: a record's class, (tuple, item's shape), or None (as it is)."""
    if dataclasses.is_dataclass(hint):
        return hint
    if typing.get_origin(hint) is tuple:
        return (tuple, _shape(typing.get_args(hint)[0]))
    if isinstance(hint, types.UnionType):
        shapes = [shape for arm in typing.get_args(hint) if (shape := _shape(arm)) is not None]
        return shapes[0] if shapes else None
    return None


def _shaped(shape: Any, value: Any) -> Any:
    if shape is None or value is None:
        return value
    if isinstance(shape, tuple):
        return tuple(_shaped(shape[1], item) for item in value)
    return _record(shape, value)
