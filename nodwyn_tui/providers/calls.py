"""The wire forms of what the model itself wrote: a call's name, and its arguments as text and as
an object. What the log holds stays as it came; only what is sent is made safe here.
"""

import json
import re

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.canonical import clean_json
from nodwyn_tui.domain.request import Json

INVALID = "invalid_arguments"
"""The key under which arguments that are no JSON object go back to the model."""

_NAME_LIMIT = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def parse_arguments(text: str) -> dict[str, Json] | None:
    """The object that a call's arguments say, `None` if they are cut, or no JSON object (C32).

    Blank text is the empty object (C27); numbers keep their form (C28); NaN and infinities, which
    are no JSON, make the whole invalid.
    """
    value = read_arguments(text, strict=True)
    # What a text holds of half characters no server takes.
    return None if isinstance(value, Malformed) else clean_json(value)


def arguments_object(text: str) -> dict[str, Json]:
    """Arguments as protocols with objects want them: always an object."""
    value = parse_arguments(text)
    return {INVALID: text} if value is None else value


def arguments_text(text: str) -> str:
    """Arguments as protocols with strings want them: the model's own text wherever it is the text
    of an object, so that no server ever gets broken JSON.
    """
    if not text.strip():
        return "{}"
    if parse_arguments(text) is None:
        return json_text({INVALID: text})
    return text


def json_text(value: Json) -> str:
    """A JSON value as a model would write it."""
    return json.dumps(value, ensure_ascii=False)


def wire_name(name: str) -> str:
    """A tool's name within what every server takes: letters, digits, `_`, `-`, at most 64."""
    return _NOT_IN_NAMES.sub("_", name)[:_NAME_LIMIT] or "unknown"
