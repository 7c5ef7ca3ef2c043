"""The table of recipes: what each version added, as flags (ENG-9). Data, not branches."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from nodwyn_tui.errors import ReplayError


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a recipe's algorithm does. Each flag is off before the version that brought it."""

    summaries: bool = False
    """Revocable summaries replace older spans."""
    headers: bool = False
    """The recipe records the task and plan headers."""
    offered_tools: bool = False
    """A request may offer no tools, or some; the size still counts the whole catalogue."""
    reply_cap: bool = False
    """Every request caps the reply."""
    folds: bool = False
    """A result's text may be replaced from then on."""
    headroom: bool = False
    """A request may pass high water; its trim line is recorded."""
    images: bool = False
    """Images by digest; what a request withheld is recorded."""
    thinking: bool = False
    """A reply's thinking goes back with the reply."""
    in_conversation: bool = False
    """The task and the plan are messages; the system prompt never changes."""
    pairs: bool = False
    """Calls and results are elided together."""
    named_cuts: bool = False
    """A cut result names the lines left out."""
    blocks: bool = False
    """Opaque provider blocks go back with their reply."""
    wide_reads: bool = False
    """A file read is shown up to twice the result cap."""
    resets: bool = False
    """A reset starts the window. A lasting context does in every recipe."""
    wide_history: bool = False
    """What `session_history` reads back is shown up to twice the result cap too."""
    guidance: bool = False
    """A rollover's guidance and the warning before it are rows; before, neither was sent."""
    restored_folds: bool = False
    """A result that the person restores is shown whole again; before, its fold stayed."""
    fresh: bool = False
    """Fresh context stands behind completed history; before, none was sent."""
    unseen_images: bool = False
    """An attached image stays until a reply has seen it; before, the latest entries alone did."""
    kept_reasoning: bool = False
    """The recipe's `keep_reasoning` says which blocks go back; before, all of them did."""


ADDED: Mapping[int, tuple[str, ...]] = {
    1: (),
    2: ("summaries",),
    6: ("headers",),
    7: ("offered_tools",),
    8: ("reply_cap",),
    9: ("folds",),
    10: ("headroom",),
    12: ("images",),
    14: ("thinking",),
    15: ("in_conversation",),
    16: ("pairs",),
    17: ("named_cuts",),
    18: ("blocks",),
    19: ("wide_reads",),
    20: (
        "resets",
        "wide_history",
        "guidance",
        "restored_folds",
        "fresh",
        "unseen_images",
        "kept_reasoning",
    ),
}
"""Version → the flags it turned on; they stay on. 3, 4, 5, 11 and 13 are documented nowhere."""


def policy_for(version: int) -> Policy:
    """The flags of a recipe version; `ReplayError` for an unknown one."""
    if version not in ADDED:
        documented = ", ".join(map(str, ADDED))
        raise ReplayError(
            f"recipe version {version} is not documented, so its windows cannot be rebuilt"
            f" (known: {documented})"
        )
    on = {flag for added, flags in ADDED.items() if added <= version for flag in flags}
    return Policy(**{field.name: field.name in on for field in fields(Policy)})
