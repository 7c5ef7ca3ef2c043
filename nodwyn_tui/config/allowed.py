"""What a setting may be, in words, taken from the schema itself."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodwyn_tui.config.schema import Settings

KeyPath = tuple[str, ...]
"""A key of the file, table by table: `("models", "local", "server")`."""

_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true | false"}


def allowed(path: KeyPath) -> str:
    """What may stand at `path`, '' where the schema knows no such key."""
    shape: Any = Settings
    bounds: Sequence[Any] = ()
    for key in path:
        step = _step(shape, key)
        if step is None:
            return ""
        shape, bounds = step
    return _words(shape) + _bounds(bounds)


def known_keys(path: KeyPath) -> frozenset[str] | None:
    """The keys of the table at `path`; `None` where any name may stand, or where no table does."""
    shape: Any = Settings
    for key in path:
        step = _step(shape, key)
        if step is None:
            return None
        shape = step[0]
    section = _section(shape)
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
    for bound in metadata:
        if isinstance(bound, Gt):
            return f" above {bound.gt}"
        if isinstance(bound, Ge):
            return f" of {bound.ge} or more"
    return ""
