"""What a setting may be, in words, taken from the schema itself."""

import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodwyn_tui.config.schema import Settings
from nodwyn_tui.domain.keys import ALLOWED, BY_ID

KeyPath = tuple[str, ...]
"""A key of the file, table by table: `("models", "local", "server")`."""

_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true | false"}


def allowed(path: KeyPath) -> str:
    """What may stand at `path`, '' where the schema knows no such key."""
    if path[:1] == ("keys",) and len(path) == 2:
        return ALLOWED
    found = _at(path)
    return "" if found is None else _words(found[0]) + _bounds(found[1])


def shapes(path: KeyPath) -> tuple[Any, ...]:
    """The types of what may stand at `path`, besides nothing; none for an unknown key."""
    found = _at(path)
    return () if found is None else _arms(found[0])


def default_of(path: KeyPath) -> Any:
    """The schema's default at `path`, `None` where it has none."""
    if path[:1] == ("keys",) and len(path) == 2:
        return BY_ID[path[1]].keys if path[1] in BY_ID else None
    found = _at(path[:-1])
    section = None if found is None else _section(found[0])
    field = None if section is None else section.model_fields.get(path[-1])
    if field is None or field.is_required():
        return None
    return field.get_default(call_default_factory=True)


@functools.lru_cache(maxsize=512)  # the Settings screen asks for all of them at every keystroke
def _at(path: KeyPath) -> tuple[Any, Sequence[Any]] | None:
    """The shape at `path` and its bounds."""
    shape: Any = Settings
    bounds: Sequence[Any] = ()
    for key in path:
        step = _step(shape, key)
        if step is None:
            return None
        shape, bounds = step
    return shape, bounds


def known_keys(path: KeyPath) -> frozenset[str] | None:
    """The keys of the table at `path`; `None` where any name may stand, or where no table does."""
    found = _at(path)
    section = None if found is None else _section(found[0])
    return None if section is None else frozenset(section.model_fields)


def _step(shape: Any, key: str) -> tuple[Any, Sequence[Any]] | None:
    section = _section(shape)
    if section is not None:
        field: FieldInfo | None = section.model_fields.get(key)
        return None if field is None else (field.annotation, field.metadata)
    return (get_args(shape)[1], ()) if get_origin(shape) is dict else None


def _section(shape: Any) -> type[BaseModel] | None:
    for arm in _arms(shape):
        if isinstance(arm, type) and issubclass(arm, BaseModel):
            return arm
    return None


def _arms(shape: Any) -> tuple[Any, ...]:
    if get_origin(shape) in (types.UnionType, Union):
        return tuple(arm for arm in get_args(shape) if arm is not types.NoneType)
    return (shape,)


def _words(shape: Any) -> str:
    return " | ".join(_arm_words(arm) for arm in _arms(shape))


def _arm_words(arm: Any) -> str:
    origin = get_origin(arm)
    if origin is Literal:
        return " | ".join(str(value) for value in get_args(arm))
    if origin is tuple:
        return "a list of texts" if get_args(arm)[0] is str else "a list of tables"
    if isinstance(arm, type) and issubclass(arm, BaseModel | Mapping):
        return "a table"
    return "a table" if origin is dict else _PLAIN[arm]


def _bounds(metadata: Sequence[Any]) -> str:
    words = ""
    for bound in metadata:
        match bound:
            case Gt(gt=least):
                words += f" above {least}"
            case Ge(ge=least):
                words += f" of {least} or more"
            case Le(le=most):
                words += f", {most} at most"
    return words
