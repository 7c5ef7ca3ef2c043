"""Commands: what a front tells the worker. One closed union of frozen records."""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.domain.words import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """The first command: open a session in `workspace` (an absolute path).

    `resume` is '' for a new session, 'last' for the newest one here, else an id, an id's prefix or
    a path. `want_log` asks for every log event as `LogLine`. `allow` holds patterns `TOOL: GLOB`.
    """

    workspace: str
    resume: str = ""
    model: str = ""
    mode: Mode | None = None
    config_file: str = ""
    add_dirs: tuple[str, ...] = ()
    tour: bool = False
    headless: bool = False
    want_log: bool = False
    allow: tuple[str, ...] = ()
    yes: bool = False
    no_sandbox: bool = False
    max_steps: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A message of the person. While a run goes on it is queued: `steer` after the current tool
    batch, else at the run's end.
    """

    text: str
    steer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Esc: stop the run now; every open call gets its interrupted result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Go on after a limit, an error or an interruption, without new words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The person's answer to `ApprovalAsked`. `reason` goes to the model when refused."""

    call_id: str
    allow: bool
    scope: Literal["once", "session", "always"] = "once"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchModel:
    """Use another model from the next request on: a `[models]` name, or `SERVER/ID`."""

    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListModels:
    """Ask for `ModelsListed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """Change the approval mode."""

    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearWindow:
    """`/clear`: a new window in this session; nothing before it is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """`/compact`: ask the model for a handover note, for the person to look at; `wish` is what they
    want kept in mind. `CompactionStarted` and then `CompactionOffered` follow, or
    `CompactionEnded`.
    """

    wish: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptCompaction:
    """Go on from the note that was offered, as it stands in `note`."""

    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCompaction:
    """Put the note that was offered away; nothing changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCompaction:
    """`/compact undo`: the window before the latest compaction, while nothing was said since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """`/new`: end this session and start another in the same workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTour:
    """Offered where no model was found: open the built-in tour in place of this session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchBodies:
    """Ask for the bodies of entries (`BodyLoaded`, one each), by entry id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPage:
    """Ask for entries that were not told (`PageLoaded`): the nearest before log line `before`, or,
    where that is 0, the nearest behind line `after` (0: from the session's beginning). The worker
    says how many make a page; the entries of one line are never parted.
    """

    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDraft:
    """The prompt's text as it stands; kept over a crash. Sent at most twice a second."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End the session in order; the worker leaves."""


Command = (
    Open
    | Send
    | Interrupt
    | Continue
    | Answer
    | SwitchModel
    | ListModels
    | SetMode
    | ClearWindow
    | Compact
    | AcceptCompaction
    | DropCompaction
    | UndoCompaction
    | NewSession
    | StartTour
    | FetchBodies
    | FetchPage
    | SaveDraft
    | Close
)
