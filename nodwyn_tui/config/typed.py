"""Values of the file as a person types them, and back. What is typed is not judged here: what means
nothing at its place stays the text it is, and the schema refuses it as it would in the file.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from nodwyn_tui.config.allowed import KeyPath, shapes

Kind = Literal["text", "number", "switch", "choice", "list", "price"]

_INTEGER = re.compile(r"[+-]?[0-9][0-9_,]{0,30}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")


@functools.lru_cache(maxsize=512)
def kind_of(path: KeyPath) -> Kind:
    """How the setting at `path` is typed: a `list` an item a line, a `price` in US dollars per
    million tokens.
    """
    arms = shapes(path)
    if any(get_origin(arm) is Literal for arm in arms):
        return "choice"
    if bool in arms:
        return "switch"
    if any(get_origin(arm) is tuple for arm in arms):
        return "list"
    if int in arms or float in arms:
        return "price" if "price" in path else "number"
    return "text"


@functools.lru_cache(maxsize=512)
def choices_of(path: KeyPath) -> tuple[str, ...]:
    """The words that may stand there, where only some may."""
    literals = [arm for arm in shapes(path) if get_origin(arm) is Literal]
    values = [value for arm in literals for value in get_args(arm)]
    switch = [False, True] if bool in shapes(path) else []
    return tuple(as_typed(value) for value in (*switch[:1], *values, *switch[1:]))


def typed(path: KeyPath, text: str) -> Any:
    """What `text` means at `path`."""
    match kind_of(path):
        case "switch" | "choice":
            return _switched(path, text.strip())
        case "list":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "number" | "price":
            return _number(text.strip(), text)
        case _:
            return text


def _switched(path: KeyPath, text: str) -> Any:
    words = {"true": True, "false": False} if bool in shapes(path) else {}
    return words.get(text.lower(), text)


def _number(number: str, text: str) -> Any:
    if _INTEGER.fullmatch(number):
        return int(number.replace("_", "").replace(",", ""))
    return float(number) if _NUMBER.fullmatch(number) else text


def as_typed(value: object) -> str:
    """A value as one would type it; '' for nothing, and for a table."""
    match value:
        case None | Mapping():
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value).removesuffix(".0")
        case list() | tuple():
            return "\n".join(as_typed(item) for item in value)
        case _:
            return str(value)
