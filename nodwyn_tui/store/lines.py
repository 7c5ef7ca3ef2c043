"""One line of the log to an event and back (ENG-2). Only a line feed ends a line, whatever the
texts hold: JSON escapes the line feeds in them, and nothing else divides lines (C67).
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from nodwyn_tui.domain.canonical import clean_json, event_line
from nodwyn_tui.domain.events import EVENT_TYPES, Event, UnknownEvent
from nodwyn_tui.domain.request import Json

MAX_SEQ = 2**53
"""What every JSON reader can hold."""


class NotAnEvent(ValueError):
    """A line that holds no event: damage, or a stranger's text."""


def encode(event: Event) -> bytes:
    """The event's line, with its line end. Its texts are clean (no lone surrogates)."""
    text = json.dumps(event_line(event), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8") + b"\n"


def decode(line: bytes) -> Event:
    """The event of a line. A type or a value that this build does not know gives an
    `UnknownEvent`; a field it does not know goes to `extra`. Raises `NotAnEvent`.
    """
    raw, known_text = _object(line)
    name = raw["type"]
    if name not in EVENT_TYPES:
        return _unknown(raw, "unknown type")
    unknown = raw.keys() - _field_names(name)
    if unknown or not known_text:
        extra = {key: raw[key] for key in raw if key in unknown}
        known = {key: raw[key] for key in raw if key not in unknown}
        line = json.dumps(known | {"extra": extra}).encode()
    try:
        event: Event = _adapter(name).validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        return _unknown(raw, f"{place}: {first['msg']}" if place else first["msg"])
    return event


def _object(line: bytes) -> tuple[dict[str, Json], bool]:
    """The line's object, and whether it can be validated as it stands."""
    as_it_stands = True
    try:
        raw = from_json(line)
    except ValueError:
        # Stricter than JSON itself in one thing: half a surrogate pair, as other programs write it.
        raw, as_it_stands = _lenient(line), False
    match raw:
        case {"seq": int(seq), "type": str()} if seq is not True and 1 <= seq <= MAX_SEQ:
            return raw, as_it_stands
    raise NotAnEvent("no object with a seq and a type")


def _lenient(line: bytes) -> Json:
    try:
        return clean_json(json.loads(line.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent("no JSON") from error


def _unknown(raw: Mapping[str, Json], why: str) -> UnknownEvent:
    def of(key: str, kind: type[Any], default: Any) -> Any:
        value = raw.get(key)
        return value if type(value) is kind else default

    return UnknownEvent(
        seq=raw["seq"],
        at=of("at", str, ""),
        ctx=of("ctx", int, 0),
        run=of("run", int, 0),
        batch=of("batch", int, None),
        kind=raw["type"],
        raw=raw,
        why=why,
    )


@functools.cache
def _adapter(name: str) -> TypeAdapter[Any]:
    # Built when the first line of its type is met: all of them at once would cost the start-up.
    return TypeAdapter(EVENT_TYPES[name])


@functools.cache
def _field_names(name: str) -> frozenset[str]:
    own = fields(EVENT_TYPES[name])
    return frozenset(field.name for field in own if not field.metadata.get("merge")) | {"type"}
