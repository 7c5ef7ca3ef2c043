"""Who may run what: the verdict on each call, by mode, patterns and the person (AGT-8).

The catalogue never changes with the mode; what a mode does not allow is refused when called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from nodwyn_tui.domain.events import Mode, Scope
from nodwyn_tui.tools.base import Ask, Effect

PLAN_REFUSAL = (
    "the session is in plan mode, which only reads. Say what you would do instead; the person can"
    " switch the mode."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done with a call: run it, refuse it with `reason`, or ask the person. `by` says
    whose verdict it is; 'nobody' means that the person was needed and is not there.
    """

    decision: Literal["allowed", "refused", "ask"]
    scope: Scope = "mode"
    reason: str = ""
    by: Literal["rule", "person", "nobody"] = "rule"

    def refusal(self) -> str:
        """What the model is told of a refused call."""
        match self.by:
            case "rule":
                return f"refused: {self.reason}"
            case "person":
                reason = f": {self.reason}" if self.reason else ""
                return (
                    f"refused by the person{reason}. Do not try it in another way; ask, or go on"
                    " without it."
                )
            case "nobody":
                return "refused: it needs the person's approval, and nobody is there to ask."


@dataclass(slots=True)
class Rules:
    """The patterns that need no question: the person's own, the command line's, the session's.

    `shell_allows` judges a command line by its parsed parts; it is handed in, since parsing is
    the sandbox room's.
    """

    shell_allows: Callable[[Sequence[str], str], bool]
    standing: tuple[str, ...] = ()
    session: list[str] = field(default_factory=list)

    def verdict(self, mode: Mode, tool: str, effect: Effect, ask: Ask) -> Verdict:
        """The verdict on a call. Secret files and paths outside ask in every mode, unless a pattern
        names them; in plan mode nothing but looking passes.
        """
        if mode == "plan" and effect in ("write", "shell", "note"):
            return Verdict("refused", reason=PLAN_REFUSAL)
        if self._matches(self.session, tool, ask):
            return Verdict("allowed", "session")
        if self._matches(self.standing, tool, ask):
            return Verdict("allowed", "always")
        if ask.secret or ask.outside:
            return Verdict("ask")
        free = ("read", "state", "note", *(("write",) if mode == "edits" else ()))
        if effect in free or mode == "auto":
            return Verdict("allowed")
        return Verdict("ask")

    def _matches(self, patterns: Sequence[str], tool: str, ask: Ask) -> bool:
        if "*" in patterns:
            return True
        if ask.secret or ask.outside:
            # A wide pattern was not given with these in mind (C76): one must name this very call.
            return pattern_for(tool, ask) in patterns
        globs = [
            glob.strip()
            for name, _, glob in (pattern.partition(":") for pattern in patterns)
            if name.strip() == tool
        ]
        if not globs:
            return False
        if ask.command:
            return self.shell_allows(globs, ask.command)
        return any(fnmatchcase(ask.subject, glob) for glob in globs)


def pattern_for(tool: str, ask: Ask) -> str:
    """The narrowest pattern that would allow this call again."""
    subject = ask.command or ask.subject
    return f"{tool}: {_literal(subject)}"


def _literal(text: str) -> str:
    """`text` as a glob that matches itself alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
