"""Joins the fragments of streamed tool calls to whole calls, however they are marked (PRV-8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodwyn_tui.domain.deltas import CallDelta
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.request import Json
from nodwyn_tui.providers.calls import json_text, parse_arguments
from nodwyn_tui.providers.pieces import Pieces


@dataclass(slots=True)
class _OpenCall:
    index: int | None
    id: str
    name: str
    arguments: Pieces = field(default_factory=Pieces)
    chars: int = 0
    ends_whole: bool = False
    """The last piece could have closed an object: worth a look whether it did."""

    def add(self, piece: str) -> None:
        self.chars += len(self.arguments.add(piece))
        if piece.strip():
            self.ends_whole = piece.rstrip().endswith("}")

    def is_blank(self) -> bool:
        return not self.arguments.text().strip()

    def is_whole(self) -> bool:
        """The arguments are a complete object, so that more of them can only be another call's."""
        return self.ends_whole and parse_arguments(self.arguments.text()) is not None


class CallAssembler:
    """Fragments to calls. A new index, a new id, a new name, or a named fragment after complete
    arguments starts a call; without any mark a fragment belongs to the latest one (C31).
    """

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []

    def feed(self, fragment: Json) -> CallDelta | None:
        """Takes one item of `tool_calls`; what is no object is passed over."""
        if not isinstance(fragment, Mapping):
            return None
        function = fragment.get("function")
        if not isinstance(function, Mapping):
            function = {}
        raw = fragment.get("index")
        index = raw if isinstance(raw, int) and not isinstance(raw, bool) else None
        name, arguments = _string(function.get("name")), _arguments(function.get("arguments"))
        id_ = _string(fragment.get("id"))
        call = self._candidate(index, id_)
        if call is None or not _says_again(call, id_, arguments):
            if call is None or _starts_another(call, index, id_, name, arguments):
                call = _OpenCall(index, id_, name)
                self._calls.append(call)
            call.id, call.name = call.id or id_, call.name or name
            call.add(arguments)
        return CallDelta(self._calls.index(call), call.name, call.chars)

    def calls(self) -> list[Call]:
        """All calls in the order they began, arguments as they came; blank ones as `{}` (C27)."""
        return [
            Call(call.id, call.name, "{}" if call.is_blank() else call.arguments.text())
            for call in self._calls
        ]

    def _candidate(self, index: int | None, id_: str) -> _OpenCall | None:
        latest_first = reversed(self._calls)
        if index is not None:
            return next((call for call in latest_first if call.index == index), None)
        if id_ and (same := next((call for call in latest_first if call.id == id_), None)):
            return same
        return self._calls[-1] if self._calls else None


def _says_again(call: _OpenCall, id_: str, arguments: str) -> bool:
    """A gateway that streams a call and then sends it whole once more means one call."""
    return bool(id_) and id_ == call.id and call.is_whole() and arguments == call.arguments.text()


def _starts_another(
    call: _OpenCall, index: int | None, id_: str, name: str, arguments: str
) -> bool:
    if id_ and call.id and id_ != call.id:
        return True
    if not name or not call.name:
        return False
    if name != call.name:
        return True
    # The same name again: servers that repeat it on every fragment give an index or an id, or
    # still have arguments to close; servers that give neither send whole calls.
    if call.is_whole():
        return bool(arguments.strip()) or (index is None and not id_)
    return call.is_blank() and not arguments.strip() and index is None and not id_


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Json) -> str:
    """A fragment's arguments as text; servers that send an object send it whole."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)
