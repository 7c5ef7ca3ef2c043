"""Cursors: where an answer of `session_history` stopped, for the model to hand back (ROL-11).

Opaque and authenticated: a changed one, or one of another session, action or query, is refused. It
holds a fingerprint of the log at the places it rests on, so it outlives appends, and is stale once
the log is another file, or those places hold other bytes.
"""

import base64
import binascii
import hashlib
import hmac
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover.scan import LogBytes

_FORM = struct.Struct(">BQQQ8s")
_MAC_BYTES = 12
_NEAR = 512
"""Bytes on either side of a place that its fingerprint covers."""

FOREIGN = (
    "invalid_cursor: that is no cursor of this session for this action, query and window. Call"
    " again without a cursor"
)
STALE = (
    "stale_cursor: the log was rewritten, replaced or cleared since that cursor was given. Call"
    " {action} again without a cursor"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an answer stopped. `phase` and `seq` are the action's own; `at` and `end` are bytes of
    the log, behind the next row and behind the last one that counts.
    """

    phase: int = 0
    seq: int = 0
    at: int = 0
    end: int = 0


class Cursors:
    """Seals and opens the cursors of one session for one action on one subject (its query and
    window), none of which can be mistaken for another's. `floor` is the last seq that may not be
    looked behind: a new one makes cursors stale. `key` gives the key, once one is needed.
    """

    def __init__(self, key: Callable[[], bytes], session: str, floor: int) -> None:
        self._key, self._session, self._floor = key, session, floor

    def seal(self, place: Place, log: LogBytes, action: str, subject: Sequence[str] = ()) -> str:
        """The cursor of a place."""
        body = _FORM.pack(
            place.phase, place.seq, place.at, place.end, self._fingerprint(place, log)
        )
        sealed = body + self._mac(body, action, subject)
        return base64.urlsafe_b64encode(sealed).decode("ascii")

    def open(self, cursor: str, log: LogBytes, action: str, subject: Sequence[str] = ()) -> Place:
        """The place of a cursor. Raises `ToolError` for a foreign or a stale one."""
        try:
            sealed = base64.b64decode(cursor.strip(), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise ToolError(FOREIGN) from error
        body, mac = sealed[:-_MAC_BYTES], sealed[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(body, action, subject)):
            raise ToolError(FOREIGN)
        phase, seq, at, end, fingerprint = _FORM.unpack(body)
        place = Place(phase=phase, seq=seq, at=at, end=end)
        if max(at, end) > log.size or fingerprint != self._fingerprint(place, log):
            raise ToolError(STALE.format(action=action))
        return place

    def _mac(self, body: bytes, action: str, subject: Sequence[str]) -> bytes:
        names = (self._session, action, *subject)
        bound = b"".join(struct.pack(">I", len(n.encode())) + n.encode() for n in names)
        return hmac.digest(self._key(), bound + body, "sha256")[:_MAC_BYTES]

    def _fingerprint(self, place: Place, log: LogBytes) -> bytes:
        """Of the log where it begins, and around the bytes that the place names."""
        digest = hashlib.sha256(struct.pack(">QQ", log.inode & (2**64 - 1), self._floor))
        for near in (0, place.at, place.end):
            start, stop = max(near - _NEAR, 0), min(near + _NEAR, place.end)
            digest.update(log.at(start, max(stop - start, 0)))
        return digest.digest()[:8]
