"""A request's body as bytes, at the cost of what is new in it: what a row of the window became is
remembered, so that a long conversation is not written anew at every step (PERF-4).
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from nodwyn_tui.domain.request import Json, Message

_REQUESTS = 6
"""Requests whose rows are remembered: a conversation and the sub-agents beside it take turns."""


class WireMessage(dict[str, Json]):
    """One message of a body, which writes itself once. Not to be changed after it was made."""

    __slots__ = ("_written",)
    _written: bytes

    def written(self) -> bytes:
        """Its JSON."""
        try:
            return self._written
        except AttributeError:
            self._written = json_bytes(self)
            return self._written


Rows = tuple[Message, ...]
"""Rows of the window that one message stands for."""

_Key = tuple[object, ...]
_Variant = TypeVar("_Variant")


class RowMemo:
    """What rows became, known by the very row: a conversation's rows are the same objects from one
    request to the next. The answer is the same as without it, whatever was asked before.
    """

    def __init__(self) -> None:
        self._recent: deque[dict[_Key, _Known]] = deque(maxlen=_REQUESTS)

    def messages(
        self, rows: Sequence[Message], variant: str, make: Callable[[Message], Mapping[str, Json]]
    ) -> list[WireMessage]:
        """A message a row. `variant` names whatever besides the row decides what `make` gives."""
        return self.joined([((row,), variant) for row in rows], lambda group, _: make(group[0]))

    def joined(
        self,
        groups: Sequence[tuple[Rows, _Variant]],
        make: Callable[[Rows, _Variant], Mapping[str, Json]],
    ) -> list[WireMessage]:
        """A message a group of rows, each with a variant of its own."""
        return [made for (made,) in self._each(groups, lambda *group: (make(*group),))]

    def items(
        self,
        rows: Sequence[Message],
        variant: str,
        make: Callable[[Message], Iterable[Mapping[str, Json]]],
    ) -> list[tuple[WireMessage, ...]]:
        """The items of each row, where a row may be several."""
        return self._each([((row,), variant) for row in rows], lambda group, _: make(group[0]))

    def _each(
        self,
        groups: Sequence[tuple[Rows, _Variant]],
        make: Callable[[Rows, _Variant], Iterable[Mapping[str, Json]]],
    ) -> list[tuple[WireMessage, ...]]:
        used: dict[_Key, _Known] = {}
        for rows, variant in groups:
            key = (variant, *map(id, rows))
            used[key] = self._known(key) or _Known(
                rows, tuple(WireMessage(item) for item in make(rows, variant))
            )
        self._recent.appendleft(used)
        return [used[variant, *map(id, rows)].items for rows, variant in groups]

    def _known(self, key: _Key) -> "_Known | None":
        for known in self._recent:
            if found := known.get(key):
                return found
        return None


class _Known(NamedTuple):
    """The rows are held, so that no other ones can get their identity meanwhile."""

    rows: Rows
    items: tuple[WireMessage, ...]


def body_bytes(body: Mapping[str, Json]) -> bytes:
    """A body's JSON: keys in their order, no spaces, UTF-8; the conversation stands last."""
    *names, last = body
    items = body[last]
    if not isinstance(items, list) or not all(isinstance(item, WireMessage) for item in items):
        return json_bytes(body)
    head, name = json_bytes({name: body[name] for name in names}), json_bytes(last)
    return b"%b,%b:[%b]}" % (head[:-1], name, b",".join(item.written() for item in items))


def json_bytes(value: Json) -> bytes:
    """Compact JSON in UTF-8; `ValueError` for a number that JSON does not have."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")
