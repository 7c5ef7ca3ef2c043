"""Bodies against the official clients' own types, all the way down and with nothing unknown."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError


def type_problems(adapter: TypeAdapter[Any], body: Any) -> Iterator[str]:
    """What the types refuse of a body: the problem that tells most."""
    try:
        _exhaust(adapter.validate_python(body))
    except ValidationError as error:
        yield _most_telling(error)


def _exhaust(value: Any) -> None:
    """Walks what was validated: pydantic looks into its lazy lists only then."""
    if isinstance(value, Mapping):
        for item in value.values():
            _exhaust(item)
    elif isinstance(value, list | tuple | Iterator):
        for item in value:
            _exhaust(item)


def _most_telling(error: ValidationError) -> str:
    """A value that fits no arm of a union fails all of them: the one of its own kind, or the one it
    nearly fits, tells most.
    """
    found = error.errors()
    others = {e["loc"][0] for e in found if _says_other_arm(e, "stream")}
    found = [each for each in found if each["loc"][0] not in others] or found
    arms: dict[tuple[Any, ...], list[Any]] = {}
    for each in found:
        arms.setdefault(each["loc"][:-1], []).append(each)

    def distance(problems: list[Any]) -> tuple[bool, int]:
        return any(_says_other_arm(each, "role", "type") for each in problems), len(problems)

    nearest = min(arms.values(), key=distance)[-1]
    return f"{'.'.join(map(str, nearest['loc']))}: {nearest['msg']}"


def _says_other_arm(problem: Any, *fields: str) -> bool:
    """Whether a field that says which arm of a union a value is for says another one."""
    return problem["type"] == "literal_error" and problem["loc"][-1] in fields
