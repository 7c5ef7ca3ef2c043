"""What a session is put together from, by `assembly.py`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nodwyn_tui.agent.attachments import Studio
from nodwyn_tui.agent.changes import Changes
from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.counting import Counting
from nodwyn_tui.agent.fresh import Fresh
from nodwyn_tui.agent.gate import Gate
from nodwyn_tui.agent.instructing import Instructing
from nodwyn_tui.agent.limits import Limits
from nodwyn_tui.agent.rollover import Rollover
from nodwyn_tui.agent.skills import SessionSkills
from nodwyn_tui.agent.switching import Fallback
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.toolbox import Toolbox
from nodwyn_tui.config.schema import LimitSettings
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.store.memory import Memory
from nodwyn_tui.system.clock import Clock


@dataclass(slots=True, kw_only=True)
class Parts:
    """`target` is the model that is asked now; it changes with `/model`. `draft` is there for a
    front with a prompt; `created` says that this process began the session, `state` is the person's
    state folder; `limits_by` gives the limits by the settings' and the command line's, which alone
    gives `also_allowed`; `unsandboxed_auto` says that mode `auto` was asked for without a sandbox,
    in so many words.
    """

    conversation: Conversation
    target: Target
    toolbox: Toolbox
    gate: Gate
    fresh: Fresh
    rollover: Rollover
    skills: SessionSkills
    instructing: Instructing
    memory: Memory
    changes: Changes
    draft: Draft | None
    clock: Clock
    state: Path
    studio: Studio
    counting: Counting
    created: bool
    fallback: Fallback
    limits_by: Callable[[LimitSettings], Limits]
    also_allowed: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    unsandboxed_auto: bool = False
