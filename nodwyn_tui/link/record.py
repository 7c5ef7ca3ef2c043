"""What every record of the link is: a frozen dataclass whose methods are the same for all kinds.

The usual decorator writes and compiles six methods for each class. For the fifty kinds here that
was a tenth of the time until the screen takes keys (PERF-1), and the fields are all that differs.
"""

from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """A kind of record names its fields, with their defaults, and nothing else. `replace` and
    `fields` of `dataclasses` work on it.
    """

    _names: ClassVar[dict[str, None]]
    _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)
        cls._names = dict.fromkeys(cls.__annotations__)
        cls._defaults = {name: vars(cls)[name] for name in cls._names if name in vars(cls)}

    def __init__(self, **values: Any) -> None:
        given = self._defaults | values
        if given.keys() != self._names.keys():
            wrong = ", ".join(given.keys() ^ self._names.keys())
            raise TypeError(f"{type(self).__name__}: missing or unknown: {wrong}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(other) == _values(self)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__name__}({', '.join(said)})"


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in record._names)
