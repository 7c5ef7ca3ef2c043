"""Ids of calls, unique in a session whatever a provider gives (C29, C30)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from nodwyn_tui.domain.parts import Call, ReplyPart

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def own_ids(
    parts: Sequence[ReplyPart], known: Callable[[str], bool], seq: int
) -> tuple[tuple[ReplyPart, ...], dict[str, str]]:
    """A reply's parts with call ids unique in the session, and each call's arguments by id.

    A provider's id is kept where it is whole and new; else one is made from the reply's seq, which
    a resume finds again in the log (C29, C30). `known` says whether an id was used before.
    """
    taken: set[str] = set()
    made: list[ReplyPart] = []
    originals: dict[str, str] = {}
    for number, part in enumerate(parts):
        if not isinstance(part, Call):
            made.append(part)
            continue
        new = part.id not in taken and not known(part.id)
        kept = new and _SAFE_ID.match(part.id) is not None
        own = part.id if kept else f"call_{seq}_{number}"
        taken.add(own)
        originals[own] = part.arguments
        made.append(replace(part, id=own, provider_id=None if kept else part.id))
    return tuple(made), originals
