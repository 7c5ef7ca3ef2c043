"""What the schema cannot tell of `[keys]`: bindings that exist and can be changed, keys that there
are, and one meaning for each (TUI-11).
"""

import difflib

from nodwyn_tui.config.checks import Draft
from nodwyn_tui.domain.keys import ALLOWED, BY_ID, CHANGEABLE, faults


def check_bindings(draft: Draft) -> None:
    """Leaves out what cannot be a key; the binding has its default ones then."""
    table = draft.at(("keys",))
    if not isinstance(table, dict):
        return
    for id in list(table):
        if id not in BY_ID:
            near = difflib.get_close_matches(id, BY_ID, 1, 0.6)
            hint = f"; did you mean {near[0]}?" if near else ""
            names = " | ".join(key.id for key in CHANGEABLE)
            draft.leave_out(("keys", id), f"nothing is called so{hint}", allowed=names)
        elif BY_ID[id].fixed:
            stays = f"always has the keys {BY_ID[id].keys}"
            swap = '; [ui] enter = "breaks" swaps them' if id in ("send", "line_break") else ""
            draft.leave_out(("keys", id), stays + swap)
    given = {id: keys for id, keys in table.items() if isinstance(keys, str)}
    for id, fault in faults(given).items():
        draft.leave_out(("keys", id), fault, allowed=ALLOWED)
