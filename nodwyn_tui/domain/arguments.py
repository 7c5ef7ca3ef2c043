"""A call's arguments as the model wrote them: whole, cut off, or malformed. Never raises."""

import json
import math
from dataclasses import dataclass

from nodwyn_tui.domain.request import Json

DEEPEST = 64
"""Levels of lists and objects; no tool needs more, and some readers take no more."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Text that is no JSON object: `why` in a few words; `at` is the character at which it stopped
    to be JSON, `None` if it is JSON; `cut` says that it only lacks its end (C32).
    """

    why: str
    at: int | None = None
    cut: bool = False


def read_arguments(text: str, *, strict: bool = False) -> dict[str, Json] | Malformed:
    """The object that the arguments are. No text at all means no arguments (C27).

    A control character inside a string passes unless `strict`: models write it, other programs'
    readers refuse it. Numbers keep their form (C28); what is cut off is never repaired.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text,
            strict=strict,
            object_pairs_hook=_once,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as error:
        return Malformed(error.msg, error.pos, _is_cut(text, error))
    except RecursionError:
        return Malformed("can't be read (nested too deep)")
    except ValueError as error:
        return Malformed(f"can't be read ({error})")
    if not isinstance(value, dict):
        return Malformed(f"must be one JSON object, not {_kind(value)}")
    return value if _depth_within(value, DEEPEST) else Malformed("can't be read (nested too deep)")


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is wrong only in that it ends: in a text, an escape, a word or between."""
    rest = text[error.pos :].rstrip()
    return (
        not rest
        or error.msg.startswith("Unterminated string")
        or ("escape" in error.msg and len(rest) <= len("uXXXX"))
        or any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    )


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that JSON can hold")
    return number


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


def _kind(value: Json) -> str:
    kinds = {str: "a text", list: "a list", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _depth_within(value: Json, left: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return left > 0 and all(_depth_within(item, left - 1) for item in inner)
